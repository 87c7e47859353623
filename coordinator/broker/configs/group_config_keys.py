"""The configs of groups, each declared here once (GroupConfig.java)."""

import re
from typing import Final, NamedTuple

from coordinator.broker.configs.resource_config_key import (
    BrokerDefault,
    ConfigType,
    InvalidResourceConfig,
    ResourceConfigKey,
)
from coordinator.config.consumer_group_keys import (
    GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
    GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
    GROUP_CONSUMER_SESSION_TIMEOUT_MS,
)
from coordinator.config.share_group_keys import (
    GROUP_SHARE_ASSIGNMENT_INTERVAL_MS,
    GROUP_SHARE_DELIVERY_COUNT_LIMIT,
    GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
    GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS,
    GROUP_SHARE_RECORD_LOCK_DURATION_MS,
    GROUP_SHARE_SESSION_TIMEOUT_MS,
)
from coordinator.config.streams_group_keys import (
    GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS,
    GROUP_STREAMS_HEARTBEAT_INTERVAL_MS,
    GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS,
    GROUP_STREAMS_NUM_STANDBY_REPLICAS,
    GROUP_STREAMS_SESSION_TIMEOUT_MS,
)
from coordinator.metadata.features import GROUP_VERSION, SHARE_VERSION, STREAMS_VERSION

BOOLEAN, STRING, INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT

BY_DURATION: Final = "by_duration:"
NUMBER: Final = "([+-]?[0-9]{1,18})"
DURATION: Final = re.compile(
    rf"([+-]?)P(?!$)(?:{NUMBER}D)?(?:T(?!$)(?:{NUMBER}H)?(?:{NUMBER}M)?(?:{NUMBER}(?:[.,]([0-9]{{0,9}}))?S)?)?",
    re.IGNORECASE,
)
"""A duration of ISO 8601, as java.time.Duration reads it: sign, days, hours, minutes, seconds and their fraction."""


def duration_ms(text: str) -> int | None:
    """The milliseconds of a duration, rounded down; None if it is none, or a negative one."""
    match = DURATION.fullmatch(text)
    if match is None:
        return None
    sign, days, hours, minutes, seconds, fraction = match.groups()
    whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    nanos = int((fraction or "").ljust(9, "0")) * (-1 if (seconds or "").startswith("-") else 1)
    total_nanos = (whole * 10**9 + nanos) * (-1 if sign == "-" else 1)
    return None if total_nanos < 0 else total_nanos // 10**6


def _offset_reset(name: str, text: str) -> None:
    """`earliest`, `latest` or `by_duration:` and a duration (KIP-932)."""
    is_by_duration = text.startswith(BY_DURATION) and duration_ms(text.removeprefix(BY_DURATION)) is not None
    if text not in ("earliest", "latest") and not is_by_duration:
        raise InvalidResourceConfig(
            f"Invalid value {text} for configuration {name}: Invalid value `{text}` for configuration {name}. "
            "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
        )


