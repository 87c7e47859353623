"""The keys of the share coordinator (KIP-932; ShareCoordinatorConfig)."""

from coordinator.config.key import INT16_MAX, INT32_MAX, PARTITIONS_MAX, SEGMENT_BYTES_MIN, ConfigKey

SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS = ConfigKey(
    "share.coordinator.state.topic.num.partitions",
    50,
    "The number of partitions of __share_group_state. It cannot change after the topic has been created.",
    1,
    PARTITIONS_MAX,
)
SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES = ConfigKey(
    "share.coordinator.state.topic.segment.bytes",
    104_857_600,
    "The maximum size in bytes of a log segment of __share_group_state.",
    SEGMENT_BYTES_MIN,
    INT32_MAX,
)
SHARE_COORDINATOR_LOAD_BUFFER_SIZE = ConfigKey(
    "share.coordinator.load.buffer.size",
    5 * 1024 * 1024,
    "The number of bytes to read from __share_group_state at a time when the states of share partitions are loaded. "
    "A batch that is larger is read whole.",
    1,
    INT32_MAX,
)
SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT = ConfigKey(
    "share.coordinator.snapshot.update.records.per.snapshot",
    500,
    "How many records with changes of the state of a share partition are written before one with the whole state. "
    "A start reads what lies between them.",
    0,
    500,
)
SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS = ConfigKey(
    "share.coordinator.state.topic.prune.interval.ms",
    300_000,
    "The interval in ms at which the records of __share_group_state are deleted that are older than the whole states "
    "of all share partitions.",
    1,
    INT32_MAX,
)
SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS = ConfigKey(
    "share.coordinator.cold.partition.snapshot.interval.ms",
    300_000,
    "The interval in ms at which the whole state of share partitions is written again that has been written longer "
    "ago than this, so that older records can be deleted.",
    1,
    INT32_MAX,
)
SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR = ConfigKey(
    "share.coordinator.state.topic.replication.factor",
    3,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT16_MAX,
)
SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR = ConfigKey(
    "share.coordinator.state.topic.min.isr",
    2,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT32_MAX,
)
