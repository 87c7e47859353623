"""The keys of share groups (KIP-932; GroupCoordinatorConfig, ShareGroupConfig)."""

from coordinator.config.key import INT32_MAX, ConfigKey

GROUP_SHARE_SESSION_TIMEOUT_MS = ConfigKey(
    "group.share.session.timeout.ms",
    45_000,
    "The time in ms after which a member of a share group is removed if it sends no heartbeat. A group can have "
    "another one: its config `share.session.timeout.ms`.",
    1,
    INT32_MAX,
)
GROUP_SHARE_MIN_SESSION_TIMEOUT_MS = ConfigKey(
    "group.share.min.session.timeout.ms",
    45_000,
    "The minimum of `group.share.session.timeout.ms` and of the session timeouts of share groups.",
    1,
    INT32_MAX,
)
GROUP_SHARE_MAX_SESSION_TIMEOUT_MS = ConfigKey(
    "group.share.max.session.timeout.ms",
    60_000,
    "The maximum of `group.share.session.timeout.ms` and of the session timeouts of share groups.",
    1,
    INT32_MAX,
)
GROUP_SHARE_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.share.heartbeat.interval.ms",
    5000,
    "The interval in ms at which members of a share group are told to send heartbeats. It must be below "
    "`group.share.session.timeout.ms`. A group can have another one: its config `share.heartbeat.interval.ms`.",
    1,
    INT32_MAX,
)
GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.share.min.heartbeat.interval.ms",
    5000,
    "The minimum of `group.share.heartbeat.interval.ms` and of the heartbeat intervals of share groups.",
    1,
    INT32_MAX,
)
GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.share.max.heartbeat.interval.ms",
    15_000,
    "The maximum of `group.share.heartbeat.interval.ms` and of the heartbeat intervals of share groups.",
    1,
    INT32_MAX,
)
GROUP_SHARE_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.share.assignment.interval.ms",
    1000,
    "The least time in ms between two target assignments of a share group, so that members that come or go shortly "
    "after one another cause one assignment. 0: no wait. A group can have another one: its config "
    "`share.assignment.interval.ms`.",
    0,
    INT32_MAX,
)
GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.share.min.assignment.interval.ms",
    0,
    "The minimum of `group.share.assignment.interval.ms` and of the assignment intervals of share groups.",
    0,
    INT32_MAX,
)
GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.share.max.assignment.interval.ms",
    15_000,
    "The maximum of `group.share.assignment.interval.ms` and of the assignment intervals of share groups.",
    0,
    INT32_MAX,
)
GROUP_SHARE_MAX_SIZE = ConfigKey(
    "group.share.max.size",
    200,
    "The maximum number of members of a share group. Further members are rejected with GROUP_MAX_SIZE_REACHED.",
    1,
    1000,
)
GROUP_SHARE_ASSIGNORS = ConfigKey(
    "group.share.assignors",
    ("simple",),
    "The assignor of share groups, by name or by the name of Kafka's class. There is one.",
    one_of=("simple",),
    aliases={"org.apache.kafka.coordinator.group.assignor.SimpleAssignor": "simple"},
)
GROUP_SHARE_INITIALIZE_RETRY_INTERVAL_MS = ConfigKey(
    "group.share.initialize.retry.interval.ms",
    30_000,
    "The time in ms after which the states of partitions that a share group has begun to initialize are initialized "
    "again, unless the share coordinator has answered.",
    1,
    INT32_MAX,
)
