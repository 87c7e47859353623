"""The configs of a broker of Kafka 4.3.1, of which this server uses some.

`python -m tests.differential.record_broker_configs` writes the file that they are read from.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

FILE: Final = Path(__file__).with_name("kafka_broker_configs.json")
READ_ONLY, PER_BROKER, CLUSTER_WIDE = "read-only", "per-broker", "cluster-wide"
"""The words of Kafka's documentation. What is cluster-wide can also be set for one broker."""


class KafkaBrokerConfig(msgspec.Struct, frozen=True):
    """What DescribeConfigs says of a config on a broker that does not set it."""

    type: int
    """A number of DescribeConfigsResponse.ConfigType."""
    default: str | None
    """None: it has no default, or another config decides while it is not set."""
    is_sensitive: bool
    update_mode: str
    """How it can change: READ_ONLY, PER_BROKER or CLUSTER_WIDE (KIP-226)."""


@cache
def kafka_broker_configs() -> Mapping[str, KafkaBrokerConfig]:
    """Return the configs by name. The file is read at the first call: most servers are never asked."""
    import json

    return {name: KafkaBrokerConfig(*fields) for name, fields in json.loads(FILE.read_text(encoding="utf-8")).items()}
