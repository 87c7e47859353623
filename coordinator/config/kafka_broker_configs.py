"""The configs of a broker of Kafka 4.3.1, of which this server uses some.

`python -m tests.differential.record_broker_configs` writes the file that they are read from.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

FILE_NAME: Final = "kafka_broker_configs.json"


class KafkaBrokerConfig(NamedTuple):
    """What DescribeConfigs says of a config on a broker that does not set it."""

    type: int
    """A number of DescribeConfigsResponse.ConfigType."""
    default: str | None
    """None: it has no default, or another config decides while it is not set."""
    is_sensitive: bool


@cache
def kafka_broker_configs() -> Mapping[str, KafkaBrokerConfig]:
    """Return the configs by name. The file is read at the first call: most servers are never asked."""
    text = files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8")
    return {name: KafkaBrokerConfig(*fields) for name, fields in json.loads(text).items()}