CONSUMER_SESSION_TIMEOUT_MS = ResourceConfigKey(
    "consumer.session.timeout.ms",
    INT,
    "45000",
    "The time in ms after which a member of this consumer group is removed if it sends no heartbeat.",
    at_least=1,
    broker=(BrokerDefault(GROUP_CONSUMER_SESSION_TIMEOUT_MS),),
)
CONSUMER_HEARTBEAT_INTERVAL_MS = ResourceConfigKey(
    "consumer.heartbeat.interval.ms",
    INT,
    "5000",
    "The interval in ms at which members of this consumer group are told to send heartbeats.",
    at_least=1,
    broker=(BrokerDefault(GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS),),
)
CONSUMER_ASSIGNMENT_INTERVAL_MS = ResourceConfigKey(
    "consumer.assignment.interval.ms",
    INT,
    "1000",
    "The least time in ms between two target assignments of this consumer group.",
    at_least=0,
    broker=(BrokerDefault(GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS),),
)
SHARE_SESSION_TIMEOUT_MS = ResourceConfigKey(
    "share.session.timeout.ms",
    INT,
    "45000",
    "The session timeout of members.",
    at_least=1,
    broker=(BrokerDefault(GROUP_SHARE_SESSION_TIMEOUT_MS),),
)
SHARE_HEARTBEAT_INTERVAL_MS = ResourceConfigKey(
    "share.heartbeat.interval.ms",
    INT,
    "5000",
    "The heartbeat interval of members.",
    at_least=1,
    broker=(BrokerDefault(GROUP_SHARE_HEARTBEAT_INTERVAL_MS),),
)
SHARE_RECORD_LOCK_DURATION_MS = ResourceConfigKey(
    "share.record.lock.duration.ms",
    INT,
    "30000",
    "How long records are acquired by a member.",
    at_least=1000,
    broker=(BrokerDefault(GROUP_SHARE_RECORD_LOCK_DURATION_MS),),
)
SHARE_DELIVERY_COUNT_LIMIT = ResourceConfigKey(
    "share.delivery.count.limit",
    INT,
    "5",
    "How often a record is delivered at most; then it is archived.",
    at_least=2,
    broker=(BrokerDefault(GROUP_SHARE_DELIVERY_COUNT_LIMIT),),
)
SHARE_PARTITION_MAX_RECORD_LOCKS = ResourceConfigKey(
    "share.partition.max.record.locks",
    INT,
    "2000",
    "How many records of a partition may be in flight.",
    at_least=100,
    broker=(BrokerDefault(GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS),),
)
SHARE_AUTO_OFFSET_RESET = ResourceConfigKey(
    "share.auto.offset.reset",
    STRING,
    "latest",
    "Where a partition is read from first: `earliest`, `latest`, or `by_duration:` and a duration.",
    check=_offset_reset,
)
SHARE_ISOLATION_LEVEL = ResourceConfigKey(
    "share.isolation.level",
    STRING,
    "read_uncommitted",
    "Whether records of transactions that have not ended or were aborted are delivered.",
    one_of=("read_committed", "read_uncommitted"),
)
SHARE_RENEW_ACKNOWLEDGE_ENABLE = ResourceConfigKey(
    "share.renew.acknowledge.enable",
    BOOLEAN,
    "true",
    "Whether members may keep records for longer (KIP-1222).",
)
SHARE_ASSIGNMENT_INTERVAL_MS = ResourceConfigKey(
    "share.assignment.interval.ms",
    INT,
    "1000",
    "The least time between two target assignments.",
    at_least=0,
    broker=(BrokerDefault(GROUP_SHARE_ASSIGNMENT_INTERVAL_MS),),
)
STREAMS_SESSION_TIMEOUT_MS = ResourceConfigKey(
    "streams.session.timeout.ms",
    INT,
    "45000",
    "The time in ms after which a member of this streams group is removed if it sends no heartbeat.",
    at_least=1,
    broker=(BrokerDefault(GROUP_STREAMS_SESSION_TIMEOUT_MS),),
)
STREAMS_HEARTBEAT_INTERVAL_MS = ResourceConfigKey(
    "streams.heartbeat.interval.ms",
    INT,
    "5000",
    "The interval in ms at which members of this streams group are told to send heartbeats.",
    at_least=1,
    broker=(BrokerDefault(GROUP_STREAMS_HEARTBEAT_INTERVAL_MS),),
)
STREAMS_NUM_STANDBY_REPLICAS = ResourceConfigKey(
    "streams.num.standby.replicas",
    INT,
    "0",
    "How many standby tasks each task with state stores has.",
    at_least=0,
    broker=(BrokerDefault(GROUP_STREAMS_NUM_STANDBY_REPLICAS),),
)
STREAMS_INITIAL_REBALANCE_DELAY_MS = ResourceConfigKey(
    "streams.initial.rebalance.delay.ms",
    INT,
    "3000",
    "How long in ms the first assignment of this streams group waits for more members.",
    at_least=0,
    broker=(BrokerDefault(GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS),),
)
STREAMS_ASSIGNMENT_INTERVAL_MS = ResourceConfigKey(
    "streams.assignment.interval.ms",
    INT,
    "1000",
    "The least time in ms between two target assignments of this streams group.",
    at_least=0,
    broker=(BrokerDefault(GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS),),
)

