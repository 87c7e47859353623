"""Record what the configs of a real Kafka broker are, for `coordinator/config/kafka_broker_configs.json`."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from coordinator.config import kafka_broker_configs
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.wire_client import WireClient

BROKER: Final = 4
DEFAULT: Final = 5
FILE: Final = Path(kafka_broker_configs.__file__).with_name(kafka_broker_configs.FILE_NAME)


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


def describe(client: WireClient) -> dict[str, tuple[int, str | None, bool]]:
    """The fields of KafkaBrokerConfig by the name of the config."""
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (result,) = client.request(request, 4).results
    assert result.error_code == 0, result
    return {each.name: (each.config_type, default_of(each), each.is_sensitive) for each in result.configs}


def default_of(config: Any) -> str | None:
    """The default of a config that may be set. Kafka leaves a default out that is null."""
    return next((each.value for each in config.synonyms if each.source == DEFAULT), None)


if __name__ == "__main__":
    sys.exit(main())
