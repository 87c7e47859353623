"""A real Kafka that logs as a release does: INFO, with its pattern."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.differential.kafka import VERSION, RunningKafka, fetched_jars

LOGGING: Final = Path(__file__).parent / "logging"
A_JAR: Final = "log4j-slf4j-impl-*.jar"

AT_ONCE: Final[Mapping[str, str]] = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "3000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.max.size": "3",
    "group.consumer.max.size": "3",
    "group.coordinator.rebalance.protocols": "classic,consumer",
    "offsets.topic.num.partitions": "4",
}
"""Groups that wait for nobody, and short sessions."""


class LoggedKafka(RunningKafka):
    """`server_log` is what a broker's administrator has."""

    def __init__(self, folder: Path, version: str = VERSION, settings: Mapping[str, str] = AT_ONCE) -> None:
        """Raises KafkaMissing."""
        self.server_log = folder / "server.log"
        super().__init__(
            folder,
            settings,
            {},
            version=version,
            jars_before=(fetched_jars("logging", A_JAR, LOGGING / "pom.xml"),),
            jvm_options=(
                f"-Dlog4j2.configurationFile={LOGGING / 'log4j2.properties'}",
                f"-Dkafka.logs.file={self.server_log}",
            ),
        )
