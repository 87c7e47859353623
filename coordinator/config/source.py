"""Where the value of a config comes from."""

from enum import IntEnum
from typing import Final


class ConfigSource(IntEnum):
    """DescribeConfigsResponse.ConfigSource, but for the sources that nothing here has."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    """Set for one broker while it runs (KIP-226)."""
    DYNAMIC_DEFAULT_BROKER = 3
    """The same for all brokers of the cluster."""
    STATIC_BROKER = 4
    """Given at the start."""
    DEFAULT = 5
    GROUP = 8


DYNAMIC_SOURCES: Final = (ConfigSource.DYNAMIC_BROKER, ConfigSource.DYNAMIC_DEFAULT_BROKER)
"""What is set while a broker runs; the first one that has a value counts."""
