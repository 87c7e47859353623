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
GROUP_SHARE_RECORD_LOCK_DURATION_MS = ConfigKey(
    "group.share.record.lock.duration.ms",
    30_000,
    "How long in ms a member of a share group holds records that it has acquired, unless it acknowledges them before. "
    "Then they are delivered again. A group can have another time: its config `share.record.lock.duration.ms`.",
    1000,
    3_600_000,
)
GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS = ConfigKey(
    "group.share.min.record.lock.duration.ms",
    15_000,
    "The minimum of `group.share.record.lock.duration.ms` and of the lock durations of share groups.",
    1000,
    30_000,
)
GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS = ConfigKey(
    "group.share.max.record.lock.duration.ms",
    60_000,
    "The maximum of `group.share.record.lock.duration.ms` and of the lock durations of share groups.",
    30_000,
    3_600_000,
)
GROUP_SHARE_DELIVERY_COUNT_LIMIT = ConfigKey(
    "group.share.delivery.count.limit",
    5,
    "How often a record is delivered to members of a share group at most; then it is archived. A group can have "
    "another limit: its config `share.delivery.count.limit`.",
    2,
    10,
)
GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT = ConfigKey(
    "group.share.min.delivery.count.limit",
    2,
    "The minimum of `group.share.delivery.count.limit` and of the delivery count limits of share groups.",
    2,
    5,
)
GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT = ConfigKey(
    "group.share.max.delivery.count.limit",
    10,
    "The maximum of `group.share.delivery.count.limit` and of the delivery count limits of share groups.",
    5,
    25,
)
GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS = ConfigKey(
    "group.share.partition.max.record.locks",
    2000,
    "How many records of a partition may be in flight for a share group: from the first one that is not done to the "
    "last one that was acquired. A group can have another limit: its config `share.partition.max.record.locks`.",
    100,
    10_000,
)
GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS = ConfigKey(
    "group.share.min.partition.max.record.locks",
    100,
    "The minimum of `group.share.partition.max.record.locks` and of the limits of share groups.",
    100,
    2000,
)
GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS = ConfigKey(
    "group.share.max.partition.max.record.locks",
    4000,
    "The maximum of `group.share.partition.max.record.locks` and of the limits of share groups.",
    2000,
    10_000,
)
GROUP_SHARE_MAX_SHARE_SESSIONS = ConfigKey(
    "group.share.max.share.sessions",
    2000,
    "The maximum number of share sessions, one for each member that fetches. A fetch that would open another one is "
    "answered SHARE_SESSION_LIMIT_REACHED. It must not be below `group.share.max.size`.",
    1,
    INT32_MAX,
)
