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

GroupTimes = tuple[int, int, int]
"""The times that hold for a group, in milliseconds: after how long without a heartbeat a member is removed (the session
timeout), the interval that members are told to send heartbeats at, the least time between two target assignments."""


class ConsumerGroupSettings(Protocol):
    """Read access to what holds for consumer groups at the time of the call."""

    def is_enabled(self) -> bool:
        """Whether the new group protocol is served at all (the feature `group.version`)."""

    def times_of(self, group_id: str) -> GroupTimes:
        """Session timeout, heartbeat interval and assignment interval of a group, whether it exists or not."""


class ConfiguredSettings:
    """The settings of the server, the same for all groups."""

    def __init__(self, config: Config) -> None:
        self._times = (
            config[GROUP_CONSUMER_SESSION_TIMEOUT_MS],
            config[GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS],
            config[GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS],
        )

    def is_enabled(self) -> bool:
        return True

    def times_of(self, group_id: str) -> GroupTimes:
        return self._times
