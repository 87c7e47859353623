"""Record what the configs of a real Kafka broker are, for `coordinator/config/kafka_broker_configs.json`."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from coordinator.config import kafka_broker_configs
from coordinator.config.kafka_broker_configs import CLUSTER_WIDE, PER_BROKER, READ_ONLY
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.wire_client import WireClient

BROKER: Final = 4
DEFAULT: Final = 5
CLASS: Final = 8
EXISTING_CLASS: Final = "java.lang.Object"
OF_ONE_BROKER: Final = ("broker id must be specified", "only per-listener using the listener prefix")
"""What Kafka says when such a config is set for all brokers."""
FILE: Final = kafka_broker_configs.FILE


def main() -> int:
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            RunningKafka(Path(folder), {}, {}) as kafka,
            WireClient(kafka.bootstrap) as client,
        ):
            recorded = describe(client)
    except KafkaMissing as missing:
        print(missing, file=sys.stderr)
        return 2
    lines = [f"  {json.dumps(name)}: {json.dumps(fields)}" for name, fields in sorted(recorded.items())]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(recorded)} configs recorded in {FILE}")
    return 0


def describe(client: WireClient) -> dict[str, tuple[int, str | None, bool, str]]:
    """The fields of KafkaBrokerConfig by the name of the config."""
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (result,) = client.request(request, 4).results
    assert result.error_code == 0, result
    return {
        config.name: (config.config_type, default_of(config), config.is_sensitive, update_mode(client, config))
        for config in result.configs
    }


def update_mode(client: WireClient, config: Any) -> str:
    """How a config can change, in the words of Kafka's documentation. What is of one broker is refused for all."""
    if config.read_only:
        return READ_ONLY
    of_class = config.value or EXISTING_CLASS
    value = of_class if config.config_type == CLASS else config.value or "1"
    entry = AlterableConfig(name=config.name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[entry])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)
    (result,) = client.request(request, 1).responses
    return PER_BROKER if any(each in (result.error_message or "") for each in OF_ONE_BROKER) else CLUSTER_WIDE


def default_of(config: Any) -> str | None:
    """The default of a config that may be set. Kafka leaves a default out that is null."""
    return next((synonym.value for synonym in config.synonyms if synonym.source == DEFAULT), None)


if __name__ == "__main__":
    sys.exit(main())
