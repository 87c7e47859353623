"""The keys of transactions and producer ids (TransactionLogConfig, TransactionStateManagerConfig)."""

from coordinator.config.key import INT16_MAX, INT32_MAX, PARTITIONS_MAX, SEGMENT_BYTES_MIN, ConfigKey

MAX_TRANSACTIONAL_IDS_PER_IP = ConfigKey(
    "max.transactional.ids.per.ip",
    500_000,
    "The maximum number of transactional ids that producers of one IP address have initialized first, and that have not"
    " expired (`transactional.id.expiration.ms`). An InitProducerId with another one is answered POLICY_VIOLATION. Some"
    " clients, as Flink's Kafka sink with the naming strategy INCREMENTING, use new ids all the time. Kafka has no such"
    " limit.",
    1,
    INT32_MAX,
)
PRODUCER_ID_EXPIRATION_MS = ConfigKey(
    "producer.id.expiration.ms",
    24 * 3600 * 1000,
    "The time in ms after the last timestamp of an idempotent producer's batches at which a partition forgets the "
    "producer. It may then send any sequence number.",
    1,
    INT32_MAX,
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = ConfigKey(
    "producer.id.expiration.check.interval.ms",
    600_000,
    "The interval in ms at which expired producers are forgotten.",
    1,
    INT32_MAX,
)
PRODUCER_IDS_PER_PARTITION_MAX = ConfigKey(
    "producer.ids.per.partition.max",
    10_000,
    "The most idempotent producers that a partition remembers. One more makes it forget another, as if that had "
    "expired: a batch that it sends twice is appended twice. First go producers of the client address that has more "
    "than its share, those that wrote a single batch before others, the least recent first. "
    "Kafka has no such setting.",
    1,
    INT32_MAX,
)
TRANSACTION_STATE_LOG_NUM_PARTITIONS = ConfigKey(
    "transaction.state.log.num.partitions",
    50,
    "The number of partitions of __transaction_state. It cannot change after the topic has been created.",
    1,
    PARTITIONS_MAX,
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES = ConfigKey(
    "transaction.state.log.segment.bytes",
    104_857_600,
    "The maximum size in bytes of a log segment of __transaction_state.",
    SEGMENT_BYTES_MIN,
    INT32_MAX,
)
TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE = ConfigKey(
    "transaction.state.log.load.buffer.size",
    5 * 1024 * 1024,
    "The number of bytes to read from __transaction_state at a time when transactions are loaded. "
    "A batch that is larger is read whole.",
    1,
    INT32_MAX,
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = ConfigKey(
    "transaction.state.log.replication.factor",
    3,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT16_MAX,
)
TRANSACTION_STATE_LOG_MIN_ISR = ConfigKey(
    "transaction.state.log.min.isr",
    2,
    "Accepted and ignored: there is one node, so a partition has one replica.",
    1,
    INT32_MAX,
)
TRANSACTION_MAX_TIMEOUT_MS = ConfigKey(
    "transaction.max.timeout.ms",
    900_000,
    "The longest timeout in ms that a client may set for its transactions; a longer one is rejected.",
    1,
    INT32_MAX,
)
TRANSACTIONAL_ID_EXPIRATION_MS = ConfigKey(
    "transactional.id.expiration.ms",
    604_800_000,
    "The time in ms after its last change at which a transactional id without an open transaction is forgotten.",
    1,
    INT32_MAX,
)
WRITE_TXN_MARKERS_ENABLE = ConfigKey(
    "write.txn.markers.enable",
    False,
    "Whether clients may end the transactions of others with WriteTxnMarkers. It is an API between brokers, and this "
    "node writes the markers of its transactions itself, so it is answered CLUSTER_AUTHORIZATION_FAILED, as Kafka "
    "answers a client without ClusterAction. Kafka has no such setting.",
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS = ConfigKey(
    "add.partitions.to.txn.retry.backoff.ms",
    20,
    "The time in ms after which a Produce tries again to add its partitions to a transaction, while the transaction"
    " before it ends.",
    1,
    INT32_MAX,
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS = ConfigKey(
    "add.partitions.to.txn.retry.backoff.max.ms",
    100,
    "How long in ms a Produce tries to add its partitions to a transaction before it fails.",
    0,
    INT32_MAX,
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = ConfigKey(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    10_000,
    "The interval in ms at which transactions are aborted that have been open for longer than their timeout.",
    1,
    INT32_MAX,
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = ConfigKey(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    3_600_000,
    "The interval in ms at which transactional ids are forgotten that have expired.",
    1,
    INT32_MAX,
)
