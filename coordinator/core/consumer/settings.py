"""The settings of consumer groups, which may differ from group to group.

Counterpart in Kafka: `GroupConfigManager` with the defaults of `GroupCoordinatorConfig`.
"""

from typing import Protocol

from coordinator.config.consumer_group_keys import (
    GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_SESSION_TIMEOUT_MS,
)
from coordinator.config.settings import Config


class ConsumerGroupSettings(Protocol):
    """Read access to what holds for consumer groups at the time of the call."""

    def is_enabled(self) -> bool:
        """Whether the new group protocol is served at all (the feature `group.version`)."""

    def session_timeout_ms(self, group_id: str) -> int:
        """After this time without a heartbeat a member is removed."""

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """The interval that members are told to send heartbeats at."""

    def assignment_interval_ms(self, group_id: str) -> int:
        """The least time between two target assignments."""


class ConfiguredSettings:
    """The settings of the server, the same for all groups."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def is_enabled(self) -> bool:
        return True

    def session_timeout_ms(self, group_id: str) -> int:
        return self._config[GROUP_CONSUMER_SESSION_TIMEOUT_MS]

    def heartbeat_interval_ms(self, group_id: str) -> int:
        return self._config[GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS]

    def assignment_interval_ms(self, group_id: str) -> int:
        return self._config[GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS]
