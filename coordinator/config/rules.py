"""The rules that settings have to meet together (KafkaConfig.validateValues, GroupCoordinatorConfig)."""

from typing import Any, Final, Protocol, TypeVar

from coordinator.config.authorizer_keys import (
    AUTHORIZER_CLASS_NAME,
    STANDARD_AUTHORIZER,
    SUPER_USERS,
    parse_super_users,
)
from coordinator.config.cleaner_keys import LOG_CLEANER_MAX_COMPACTION_LAG_MS, LOG_CLEANER_MIN_COMPACTION_LAG_MS
from coordinator.config.consumer_group_keys import (
    GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS,
    GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS,
    GROUP_CONSUMER_SESSION_TIMEOUT_MS,
)
from coordinator.config.group_keys import (
    GROUP_COORDINATOR_REBALANCE_PROTOCOLS,
    GROUP_MAX_SESSION_TIMEOUT_MS,
    GROUP_MIN_SESSION_TIMEOUT_MS,
)
from coordinator.config.key import ConfigError, ConfigKey
from coordinator.config.log_keys import (
    COMPRESSION_GZIP_LEVEL,
    LOG_RETENTION_HOURS,
    LOG_RETENTION_MINUTES,
    LOG_RETENTION_MS,
)
from coordinator.config.share_group_keys import (
    GROUP_SHARE_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_DELIVERY_COUNT_LIMIT,
    GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT,
    GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS,
    GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_MAX_SESSION_TIMEOUT_MS,
    GROUP_SHARE_MAX_SHARE_SESSIONS,
    GROUP_SHARE_MAX_SIZE,
    GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT,
    GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS,
    GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_MIN_SESSION_TIMEOUT_MS,
    GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS,
    GROUP_SHARE_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_SESSION_TIMEOUT_MS,
)

T = TypeVar("T")


class Values(Protocol):
    """The values of settings, as of `Config`."""

    def __getitem__(self, key: ConfigKey[T]) -> T:
        """The value of a setting."""

    def is_given(self, key: ConfigKey[Any]) -> bool:
        """Whether the value was given, and is not the default."""

    def text(self, key: ConfigKey[Any]) -> str:
        """The value as in a properties file."""


NOT_ABOVE: Final = (
    (GROUP_MIN_SESSION_TIMEOUT_MS, GROUP_MAX_SESSION_TIMEOUT_MS),
    (LOG_CLEANER_MIN_COMPACTION_LAG_MS, LOG_CLEANER_MAX_COMPACTION_LAG_MS),
    (GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS, GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS),
    (GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS, GROUP_CONSUMER_SESSION_TIMEOUT_MS),
    (GROUP_CONSUMER_SESSION_TIMEOUT_MS, GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS),
    (GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS, GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS),
    (GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS, GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS),
    (GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS, GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS),
    (GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS, GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS),
    (GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS, GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS),
    (GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS, GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS),
    (GROUP_SHARE_MIN_SESSION_TIMEOUT_MS, GROUP_SHARE_MAX_SESSION_TIMEOUT_MS),
    (GROUP_SHARE_MIN_SESSION_TIMEOUT_MS, GROUP_SHARE_SESSION_TIMEOUT_MS),
    (GROUP_SHARE_SESSION_TIMEOUT_MS, GROUP_SHARE_MAX_SESSION_TIMEOUT_MS),
    (GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS, GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS),
    (GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS, GROUP_SHARE_HEARTBEAT_INTERVAL_MS),
    (GROUP_SHARE_HEARTBEAT_INTERVAL_MS, GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS),
    (GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS, GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS),
    (GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS, GROUP_SHARE_ASSIGNMENT_INTERVAL_MS),
    (GROUP_SHARE_ASSIGNMENT_INTERVAL_MS, GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS),
    (GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS, GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS),
    (GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS, GROUP_SHARE_RECORD_LOCK_DURATION_MS),
    (GROUP_SHARE_RECORD_LOCK_DURATION_MS, GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS),
    (GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT, GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT),
    (GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT, GROUP_SHARE_DELIVERY_COUNT_LIMIT),
    (GROUP_SHARE_DELIVERY_COUNT_LIMIT, GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT),
    (GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS, GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS),
    (GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS, GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS),
    (GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS, GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS),
    (GROUP_SHARE_MAX_SIZE, GROUP_SHARE_MAX_SHARE_SESSIONS),
)
"""Pairs of settings of which the first one must not be above the second one."""
BELOW: Final = (
    (GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS, GROUP_CONSUMER_SESSION_TIMEOUT_MS),
    (GROUP_SHARE_HEARTBEAT_INTERVAL_MS, GROUP_SHARE_SESSION_TIMEOUT_MS),
)
"""Pairs of settings of which the first one must be below the second one."""
NOT_ZERO: Final = (LOG_RETENTION_HOURS, LOG_RETENTION_MINUTES, LOG_RETENTION_MS, COMPRESSION_GZIP_LEVEL)


def check_settings_together(values: Values) -> None:
    """Raises ConfigError with one line for the first rule that is not met."""
    for less, more in NOT_ABOVE:
        if values[less] > values[more]:
            raise ConfigError(_contradiction(values, less, "must not be above", "must not be below", more))
    for less, more in BELOW:
        if values[less] >= values[more]:
            raise ConfigError(_contradiction(values, less, "must be below", "must be above", more))
    for key in NOT_ZERO:
        if values[key] == 0:
            raise ConfigError(f"{key.name}=0: must be -1 or at least 1")
    if "classic" not in values[GROUP_COORDINATOR_REBALANCE_PROTOCOLS]:
        raise ConfigError(f"{_shown(values, GROUP_COORDINATOR_REBALANCE_PROTOCOLS)}: must have classic")
    if values[AUTHORIZER_CLASS_NAME] not in ("", STANDARD_AUTHORIZER):
        raise ConfigError(
            f"{_shown(values, AUTHORIZER_CLASS_NAME)}: must be {STANDARD_AUTHORIZER}, or empty for no authorizer"
        )
    parse_super_users(values[SUPER_USERS])


def _contradiction(values: Values, less: ConfigKey[Any], must: str, inverse: str, more: ConfigKey[Any]) -> str:
    """The line names that of the two settings first which the user has given."""
    if values.is_given(more) and not values.is_given(less):
        return f"{_shown(values, more)}: {inverse} {_shown(values, less)}"
    return f"{_shown(values, less)}: {must} {_shown(values, more)}"


def _shown(values: Values, key: ConfigKey[Any]) -> str:
    return f"{key.name}={values.text(key)}"
