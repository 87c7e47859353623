"""The keys of the node, its directories and its topics (AbstractKafkaConfig, ServerConfigs and KRaftConfigs)."""

from coordinator.config.key import INT32_MAX, INT64_MAX, PARTITIONS_MAX, ConfigKey

NODE_ID = ConfigKey("node.id", 1, "The id of this node, as clients see it in Metadata responses.", 0, INT32_MAX)
LOG_DIRS = ConfigKey(
    "log.dirs",
    "./coordinator-data",
    "The directories in which the logs are stored: a comma-separated list. A new partition goes to the one "
    "that has the fewest. The first one has the metadata log, unless `metadata.log.dir` is given. "
    "Relative paths are made absolute at the start.",
)
METADATA_LOG_DIR = ConfigKey(
    "metadata.log.dir",
    "",
    "The directory of the metadata log, which may be one of `log.dirs`. If empty, it is the first of these.",
)
MAX_REQUEST_PARTITION_SIZE_LIMIT = ConfigKey(
    "max.request.partition.size.limit",
    2_000,
    "The maximum number of partitions in the response to a DescribeTopicPartitions, whatever the client asks for.",
    1,
    INT32_MAX,
)
FETCH_MAX_BYTES = ConfigKey(
    "fetch.max.bytes",
    16_777_216,
    "The maximum number of bytes of records in the response to a Fetch, whatever the client asks for; a single larger "
    "batch is returned all the same. Kafka's default is 57671680; a smaller one lets other clients wait less.",
    1_024,
    INT32_MAX,
)
MAX_BROKER_PARTITIONS = ConfigKey(
    "max.broker.partitions",
    100_000,
    "The maximum number of partitions of all topics together, internal ones included. A request for more is rejected "
    "with POLICY_VIOLATION. Kafka has no such limit; the name is that of KIP-578.",
    1_000,
    INT32_MAX,
)
AUTO_CREATE_TOPICS_ENABLE = ConfigKey(
    "auto.create.topics.enable", True, "Create a topic automatically when a client requests its metadata."
)
NUM_PARTITIONS = ConfigKey("num.partitions", 1, "The default number of partitions per topic.", 1, PARTITIONS_MAX)
METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS = ConfigKey(
    "metadata.log.max.record.bytes.between.snapshots",
    20_971_520,
    "The size in bytes of the metadata log above which it is replaced by a snapshot of what it says, if that is less "
    "than half as large: at a start, and in the background while the server runs.",
    1,
    INT64_MAX,
)
PRODUCE_MAX_DECOMPRESSED_BYTES = ConfigKey(
    "produce.max.decompressed.bytes",
    32 * 1024 * 1024,
    "The maximum size in bytes of a compressed batch in a Produce request after its decompression, which is needed to "
    "validate its records. A larger one is rejected with MESSAGE_TOO_LARGE; Kafka's Java producer then splits it "
    "and sends the parts. It bounds the memory and the time that one batch can take. Kafka has no such setting.",
    1024 * 1024,
    INT32_MAX,
)
