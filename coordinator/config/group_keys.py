"""The keys of groups and their offsets (GroupCoordinatorConfig)."""

from coordinator.config.key import INT16_MAX, INT32_MAX, INT64_MAX, PARTITIONS_MAX, SEGMENT_BYTES_MIN, ConfigKey

MAX_GROUPS_PER_IP = ConfigKey(
    "max.groups.per.ip",
    100_000,
    "The maximum number of groups that clients of one IP address have created, by joining or committing, and that "
    "still exist. A request that would create another one is answered POLICY_VIOLATION. Kafka has no such limit.",
    1,
    INT32_MAX,
)
MAX_PENDING_MEMBERS_PER_IP = ConfigKey(
    "max.pending.members.per.ip",
    20_000,
    "The maximum number of member ids that were handed out to clients of one IP address (KIP-394) and with which no "
    "member has joined yet. Above it the oldest one becomes unknown. Kafka has no such limit.",
    1,
    INT32_MAX,
)
GROUP_MIN_SESSION_TIMEOUT_MS = ConfigKey(
    "group.min.session.timeout.ms",
    6000,
    "The minimum session timeout of a member in ms. A shorter one is rejected with INVALID_SESSION_TIMEOUT.",
    1,
    INT32_MAX,
)
GROUP_MAX_SESSION_TIMEOUT_MS = ConfigKey(
    "group.max.session.timeout.ms",
    1_800_000,
    "The maximum session timeout of a member in ms. A longer one is rejected with INVALID_SESSION_TIMEOUT.",
    1,
    INT32_MAX,
)
GROUP_INITIAL_REBALANCE_DELAY_MS = ConfigKey(
    "group.initial.rebalance.delay.ms",
    3000,
    "The time in ms that the first rebalance of an empty group waits for more members to join (KIP-134).",
    0,
    INT32_MAX,
)
GROUP_MAX_SIZE = ConfigKey(
    "group.max.size",
    INT32_MAX,
    "The maximum number of members of a group. Further members are rejected with GROUP_MAX_SIZE_REACHED.",
    1,
    INT32_MAX,
)
OFFSET_METADATA_MAX_BYTES = ConfigKey(
    "offset.metadata.max.bytes",
    4096,
    "The maximum length of the metadata of a committed offset, in UTF-16 code units as in Kafka.",
    0,
    INT32_MAX,
)
GROUP_MAX_PENDING_OFFSETS = ConfigKey(
    "group.max.pending.offsets",
    100_000,
    "The maximum number of offsets that open transactions have committed for a group (TxnOffsetCommit), counted by "
    "producer and partition. A commit of more is answered TRANSACTION_ABORTABLE, before version 4 POLICY_VIOLATION. "
    "Kafka has no such limit.",
    1,
    INT32_MAX,
)
OFFSETS_RETENTION_MINUTES = ConfigKey(
    "offsets.retention.minutes",
    7 * 24 * 60,
    "Minutes to keep a committed offset after its group became empty, or after the commit if no member subscribes to "
    "the topic.",
    1,
    INT32_MAX,
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = ConfigKey(
    "offsets.retention.check.interval.ms",
    600_000,
    "The interval in ms at which expired committed offsets are removed.",
    1,
    INT64_MAX,
)
OFFSETS_TOPIC_COMPRESSION_CODEC = ConfigKey(
    "offsets.topic.compression.codec",
    0,
    "The compression of the batches in __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    0,
    4,
)
OFFSETS_LOAD_BUFFER_SIZE = ConfigKey(
    "offsets.load.buffer.size",
    5 * 1024 * 1024,
    "The number of bytes to read from __consumer_offsets at a time when groups are loaded. "
    "A batch that is larger is read whole.",
    1,
    INT32_MAX,
)
OFFSETS_COMMIT_TIMEOUT_MS = ConfigKey(
    "offsets.commit.timeout.ms",
    5000,
    "Accepted and ignored: there is one node, so a commit does not wait for replicas.",
    1,
    INT32_MAX,
)
OFFSETS_TOPIC_REPLICATION_FACTOR = ConfigKey(
    "offsets.topic.replication.factor",
    3,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT16_MAX,
)
GROUP_COORDINATOR_REBALANCE_PROTOCOLS = ConfigKey(
    "group.coordinator.rebalance.protocols",
    ("classic", "consumer", "streams"),
    "The enabled rebalance protocols. Without `consumer`, requests for consumer groups (KIP-848) are answered "
    "UNSUPPORTED_VERSION. `classic` cannot be left out; `share` and `streams` are accepted and have no effect. "
    "Deprecated, as on Kafka: a protocol is meant to be switched by its feature, `group.version`.",
    one_of=("consumer", "classic", "share", "streams"),
)
GROUP_COORDINATOR_THREADS = ConfigKey(
    "group.coordinator.threads", 4, "Accepted and ignored: one event loop serves all groups.", 1, INT32_MAX
)
GROUP_COORDINATOR_APPEND_LINGER_MS = ConfigKey(
    "group.coordinator.append.linger.ms",
    -1,
    "Accepted and ignored: the records of one iteration of the event loop are appended together, without a linger.",
    -1,
    INT32_MAX,
)
OFFSETS_TOPIC_NUM_PARTITIONS = ConfigKey(
    "offsets.topic.num.partitions",
    50,
    "The number of partitions of __consumer_offsets. It cannot change after the first start.",
    1,
    PARTITIONS_MAX,
)
OFFSETS_TOPIC_SEGMENT_BYTES = ConfigKey(
    "offsets.topic.segment.bytes",
    104_857_600,
    "The maximum size in bytes of a log segment of __consumer_offsets.",
    SEGMENT_BYTES_MIN,
    INT32_MAX,
)
