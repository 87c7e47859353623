"""Bronze: the unchanged records of the topic, append-only, and where they come from."""

import json
from dataclasses import dataclass
from typing import ClassVar, Final

from pyspark.sql import DataFrame, SparkSession

from coordinator.client.bootstrap import Server, bootstrap_of
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.pipeline.cluster import partitions_of
from coordinator.pipeline.columns import BRONZE_COLUMNS
from coordinator.pipeline.reading import AUDIT_READING, Reading, consumer_offsets_reading
from coordinator.pipeline.source_marker import AUDIT, CONSUMER_OFFSETS

RECORDS_PER_BATCH: Final = 50_000
TASKS_PER_BATCH: Final = 2

OLDER_OFFSETS: Final = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
_CONSUMER: Final = {
    # The connector reads one partition after the other, and at the end of each waits for an empty fetch: with the
    # default of 500 ms about 15 s for 50 partitions on two cores. It polls only for records that are there.
    "fetch.max.wait.ms": "10",
    "enable.metrics.push": "false",
}
"""Settings of the consumers, one per partition."""


@dataclass(frozen=True, slots=True)
class AuditSource:
    """Which topic of which cluster to read.

    With `accept_data_loss`, a query continues if unread records were deleted from the topic. By default it stops with
    the connector's error, because an audit must not skip history silently: only an operator can know whether the job
    was just stopped for longer than the retention time.
    """

    kind: ClassVar[str] = AUDIT
    bootstrap: Server
    topic: str = AUDIT_TOPIC
    accept_data_loss: bool = False

    def records(self, spark: SparkSession) -> DataFrame:
        """Return the topic as a stream from its first record on, with the columns of bronze."""
        stream = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", bootstrap_of(self.bootstrap).address)
            .option(*self._what(spark))
            .option("startingOffsets", "earliest")
            .option("includeHeaders", "true")
            .option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
            .option("failOnDataLoss", str(not self.accept_data_loss).lower())
            .options(**{f"kafka.{name}": value for name, value in self._client_settings().items()})
        )
        return stream.load().select(*BRONZE_COLUMNS.names)

    def _client_settings(self) -> dict[str, str]:
        """The settings of the connector's clients, those of `--command-config` included."""
        return bootstrap_of(self.bootstrap).security.settings | _CONSUMER

    def _what(self, spark: SparkSession) -> tuple[str, str]:
        """The connector's option that names what to read.

        Offsets are asked by its admin client: the older way needs the right to read a group of its own.
        """
        spark.conf.set(OLDER_OFFSETS, "false")
        return "subscribe", self.topic

    def reading(self) -> Reading:
        """How its records become rows."""
        return AUDIT_READING


@dataclass(frozen=True, slots=True)
class ConsumerOffsetsSource(AuditSource):
    """The records that any Kafka keeps of its groups."""

    kind: ClassVar[str] = CONSUMER_OFFSETS
    topic: str = OFFSETS_TOPIC

    def _what(self, spark: SparkSession) -> tuple[str, str]:
        """All partitions, by number.

        The connector leaves out internal topics where it asks the cluster by its admin client. The older way, by a
        consumer, does not; with partitions that are assigned it joins no group, so it writes nothing to the topic.
        """
        spark.conf.set(OLDER_OFFSETS, "true")
        return "assign", json.dumps({self.topic: partitions_of(self.bootstrap, self.topic)})

    def reading(self) -> Reading:
        return consumer_offsets_reading(self.bootstrap)
