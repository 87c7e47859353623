"""The settings of share groups, which may differ from group to group.

Counterpart in Kafka: `GroupConfigManager` with the defaults of `GroupCoordinatorConfig`.
"""

from coordinator.config.share_group_keys import (
    GROUP_SHARE_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_SESSION_TIMEOUT_MS,
)
from coordinator.core.decision import Environment
from coordinator.core.group_settings import GroupSettings
from coordinator.core.groups.kind import SHARE_NAME

ShareGroupTimes = tuple[int, int, int]
"""The times that hold for a group, in milliseconds: after how long without a heartbeat a member is removed (the session
timeout), the interval that members are told to send heartbeats at, the least time between two target assignments."""


class ConfiguredShareSettings(GroupSettings[ShareGroupTimes]):
    """The settings of the server, the same for all groups."""

    def __init__(self, environment: Environment) -> None:
        config = environment.config
        self._times = (
            config[GROUP_SHARE_SESSION_TIMEOUT_MS],
            config[GROUP_SHARE_HEARTBEAT_INTERVAL_MS],
            config[GROUP_SHARE_ASSIGNMENT_INTERVAL_MS],
        )

    def is_enabled(self) -> bool:
        return True

    def of(self, group_id: str) -> ShareGroupTimes:
        return self._times


def share_settings_of(environment: Environment) -> GroupSettings[ShareGroupTimes]:
    """What holds for share groups; without settings of single groups, what holds for the server."""
    try:
        return environment.settings[SHARE_NAME]
    except KeyError:
        return ConfiguredShareSettings(environment)
