"""The keys of the log cleaner (CleanerConfig)."""

from coordinator.config.key import DOUBLE_MAX, INT32_MAX, INT64_MAX, ConfigKey

LOG_CLEANER_ENABLE = ConfigKey(
    "log.cleaner.enable", True, "Whether the logs of compacted topics, __consumer_offsets above all, are compacted."
)
LOG_CLEANER_THREADS = ConfigKey(
    "log.cleaner.threads", 1, "Accepted and ignored: one thread compacts the logs, whatever it says.", 1, INT32_MAX
)
LOG_CLEANER_BACKOFF_MS = ConfigKey(
    "log.cleaner.backoff.ms",
    15_000,
    "The time in ms until the next look for logs to compact, when there was none.",
    0,
    INT64_MAX,
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = ConfigKey(
    "log.cleaner.dedupe.buffer.size",
    134_217_728,
    "The maximum number of bytes for the keys of a log that is compacted: 24 for each, and room that stays free. If "
    "there are more keys, the rest of the log is compacted in another round. Only what is needed is taken.",
    1_048_576,
    INT64_MAX,
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = ConfigKey(
    "log.cleaner.io.buffer.load.factor",
    0.9,
    "How full the memory for the keys of a log may become. More holds more keys, and takes longer.",
    0.1,
    1,
)
LOG_CLEANER_IO_MAX_BYTES_PER_SECOND = ConfigKey(
    "log.cleaner.io.max.bytes.per.second",
    DOUBLE_MAX,
    "The maximum number of bytes a second that compaction reads and writes together, on average. By default there is "
    "no limit, as in Kafka.",
    1,
    DOUBLE_MAX,
)
LOG_CLEANER_MIN_CLEANABLE_RATIO = ConfigKey(
    "log.cleaner.min.cleanable.ratio",
    0.5,
    "A log is compacted when more than this part of its bytes was not compacted before.",
    0,
    1,
)
LOG_CLEANER_DELETE_RETENTION_MS = ConfigKey(
    "log.cleaner.delete.retention.ms",
    86_400_000,
    "The time in ms to keep tombstones and the markers of transactions, from the first compaction that meets them on.",
    0,
    INT64_MAX,
)
LOG_CLEANER_MIN_COMPACTION_LAG_MS = ConfigKey(
    "log.cleaner.min.compaction.lag.ms", 0, "The least time in ms before a record is compacted.", 0, INT64_MAX
)
LOG_CLEANER_MAX_COMPACTION_LAG_MS = ConfigKey(
    "log.cleaner.max.compaction.lag.ms",
    INT64_MAX,
    "The most time in ms before a record is compacted, as far as its segment is finished: a log with an older one is "
    "compacted, whatever `log.cleaner.min.cleanable.ratio` says, and segments are rolled at this age.",
    1,
    INT64_MAX,
)