ALL_GROUP_KEYS: Final[tuple[ResourceConfigKey, ...]] = tuple(
    value for value in list(vars().values()) if isinstance(value, ResourceConfigKey)
)
GROUP_KEYS_BY_NAME: Final = {key.name: key for key in ALL_GROUP_KEYS}
_IN_A_RANGE: Final = (
    *(CONSUMER_HEARTBEAT_INTERVAL_MS, CONSUMER_SESSION_TIMEOUT_MS, CONSUMER_ASSIGNMENT_INTERVAL_MS),
    *(SHARE_HEARTBEAT_INTERVAL_MS, SHARE_SESSION_TIMEOUT_MS, SHARE_RECORD_LOCK_DURATION_MS),
    *(SHARE_DELIVERY_COUNT_LIMIT, SHARE_PARTITION_MAX_RECORD_LOCKS, SHARE_ASSIGNMENT_INTERVAL_MS),
    *(STREAMS_HEARTBEAT_INTERVAL_MS, STREAMS_SESSION_TIMEOUT_MS, STREAMS_ASSIGNMENT_INTERVAL_MS),
)
RANGES: Final[dict[ResourceConfigKey, tuple[str | None, str]]] = {
    key: (f"group.{protocol}.min.{rest}", f"group.{protocol}.max.{rest}")
    for key in _IN_A_RANGE
    for protocol, _, rest in [key.name.partition(".")]
} | {STREAMS_NUM_STANDBY_REPLICAS: (None, "group.streams.max.standby.replicas")}
"""Config → the settings of the broker that its value must be within, in the order in which Kafka checks them."""
LONGER: Final = (
    (CONSUMER_SESSION_TIMEOUT_MS, CONSUMER_HEARTBEAT_INTERVAL_MS),
    (SHARE_SESSION_TIMEOUT_MS, SHARE_HEARTBEAT_INTERVAL_MS),
    (STREAMS_SESSION_TIMEOUT_MS, STREAMS_HEARTBEAT_INTERVAL_MS),
)
"""Pairs of configs of which the first one must be greater than the second one."""


class KindConfigs(NamedTuple):
    """What the broker says of the groups of one kind."""

    kind: str
    """Its name."""
    feature: str
    """Without this feature groups of the kind are not served."""
    values: tuple[ResourceConfigKey, ...]
    """The numbers that may differ from group to group, in the order in which the kind has them."""
    protocol: str | None
    """That of `group.coordinator.rebalance.protocols` without which they are not served; None: they need none."""


CONSUMER_GROUPS: Final = KindConfigs(
    "consumer",
    GROUP_VERSION,
    (CONSUMER_SESSION_TIMEOUT_MS, CONSUMER_HEARTBEAT_INTERVAL_MS, CONSUMER_ASSIGNMENT_INTERVAL_MS),
    protocol="consumer",
)
SHARE_GROUPS: Final = KindConfigs(
    "share",
    SHARE_VERSION,
    (SHARE_SESSION_TIMEOUT_MS, SHARE_HEARTBEAT_INTERVAL_MS, SHARE_ASSIGNMENT_INTERVAL_MS),
    protocol=None,
)
SHARE_RECORDS: Final = KindConfigs(
    "share",
    SHARE_VERSION,
    (SHARE_RECORD_LOCK_DURATION_MS, SHARE_DELIVERY_COUNT_LIMIT, SHARE_PARTITION_MAX_RECORD_LOCKS),
    protocol=None,
)
"""What holds for the records that share groups are given; the group coordinator does not ask for it."""
STREAMS_GROUPS: Final = KindConfigs(
    "streams",
    STREAMS_VERSION,
    (
        STREAMS_SESSION_TIMEOUT_MS,
        STREAMS_HEARTBEAT_INTERVAL_MS,
        STREAMS_ASSIGNMENT_INTERVAL_MS,
        STREAMS_INITIAL_REBALANCE_DELAY_MS,
        STREAMS_NUM_STANDBY_REPLICAS,
    ),
    protocol="streams",
)
ALL_KINDS: Final = (CONSUMER_GROUPS, SHARE_GROUPS, STREAMS_GROUPS)
"""The kinds of groups that have such values."""
