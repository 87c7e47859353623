"""The keys of consumer groups, those of the new group protocol (KIP-848; GroupCoordinatorConfig)."""

from coordinator.config.key import INT32_MAX, ConfigKey

GROUP_CONSUMER_SESSION_TIMEOUT_MS = ConfigKey(
    "group.consumer.session.timeout.ms",
    45_000,
    "The time in ms after which a member of a consumer group is removed if it sends no heartbeat. A group can have "
    "another one: its config `consumer.session.timeout.ms`.",
    1,
    INT32_MAX,
)
GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS = ConfigKey(
    "group.consumer.min.session.timeout.ms",
    45_000,
    "The minimum of `group.consumer.session.timeout.ms` and of the session timeouts of groups.",
    1,
    INT32_MAX,
)
GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS = ConfigKey(
    "group.consumer.max.session.timeout.ms",
    60_000,
    "The maximum of `group.consumer.session.timeout.ms` and of the session timeouts of groups.",
    1,
    INT32_MAX,
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.consumer.heartbeat.interval.ms",
    5000,
    "The interval in ms at which members of a consumer group are told to send heartbeats. It must be below "
    "`group.consumer.session.timeout.ms`. A group can have another one: its config `consumer.heartbeat.interval.ms`.",
    1,
    INT32_MAX,
)
GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.consumer.min.heartbeat.interval.ms",
    5000,
    "The minimum of `group.consumer.heartbeat.interval.ms` and of the heartbeat intervals of groups.",
    1,
    INT32_MAX,
)
GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS = ConfigKey(
    "group.consumer.max.heartbeat.interval.ms",
    15_000,
    "The maximum of `group.consumer.heartbeat.interval.ms` and of the heartbeat intervals of groups.",
    1,
    INT32_MAX,
)
GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.consumer.assignment.interval.ms",
    1000,
    "The least time in ms between two target assignments of a consumer group, so that members that come or go shortly "
    "after one another cause one rebalance. 0: no wait. A group can have another one: its config "
    "`consumer.assignment.interval.ms`.",
    0,
    INT32_MAX,
)
GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.consumer.min.assignment.interval.ms",
    0,
    "The minimum of `group.consumer.assignment.interval.ms` and of the assignment intervals of groups.",
    0,
    INT32_MAX,
)
GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS = ConfigKey(
    "group.consumer.max.assignment.interval.ms",
    15_000,
    "The maximum of `group.consumer.assignment.interval.ms` and of the assignment intervals of groups.",
    0,
    INT32_MAX,
)
GROUP_CONSUMER_MAX_SIZE = ConfigKey(
    "group.consumer.max.size",
    INT32_MAX,
    "The maximum number of members of a consumer group. Further members are rejected with GROUP_MAX_SIZE_REACHED.",
    1,
    INT32_MAX,
)
GROUP_CONSUMER_ASSIGNORS = ConfigKey(
    "group.consumer.assignors",
    ("uniform", "range"),
    "The assignors that members of consumer groups can ask for, by name or by the name of Kafka's class. The first one "
    "is used where no member asks for one.",
    one_of=("uniform", "range"),
    aliases={
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
        "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
    },
)
GROUP_CONSUMER_MIGRATION_POLICY = ConfigKey(
    "group.consumer.migration.policy",
    "bidirectional",
    "Which groups change their protocol while they have members: `upgrade`, a classic group that a member of the new "
    "protocol joins; `downgrade`, a consumer group whose last member of the new protocol leaves; `bidirectional`, "
    "both; `disabled`, none.",
    one_of=("bidirectional", "upgrade", "downgrade", "disabled"),
    is_case_insensitive=True,
)
GROUP_CONSUMER_REGEX_REFRESH_INTERVAL_MS = ConfigKey(
    "group.consumer.regex.refresh.interval.ms",
    600_000,
    "The interval in ms after which the topics that match the regular expressions of a consumer group are looked for "
    "again, even if no topic was created.",
    10_000,
    INT32_MAX,
)
GROUP_CONFIGS_MAX = ConfigKey(
    "group.configs.max",
    100_000,
    "The maximum number of groups that have configs of their own. A request that would give configs to another one is "
    "answered POLICY_VIOLATION. Kafka has no such limit.",
    1,
    INT32_MAX,
)
