"""A node besides its groups: its loop, its logs, transactions and the audit."""

from typing import Final

from coordinator.metrics.metric import Kind, Metric, declared

BUILD_INFO = Metric("coordinator_build_info", Kind.GAUGE, "1, with the versions as labels.", ("version", "python"))
EPOCH = Metric("coordinator_epoch", Kind.GAUGE, "The number of this start of the node, as in the audit events.")
LOOP_LAG = Metric(
    "coordinator_loop_lag_seconds",
    Kind.HISTOGRAM,
    "How late the event loop was, measured by a timer every 250 ms. While it is late, no client is answered.",
)
TIMERS = Metric("coordinator_timers", Kind.GAUGE, "Timers that run.")
APPEND_FAILURES = Metric(
    "coordinator_append_failures",
    Kind.COUNTER,
    "Batches that could not be appended. Their requests failed, and their partition is loaded again.",
)
LOADS = Metric(
    "coordinator_partition_load_seconds",
    Kind.HISTOGRAM,
    "How long the loads of partitions took that succeeded, from the first slice that was read on.",
)
LOAD_FAILURES = Metric(
    "coordinator_partition_load_failures", Kind.COUNTER, "Loads of partitions that failed. Each is tried again."
)
TRANSACTIONAL_IDS = Metric("coordinator_transactional_ids", Kind.GAUGE, "Transactional ids that are known.")
TRANSACTIONS_OPEN = Metric("coordinator_transactions_open", Kind.GAUGE, "Transactions that are open.")
TRANSACTIONS_ENDING = Metric(
    "coordinator_transactions_ending", Kind.GAUGE, "Transactions whose markers are being written to their partitions."
)
TRANSACTIONS_TIMED_OUT = Metric(
    "coordinator_transactions_timed_out",
    Kind.COUNTER,
    "Transactions that were aborted because they were open for longer than their timeout.",
)
AUDIT_EVENTS = Metric("coordinator_audit_events", Kind.COUNTER, "Events that were appended to __group_audit.")
AUDIT_LOG_BYTES = Metric("coordinator_audit_log_bytes", Kind.GAUGE, "Bytes of the logs of __group_audit on the disk.")
AUDIT_SNAPSHOTS_WAITING = Metric(
    "coordinator_audit_snapshots_waiting",
    Kind.GAUGE,
    "Partitions of __group_audit that wait for snapshots of their groups, which are written one slice per millisecond.",
)
LOG_LINES_DROPPED = Metric(
    "coordinator_log_lines_dropped",
    Kind.COUNTER,
    "Lines of the server's log that were dropped because more came than could be written.",
)
COMPACTIONS = Metric("coordinator_compactions", Kind.COUNTER, "Compactions of logs that succeeded.")
COMPACTED_BYTES = Metric(
    "coordinator_compacted_bytes", Kind.COUNTER, "Bytes of the segments that compactions replaced."
)
COMPACTED_BYTES_KEPT = Metric(
    "coordinator_compacted_bytes_kept", Kind.COUNTER, "Bytes of the segments that took their place."
)
UNCLEANABLE_LOGS = Metric(
    "kafka_log_logcleanermanager_uncleanable_partitions_count",
    Kind.GAUGE,
    "Logs that cannot be compacted until the next start, because a batch is damaged.",
    (),
    "kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count: Value, per logDirectory",
)
PARTITIONS_WITH_LATE_TRANSACTIONS = Metric(
    "kafka_server_replicamanager_partitionswithlatetransactionscount",
    Kind.GAUGE,
    "Partitions with a transaction that is open for 5 min longer than `transaction.max.timeout.ms` allows (KIP-664).",
    (),
    "kafka.server:type=ReplicaManager,name=PartitionsWithLateTransactionsCount: Value",
)
OLDEST_TRANSACTION = Metric(
    "coordinator_oldest_transaction_seconds",
    Kind.GAUGE,
    "The longest time since the last batch of the transaction that has been open for longest in its partition.",
)
OFFLINE_LOG_DIRECTORIES = Metric(
    "kafka_log_logmanager_offlinelogdirectorycount",
    Kind.GAUGE,
    "Directories of `log.dirs` that failed, at the start or since; the partitions in them are not served.",
    (),
    "kafka.log:type=LogManager,name=OfflineLogDirectoryCount: Value",
)

METRICS: Final = declared(globals())
