"""The keys of logs: segments, retention, flushes, timestamps (ServerLogConfigs)."""

from coordinator.config.key import INT32_MAX, INT64_MAX, SEGMENT_BYTES_MIN, ConfigKey

MESSAGE_MAX_BYTES = ConfigKey(
    "message.max.bytes",
    1_048_588,
    "The maximum size in bytes of a record batch in a Produce request, after compression.",
    0,
    INT32_MAX,
)
COMPRESSION_TYPE = ConfigKey(
    "compression.type",
    "producer",
    "The compression of the batches of a topic: `producer` stores them as the producer compressed them; with any "
    "other value, batches of another compression are compressed again before they are stored.",
    one_of=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
)
COMPRESSION_GZIP_LEVEL = ConfigKey(
    "compression.gzip.level",
    -1,
    "The level of gzip if `compression.type` is `gzip`: 1 to 9, or -1 for its default.",
    -1,
    9,
)
COMPRESSION_LZ4_LEVEL = ConfigKey(
    "compression.lz4.level",
    9,
    "The level of LZ4 if `compression.type` is `lz4`. As on Kafka, 9 is the fast compressor and any other value one of "
    "high compression.",
    1,
    17,
)
COMPRESSION_ZSTD_LEVEL = ConfigKey(
    "compression.zstd.level", 3, "The level of zstd if `compression.type` is `zstd`.", -131072, 22
)
LOG_SEGMENT_BYTES = ConfigKey(
    "log.segment.bytes", 1_073_741_824, "The maximum size of a log segment in bytes.", SEGMENT_BYTES_MIN, INT32_MAX
)
LOG_ROLL_MS = ConfigKey(
    "log.roll.ms",
    7 * 24 * 3600 * 1000,
    "The maximum time in ms between the first and the last timestamp of a segment, before a new segment is rolled.",
    1,
    INT64_MAX,
)
LOG_INDEX_INTERVAL_BYTES = ConfigKey(
    "log.index.interval.bytes", 4096, "The interval in bytes at which an entry is added to the indexes.", 0, INT32_MAX
)
LOG_INDEX_SIZE_MAX_BYTES = ConfigKey(
    "log.index.size.max.bytes",
    10 * 1024 * 1024,
    "The maximum size of an offset index in bytes. A segment whose index is full is rolled.",
    4,
    INT32_MAX,
)
LOG_RETENTION_HOURS = ConfigKey(
    "log.retention.hours",
    7 * 24,
    "Hours to keep records before their segment is deleted; -1: no limit. Only used if neither `log.retention.ms` nor "
    "`log.retention.minutes` is set.",
    -1,
    INT32_MAX,
)
LOG_RETENTION_MINUTES = ConfigKey(
    "log.retention.minutes",
    7 * 24 * 60,
    "Minutes to keep records before their segment is deleted; -1: no limit. If it is not set, `log.retention.hours` is "
    "used.",
    -1,
    INT32_MAX,
)
LOG_RETENTION_MS = ConfigKey(
    "log.retention.ms",
    7 * 24 * 3600 * 1000,
    "Time in ms to keep records before their segment is deleted; -1: no limit. If it is not set, "
    "`log.retention.minutes` is used.",
    -1,
    INT64_MAX,
)
LOG_RETENTION_BYTES = ConfigKey(
    "log.retention.bytes",
    -1,
    "The size in bytes that a partition may have before its oldest segments are deleted; -1: no limit.",
    -INT64_MAX - 1,
    INT64_MAX,
)
LOG_RETENTION_CHECK_INTERVAL_MS = ConfigKey(
    "log.retention.check.interval.ms",
    300_000,
    "The interval in ms at which logs are checked for segments to delete.",
    1,
    INT64_MAX,
)
LOG_INITIAL_TASK_DELAY_MS = ConfigKey(
    "log.initial.task.delay.ms",
    30_000,
    "How long after the start, in ms, logs are checked for segments to delete for the first time.",
    0,
    INT64_MAX,
)
LOG_FLUSH_POLICY = ConfigKey(
    "log.flush.policy",
    "page-cache",
    "When an append counts, so that clients are answered and can read it: `page-cache` when it is written, which "
    "survives the end of the process, but not a power loss; `always` when it is on stable storage. Then all that was "
    "appended in one turn of the event loop is flushed together. Kafka has no such key; its acks=all with one replica "
    "is `page-cache`.",
    one_of=("page-cache", "always"),
)
LOG_FLUSH_INTERVAL_MESSAGES = ConfigKey(
    "log.flush.interval.messages",
    INT64_MAX,
    "After how many records a log is flushed, in the background: no answer waits for it (see `log.flush.policy`).",
    1,
    INT64_MAX,
)
LOG_FLUSH_INTERVAL_MS = ConfigKey(
    "log.flush.interval.ms",
    INT64_MAX,
    "The time in ms after which an appended record is flushed at the latest, in the background.",
    0,
    INT64_MAX,
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = ConfigKey(
    "log.flush.offset.checkpoint.interval.ms",
    60_000,
    "The interval in ms at which the recovery points are stored: a start after a kill reads the logs from there on.",
    1,
    INT32_MAX,
)
LOG_SEGMENT_DELETE_DELAY_MS = ConfigKey(
    "log.segment.delete.delay.ms",
    60_000,
    "The time in ms after which the files of a deleted segment are removed. Until then they are renamed.",
    0,
    INT64_MAX,
)
LOG_MESSAGE_TIMESTAMP_TYPE = ConfigKey(
    "log.message.timestamp.type",
    "CreateTime",
    "Whether the timestamp of a record is the one of the producer or the time of the append.",
    one_of=("CreateTime", "LogAppendTime"),
)
LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS = ConfigKey(
    "log.message.timestamp.before.max.ms",
    INT64_MAX,
    "The most ms that the timestamp of a record may lie before the time of its arrival. A batch with an older one is "
    "rejected with INVALID_TIMESTAMP.",
    0,
    INT64_MAX,
)
LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS = ConfigKey(
    "log.message.timestamp.after.max.ms",
    3_600_000,
    "The most ms that the timestamp of a record may lie after the time of its arrival. A batch with a later one is "
    "rejected with INVALID_TIMESTAMP.",
    0,
    INT64_MAX,
)
REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND = ConfigKey(
    "replica.alter.log.dirs.io.max.bytes.per.second",
    INT64_MAX,
    "The maximum number of bytes a second that are copied when partitions are moved to other log directories "
    "(AlterReplicaLogDirs), on average and of all moves together. By default there is no limit, as in Kafka.",
    1,
    INT64_MAX,
)
