"""The settings of streams groups, which may differ from group to group.

Counterpart in Kafka: `GroupConfigManager` with the defaults of `GroupCoordinatorConfig`.
"""

from typing import NamedTuple

from coordinator.config.streams_group_keys import (
    GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS,
    GROUP_STREAMS_HEARTBEAT_INTERVAL_MS,
    GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS,
    GROUP_STREAMS_NUM_STANDBY_REPLICAS,
    GROUP_STREAMS_SESSION_TIMEOUT_MS,
)
from coordinator.core.decision import Environment
from coordinator.core.group_settings import GroupSettings
from coordinator.core.groups.kind import STREAMS_NAME


class StreamsGroupSettings(NamedTuple):
    """What holds for a group. Times are in milliseconds."""

    session_timeout_ms: int
    """After how long without a heartbeat a member is removed."""
    heartbeat_interval_ms: int
    """What members are told."""
    assignment_interval_ms: int
    """The least time between two target assignments."""
    initial_rebalance_delay_ms: int
    """How long the first assignment of an empty group waits for more members."""
    standby_replicas: int
    """Of each stateful task."""


class ConfiguredStreamsSettings(GroupSettings[tuple[int, ...]]):
    """The settings of the server, the same for all groups."""

    def __init__(self, environment: Environment) -> None:
        config = environment.config
        self._settings = StreamsGroupSettings(
            config[GROUP_STREAMS_SESSION_TIMEOUT_MS],
            config[GROUP_STREAMS_HEARTBEAT_INTERVAL_MS],
            config[GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS],
            config[GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS],
            config[GROUP_STREAMS_NUM_STANDBY_REPLICAS],
        )

    def is_enabled(self) -> bool:
        return True

    def of(self, group_id: str) -> StreamsGroupSettings:
        return self._settings


def streams_settings(environment: Environment, group_id: str) -> StreamsGroupSettings:
    """What holds for one group."""
    return StreamsGroupSettings(*streams_settings_of(environment).of(group_id))


def streams_settings_of(environment: Environment) -> GroupSettings[tuple[int, ...]]:
    """What holds for streams groups; without settings of single groups, what holds for the server."""
    try:
        return environment.settings[STREAMS_NAME]
    except KeyError:
        return ConfiguredStreamsSettings(environment)
