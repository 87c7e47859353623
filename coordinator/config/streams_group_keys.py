"""The keys of streams groups (KIP-1071; GroupCoordinatorConfig)."""

from coordinator.config.key import INT32_MAX, ConfigKey

GROUP_STREAMS_SESSION_TIMEOUT_MS = ConfigKey(
    "group.streams.session.timeout.ms",
    45_000,
    "The time in ms after which a member of a streams group is removed if it sends no heartbeat. A group can have "
    "another one: its config `streams.session.timeout.ms`.",
    1,
    INT32_MAX,
)
GROUP_STREAMS_MIN_SESSION_TIMEOUT_MS = ConfigKey(
    "group.streams.min.session.timeout.ms",
    45_000,
    "The minimum of `group.streams.session.timeout.ms` and of the session timeouts of streams groups.",
    1,
    INT32_MAX,
)
GROUP_STREAMS_MAX_SESSION_TIMEOUT_MS = ConfigKey(
    "group.streams.max.session.timeout.ms",
    60_000,
    "The maximum of `group.streams.session.timeout.ms` and of the session timeouts of streams groups.",
    1,
    INT32_MAX,
)
GROUP_STREAMS_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.streams.heartbeat.interval.ms",
    5000,
    "The interval in ms at which members of a streams group are told to send heartbeats. It must be below "
    "`group.streams.session.timeout.ms`. A group can have another one: its config `streams.heartbeat.interval.ms`.",
    1,
    INT32_MAX,
)
GROUP_STREAMS_MIN_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.streams.min.heartbeat.interval.ms",
    5000,
    "The minimum of `group.streams.heartbeat.interval.ms` and of the heartbeat intervals of streams groups.",
    1,
    INT32_MAX,
)
GROUP_STREAMS_MAX_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.streams.max.heartbeat.interval.ms",
    15_000,
    "The maximum of `group.streams.heartbeat.interval.ms` and of the heartbeat intervals of streams groups.",
    1,
    INT32_MAX,
)
GROUP_STREAMS_MAX_SIZE = ConfigKey(
    "group.streams.max.size",
    INT32_MAX,
    "The maximum number of members of a streams group. Whoever joins a full group is rejected with "
    "GROUP_MAX_SIZE_REACHED, also a member that joins it again.",
    1,
    INT32_MAX,
)
GROUP_STREAMS_NUM_STANDBY_REPLICAS = ConfigKey(
    "group.streams.num.standby.replicas",
    0,
    "How many standby tasks each task with state stores has. A group can have another number: its config "
    "`streams.num.standby.replicas`.",
    0,
    INT32_MAX,
)
GROUP_STREAMS_MAX_STANDBY_REPLICAS = ConfigKey(
    "group.streams.max.standby.replicas",
    2,
    "The maximum of `group.streams.num.standby.replicas` and of the standby replicas of streams groups.",
    0,
    INT32_MAX,
)
GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS = ConfigKey(
    "group.streams.initial.rebalance.delay.ms",
    3000,
    "How long in ms the first assignment of an empty streams group waits for more members. A group can have another "
    "delay: its config `streams.initial.rebalance.delay.ms`.",
    0,
    INT32_MAX,
)
GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.streams.assignment.interval.ms",
    1000,
    "The least time in ms between two target assignments of a streams group, so that members that come or go shortly "
    "after one another cause one assignment. 0: no wait. A group can have another one: its config "
    "`streams.assignment.interval.ms`.",
    0,
    INT32_MAX,
)
GROUP_STREAMS_MIN_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.streams.min.assignment.interval.ms",
    0,
    "The minimum of `group.streams.assignment.interval.ms` and of the assignment intervals of streams groups.",
    0,
    INT32_MAX,
)
GROUP_STREAMS_MAX_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.streams.max.assignment.interval.ms",
    15_000,
    "The maximum of `group.streams.assignment.interval.ms` and of the assignment intervals of streams groups.",
    0,
    INT32_MAX,
)
