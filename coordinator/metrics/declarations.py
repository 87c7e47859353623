"""Every metric: name, type, labels and meaning, declared once. docs/metrics.md and `/metrics` are made from it.

Names are those that the Prometheus JMX exporter gives Kafka's MBeans with its usual rules. A counter has Kafka's name
with `_total`. What Kafka does not have begins with `coordinator_`, and its times are in seconds.
"""

from enum import StrEnum
from typing import Final

import msgspec

from coordinator.core.groups.kind import CLASSIC_NAME, CONSUMER_NAME, SHARE_NAME, STREAMS_NAME
from coordinator.core.kinds.table import KINDS


class Kind(StrEnum):
    """A type of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(msgspec.Struct, frozen=True):
    """One metric. `jmx` is Kafka's MBean and attribute, empty for a metric that Kafka does not have."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    jmx: str = ""


GROUP: Final = "kafka_server_group_coordinator_metrics"
GROUP_JMX: Final = "kafka.server:type=group-coordinator-metrics"
MANAGER: Final = "kafka_coordinator_group_groupmetadatamanager"
MANAGER_JMX: Final = "kafka.coordinator.group:type=GroupMetadataManager,name="
REQUEST: Final = "kafka_network_requestmetrics"
REQUEST_JMX: Final = "kafka.network:type=RequestMetrics,name="
SOCKET: Final = "kafka_server_socket_server_metrics"
SOCKET_JMX: Final = "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*:"
LISTENER: Final = ("listener", "networkProcessor")
"""As Kafka; the event loop is network processor 0."""

# ---- groups and partitions

NUM_PARTITIONS = Metric(
    f"{GROUP}_num_partitions",
    Kind.GAUGE,
    "Partitions of __consumer_offsets that this node leads, by state: loading, active, failed.",
    ("state",),
    f"{GROUP_JMX},state=*: num-partitions",
)
GROUP_COUNT = Metric(
    f"{GROUP}_group_count",
    Kind.GAUGE,
    f"Groups by rebalance protocol: {', '.join(KINDS)}.",
    ("protocol",),
    f"{GROUP_JMX},protocol=*: group-count",
)
COUNT_BY_STATE_JMX: Final = {
    CONSUMER_NAME: f"{GROUP_JMX},state=*: consumer-group-count",
    SHARE_NAME: f"{GROUP_JMX},state=*: share-group-count",
    STREAMS_NAME: f"{GROUP_JMX},state=*: streams-group-count",
}
GROUP_COUNT_BY_STATE = {
    kind.name: Metric(
        f"{GROUP}_{kind.name}_group_count",
        Kind.GAUGE,
        f"{kind.name.capitalize()} groups by state: {', '.join(kind.states)}."
        + ("" if kind.name in COUNT_BY_STATE_JMX else " Apache Kafka has no such metric."),
        ("state",),
        COUNT_BY_STATE_JMX.get(kind.name, ""),
    )
    for kind in KINDS.values()
}
EVENT_QUEUE_SIZE = Metric(
    f"{GROUP}_event_queue_size",
    Kind.GAUGE,
    "Operations that wait in the queues of all partitions. The queues are empty after each iteration of the loop, "
    "unless an append is in flight.",
    (),
    f"{GROUP_JMX}: event-queue-size",
)
EVENT_QUEUE_TIME_MS = Metric(
    f"{GROUP}_event_queue_time_ms",
    Kind.HISTOGRAM,
    "How long the oldest operation of an iteration of the loop waited for its drain, in ms; one observation for each "
    "iteration. Kafka has percentiles over single operations.",
    (),
    f"{GROUP_JMX}: event-queue-time-ms-max, -p50, -p95, -p99, -p999",
)
EVENT_PROCESSING_TIME_MS = Metric(
    f"{GROUP}_event_processing_time_ms",
    Kind.HISTOGRAM,
    "How long a drain took, in ms: all operations of an iteration of the loop, with their appends and responses. "
    "Kafka has percentiles over single operations.",
    (),
    f"{GROUP_JMX}: event-processing-time-ms-max, -p50, -p95, -p99, -p999",
)
BATCH_FLUSH_TIME_MS = Metric(
    f"{GROUP}_batch_flush_time_ms",
    Kind.HISTOGRAM,
    "How long it took to append a batch to __group_audit and __consumer_offsets, in ms. "
    "The rate of its _count is Kafka's batch-flush-rate.",
    (),
    f"{GROUP_JMX}: batch-flush-time-ms-max, -p50, -p95, -p99, -p999; batch-flush-rate",
)
PARTITION_LOAD_TIME_MAX = Metric(
    f"{GROUP}_partition_load_time_max",
    Kind.GAUGE,
    "The longest load of a partition that ended in the last 30 s, in ms; NaN if none did.",
    (),
    f"{GROUP_JMX}: partition-load-time-max",
)
PARTITION_LOAD_TIME_AVG = Metric(
    f"{GROUP}_partition_load_time_avg",
    Kind.GAUGE,
    "The average time of the loads of partitions that ended in the last 30 s, in ms; NaN if none did.",
    (),
    f"{GROUP_JMX}: partition-load-time-avg",
)
THREAD_IDLE_RATIO_AVG = Metric(
    f"{GROUP}_thread_idle_ratio_avg",
    Kind.GAUGE,
    "The share of the last 30 s in which the coordinator had nothing to do (not in a drain). There is one thread.",
    (),
    f"{GROUP_JMX}: thread-idle-ratio-avg",
)
OFFSET_COMMITS = Metric(
    f"{GROUP}_offset_commit_count",
    Kind.COUNTER,
    "Committed offsets, one for each partition of a commit. Its rate is Kafka's offset-commit-rate.",
    (),
    f"{GROUP_JMX}: offset-commit-count, offset-commit-rate",
)
OFFSET_EXPIRATIONS = Metric(
    f"{GROUP}_offset_expiration_count",
    Kind.COUNTER,
    "Committed offsets that expired. Its rate is Kafka's offset-expiration-rate.",
    (),
    f"{GROUP_JMX}: offset-expiration-count, offset-expiration-rate",
)
OFFSET_DELETIONS = Metric(
    f"{GROUP}_offset_deletion_count",
    Kind.COUNTER,
    "Committed offsets that OffsetDelete deleted. Its rate is Kafka's offset-deletion-rate.",
    (),
    f"{GROUP_JMX}: offset-deletion-count, offset-deletion-rate",
)
REBALANCES_OF_KIND = {
    CLASSIC_NAME: Metric(
        f"{GROUP}_group_completed_rebalance_count",
        Kind.COUNTER,
        "Rebalances of classic groups that ended with a stored assignment. "
        "Its rate is Kafka's group-completed-rebalance-rate.",
        (),
        f"{GROUP_JMX}: group-completed-rebalance-count, group-completed-rebalance-rate",
    ),
    CONSUMER_NAME: Metric(
        f"{GROUP}_consumer_group_rebalance_count",
        Kind.COUNTER,
        "Rises of the group epochs of consumer groups as Kafka counts them: by a request of a member and by regular "
        "expressions that were resolved, but not by the removal of members. "
        "Its rate is Kafka's consumer-group-rebalance-rate.",
        (),
        f"{GROUP_JMX}: consumer-group-rebalance-count, consumer-group-rebalance-rate",
    ),
}
"""Kind of group → its rebalances as Kafka counts them."""
NUM_GROUPS = Metric(f"{MANAGER}_numgroups", Kind.GAUGE, "Groups.", (), f"{MANAGER_JMX}NumGroups: Value")
NUM_OFFSETS = Metric(f"{MANAGER}_numoffsets", Kind.GAUGE, "Committed offsets.", (), f"{MANAGER_JMX}NumOffsets: Value")
NUM_GROUPS_IN = {
    state: Metric(
        f"{MANAGER}_numgroups{state.lower()}",
        Kind.GAUGE,
        f"Classic groups in {state}.",
        (),
        f"{MANAGER_JMX}NumGroups{state}: Value",
    )
    for state in KINDS[CLASSIC_NAME].states
}

# ---- records of share groups

SHARE: Final = "kafka_server_share"
SHARE_GROUP_JMX: Final = "kafka.server:type=ShareGroupMetrics,name="
SHARE_PARTITION_JMX: Final = "kafka.server:type=SharePartitionMetrics,group=*,topic=*,partition=*,name="
SHARE_SESSION_JMX: Final = "kafka.server:type=ShareSessionCache,name="
SHARE_COORDINATOR_JMX: Final = "kafka.server:type=share-coordinator-metrics"
SHARE_PARTITION: Final = ("group", "topic", "partition")

SHARE_ACKNOWLEDGEMENTS = Metric(
    f"{SHARE}groupmetrics_recordacknowledgements",
    Kind.COUNTER,
    "Records that members of share groups acknowledged, once that was stored: Accept, Release, Reject, Renew.",
    ("ackType",),
    f"{SHARE_GROUP_JMX}RecordAcknowledgementsPerSec,ackType=*: Count",
)
SHARE_SESSIONS = Metric(
    f"{SHARE}sessioncache_sharesessionscount",
    Kind.GAUGE,
    "Share sessions.",
    (),
    f"{SHARE_SESSION_JMX}ShareSessionsCount: Value",
)
SHARE_SESSION_PARTITIONS = Metric(
    f"{SHARE}sessioncache_sharepartitionscount",
    Kind.GAUGE,
    "Partitions of all share sessions together.",
    (),
    f"{SHARE_SESSION_JMX}SharePartitionsCount: Value",
)
SHARE_IN_FLIGHT_MESSAGES = Metric(
    f"{SHARE}partitionmetrics_inflightmessagecount",
    Kind.GAUGE,
    "Records in flight of a share partition, of the first 1,000 share partitions that are in memory.",
    SHARE_PARTITION,
    f"{SHARE_PARTITION_JMX}InFlightMessageCount: Value",
)
SHARE_IN_FLIGHT_BATCHES = Metric(
    f"{SHARE}partitionmetrics_inflightbatchcount",
    Kind.GAUGE,
    "Batches of records in flight of a share partition: those that were acquired together.",
    SHARE_PARTITION,
    f"{SHARE_PARTITION_JMX}InFlightBatchCount: Value",
)
SHARE_LOCK_TIMEOUTS = Metric(
    f"{SHARE}partitionmetrics_acquisitionlocktimeout",
    Kind.COUNTER,
    "Records of a share partition whose locks ended since it was loaded.",
    SHARE_PARTITION,
    f"{SHARE_PARTITION_JMX}AcquisitionLockTimeoutPerSec: Count",
)
SHARE_FETCHES_EXPIRED = Metric(
    "kafka_server_delayedsharefetchmetrics_expires",
    Kind.COUNTER,
    "ShareFetches that were answered when their time to wait was over.",
    (),
    "kafka.server:type=DelayedShareFetchMetrics,name=ExpiresPerSec: Count",
)
SHARE_STATE_WRITES = Metric(
    f"{SHARE}_coordinator_metrics_write",
    Kind.COUNTER,
    "Records that the share coordinator of this node has stored.",
    (),
    f"{SHARE_COORDINATOR_JMX}: write-total",
)
SHARE_STATE_PRUNED = Metric(
    f"{SHARE}_coordinator_metrics_last_pruned_offset",
    Kind.GAUGE,
    "The offset up to which a partition of __share_group_state was pruned last; 0: not since the start of the node.",
    ("topic", "partition"),
    f"{SHARE_COORDINATOR_JMX},topic=*,partition=*: last-pruned-offset",
)

# ---- requests and connections

REQUESTS = Metric(
    f"{REQUEST}_requests",
    Kind.COUNTER,
    "Requests that were answered.",
    ("request", "version"),
    f"{REQUEST_JMX}RequestsPerSec,request=*,version=*: Count",
)
ERRORS = Metric(
    f"{REQUEST}_errors",
    Kind.COUNTER,
    "Error codes in responses, NONE too: each one of a response that has several (for each partition, topic or group).",
    ("request", "error"),
    f"{REQUEST_JMX}ErrorsPerSec,request=*,error=*: Count",
)
TOTAL_TIME_MS = Metric(
    f"{REQUEST}_totaltimems",
    Kind.HISTOGRAM,
    "The time from the arrival of a request to its response in the send buffer, in ms, with the time that it waited "
    "for others (JoinGroup, SyncGroup, Fetch). A Heartbeat that its connection answers at once counts as 0 ms. "
    "Kafka has percentiles and _count.",
    ("request",),
    f"{REQUEST_JMX}TotalTimeMs,request=*: Count, 50thPercentile, …",
)
CONNECTION_COUNT = Metric(
    f"{SOCKET}_connection_count", Kind.GAUGE, "Open connections.", LISTENER, f"{SOCKET_JMX} connection-count"
)
CONNECTION_CREATION = Metric(
    f"{SOCKET}_connection_creation",
    Kind.COUNTER,
    "Connections that were accepted. Its rate is Kafka's connection-creation-rate.",
    LISTENER,
    f"{SOCKET_JMX} connection-creation-total",
)
CONNECTION_CLOSE = Metric(
    f"{SOCKET}_connection_close",
    Kind.COUNTER,
    "Connections that were closed. Its rate is Kafka's connection-close-rate.",
    LISTENER,
    f"{SOCKET_JMX} connection-close-total",
)
INCOMING_BYTES = Metric(
    f"{SOCKET}_incoming_byte",
    Kind.COUNTER,
    "Bytes that were received. Its rate is Kafka's incoming-byte-rate.",
    LISTENER,
    f"{SOCKET_JMX} incoming-byte-total",
)
OUTGOING_BYTES = Metric(
    f"{SOCKET}_outgoing_byte",
    Kind.COUNTER,
    "Bytes that were sent. Its rate is Kafka's outgoing-byte-rate.",
    LISTENER,
    f"{SOCKET_JMX} outgoing-byte-total",
)

# ---- what Kafka does not have

BUILD_INFO = Metric("coordinator_build_info", Kind.GAUGE, "1, with the versions as labels.", ("version", "python"))
EPOCH = Metric("coordinator_epoch", Kind.GAUGE, "The number of this start of the node, as in the audit events.")
LOOP_LAG = Metric(
    "coordinator_loop_lag_seconds",
    Kind.HISTOGRAM,
    "How late the event loop was, measured by a timer every 250 ms. While it is late, no client is answered.",
)
REBALANCES = Metric(
    "coordinator_rebalances", Kind.COUNTER, "Rebalances that began, by cause, as in the audit events.", ("cause",)
)
MEMBERS_REMOVED = Metric(
    "coordinator_members_removed",
    Kind.COUNTER,
    "Members that were removed, by cause, as in the audit events.",
    ("cause",),
)
REJECTED = Metric(
    "coordinator_requests_rejected",
    Kind.COUNTER,
    "Requests about groups that were rejected, by API and error: those of which the audit events tell.",
    ("request", "error"),
)
MEMBERS = Metric("coordinator_members", Kind.GAUGE, "Members of all groups.")
SESSIONS = Metric(
    "coordinator_sessions",
    Kind.GAUGE,
    "Sessions: those of members and of member ids that have not joined yet (KIP-394).",
)
TIMERS = Metric("coordinator_timers", Kind.GAUGE, "Timers that run.")
PENDING_REQUESTS = Metric(
    "coordinator_pending_requests",
    Kind.GAUGE,
    "Requests, and parts of requests, about groups that wait for their response, JoinGroup and SyncGroup above all.",
)
CONNECTIONS_REJECTED = Metric(
    "coordinator_connections_rejected",
    Kind.COUNTER,
    "Connections that the server closed because of what came: too many connections, or a request that it cannot read.",
    ("listener",),
)
AUTHORIZATION_DENIED = Metric(
    "coordinator_authorization_denied",
    Kind.COUNTER,
    "Operations that the authorizer denied to clients, by operation and type of resource.",
    ("operation", "resource_type"),
)
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
GROUPS_FAILED = Metric(
    "coordinator_groups_failed",
    Kind.GAUGE,
    "Groups that are not served because they broke an invariant, until they are rebuilt from the log.",
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

# ---- logins

SUCCESSFUL_AUTHENTICATION = Metric(
    f"{SOCKET}_successful_authentication",
    Kind.COUNTER,
    "Connections that logged in by SASL.",
    LISTENER,
    f"{SOCKET_JMX} successful-authentication-total, -rate",
)
FAILED_AUTHENTICATION = Metric(
    f"{SOCKET}_failed_authentication",
    Kind.COUNTER,
    "Connections that tried to log in by SASL and failed.",
    LISTENER,
    f"{SOCKET_JMX} failed-authentication-total, -rate",
)
SUCCESSFUL_REAUTHENTICATION = Metric(
    f"{SOCKET}_successful_reauthentication",
    Kind.COUNTER,
    "Logins that renewed the session of a connection (KIP-368).",
    LISTENER,
    f"{SOCKET_JMX} successful-reauthentication-total, -rate",
)
FAILED_REAUTHENTICATION = Metric(
    f"{SOCKET}_failed_reauthentication",
    Kind.COUNTER,
    "Such logins that failed.",
    LISTENER,
    f"{SOCKET_JMX} failed-reauthentication-total, -rate",
)
EXPIRED_CONNECTIONS_KILLED = Metric(
    f"{SOCKET}_expired_connections_killed_count",
    Kind.COUNTER,
    "Connections that were closed because their session had ended and they did not log in again.",
    LISTENER,
    f"{SOCKET_JMX} expired-connections-killed-count",
)

# ---- single groups

TOP: Final = "For the groups of `metrics.groups.allow` and `metrics.groups.max` only. "
GROUP_STATE = Metric("coordinator_group_state", Kind.GAUGE, f"{TOP}1 for the state of the group.", ("group", "state"))
GROUP_GENERATION = Metric(
    "coordinator_group_generation",
    Kind.GAUGE,
    f"{TOP}Its generation; its group epoch (KIP-848).",
    ("group",),
)
GROUP_MEMBERS = Metric("coordinator_group_members", Kind.GAUGE, f"{TOP}Its members.", ("group",))
GROUP_REBALANCES = Metric(
    "coordinator_group_rebalances",
    Kind.COUNTER,
    f"{TOP}Its rebalances that began since the server started, by cause.",
    ("group", "cause"),
)
GROUP_LAST_REBALANCE = Metric(
    "coordinator_group_last_rebalance_seconds",
    Kind.GAUGE,
    f"{TOP}How long its last rebalance took until it was stable or empty; missing before the first one.",
    ("group",),
)
GROUP_LAG = Metric(
    "coordinator_group_lag",
    Kind.GAUGE,
    f"{TOP}Log end offsets minus committed offsets, summed over its committed partitions; "
    "missing if it has none, or too many to sum up.",
    ("group",),
)

GROUP_LAG_SECONDS = Metric(
    "coordinator_group_lag_seconds",
    Kind.GAUGE,
    f"{TOP}How old the oldest record is that the group has not consumed: the largest "
    "coordinator_group_partition_lag_seconds of its partitions; missing if it has none.",
    ("group",),
)
PARTITION: Final = ("group", "topic", "partition")
GROUP_PARTITION_LAG = Metric(
    "coordinator_group_partition_lag",
    Kind.GAUGE,
    f"{TOP}Log end offset minus committed offset of a partition, below 0 if the committed offset is after the end of "
    "the log, and 0 if only markers of transactions follow it; as long as there are not more than "
    "`metrics.groups.partitions.max`; missing if its log is not open on this node.",
    PARTITION,
)
GROUP_PARTITION_LAG_SECONDS = Metric(
    "coordinator_group_partition_lag_seconds",
    Kind.GAUGE,
    f"{TOP}How old the record at the committed offset of a partition is, by the header of its batch; 0 without lag, "
    "missing if the record has no timestamp or cannot be found by a few reads.",
    PARTITION,
)

# ---- nodes in front of a cluster

CLUSTER_PARTITIONS_LED = Metric(
    "coordinator_cluster_partitions_led",
    Kind.GAUGE,
    "In front of a cluster: partitions of __group_membership that this node leads.",
)
CLUSTER_TAKEOVERS = Metric(
    "coordinator_cluster_takeovers",
    Kind.COUNTER,
    "In front of a cluster: partitions that this node has begun to take over since its start.",
)
CLUSTER_FENCED = Metric(
    "coordinator_cluster_fenced",
    Kind.COUNTER,
    "In front of a cluster: appends of this node that were refused because another node leads the partition.",
)
CLUSTER_LEASES_LOST = Metric(
    "coordinator_cluster_leases_lost",
    Kind.COUNTER,
    "In front of a cluster: how often this node gave up all partitions because no heartbeat to the group of the nodes "
    "was answered in time.",
)
CLUSTER_LEASE_SECONDS = Metric(
    "coordinator_cluster_lease_seconds",
    Kind.GAUGE,
    "In front of a cluster: how long this node may still answer without another heartbeat; 0 without a lease.",
)
CLUSTER_APPEND_TIME_MS = Metric(
    "coordinator_cluster_append_time_ms",
    Kind.HISTOGRAM,
    "In front of a cluster: from the begin of an append of a batch to the acknowledgement of all replicas in sync, of "
    "the audit and of the groups together, in ms.",
)
CLUSTER_GROUPS_OWNED = Metric(
    "coordinator_cluster_groups_owned",
    Kind.GAUGE,
    "In front of a cluster: groups that the nodes own, of the partitions that this node serves.",
)
CLUSTER_SENTINELS_MISSING = Metric(
    "coordinator_cluster_sentinels_missing",
    Kind.GAUGE,
    "In front of a cluster: those of coordinator_cluster_groups_owned whose sentinel is not known to be a member of "
    "the group at the cluster.",
)
CLUSTER_NODES = Metric(
    "coordinator_cluster_nodes", Kind.GAUGE, "In front of a cluster: the nodes that share out the partitions."
)
CLUSTER_BROKERS = Metric(
    "coordinator_cluster_brokers", Kind.GAUGE, "In front of a cluster: the brokers that this node knows."
)
CLUSTER_WATCHED_GROUPS = Metric(
    "coordinator_cluster_watched_groups",
    Kind.GAUGE,
    "With cluster.watch: groups of the cluster that this node tells of; over all nodes, each is counted once.",
)
CLUSTER_WATCHED_REQUESTS = Metric(
    "coordinator_cluster_watched_requests", Kind.COUNTER, "With cluster.watch: requests of watched groups that passed."
)
CLUSTER_WATCHED_UNREADABLE = Metric(
    "coordinator_cluster_watched_unreadable",
    Kind.COUNTER,
    "With cluster.watch: requests and answers that passed and could not be read.",
)
CLUSTER_FACTS_SENT = Metric(
    "coordinator_cluster_facts_sent",
    Kind.COUNTER,
    "With cluster.watch: facts of what passed that this node has appended to __group_sightings.",
)
CLUSTER_FACTS_DROPPED = Metric(
    "coordinator_cluster_facts_dropped",
    Kind.COUNTER,
    "With cluster.watch: facts that were dropped, as there was no room for them; what they would have told is missing.",
)
CLUSTER_FACTS_WAITING = Metric(
    "coordinator_cluster_facts_waiting",
    Kind.GAUGE,
    "With cluster.watch: facts that are still to be appended; those beyond 50,000 are dropped.",
)

# ---- of `coordinator watch`

WATCH_RECORDS = Metric("coordinator_watch_records", Kind.COUNTER, "Records of groups that were read since the start.")
WATCH_COMMITS = Metric("coordinator_watch_commits", Kind.COUNTER, "Committed offsets that were passed over.")
WATCH_LINES = Metric("coordinator_watch_lines", Kind.COUNTER, "Lines of brokers' logs about groups that were read.")
WATCH_EVENTS = Metric("coordinator_watch_events", Kind.COUNTER, "Events that were appended.")
WATCH_GROUPS = Metric("coordinator_watch_groups", Kind.GAUGE, "Groups that are there, as far as they were seen.")
WATCH_HELD = Metric(
    "coordinator_watch_held", Kind.GAUGE, "Records and lines that are held until what belongs before them is read."
)
WATCH_FORCED = Metric(
    "coordinator_watch_forced", Kind.COUNTER, "How often more was held than can be; it was told as it was read."
)
WATCH_READ_AGE_SECONDS = Metric(
    "coordinator_watch_read_age_seconds", Kind.GAUGE, "Since when nothing was read of __consumer_offsets; 0: never."
)
WATCH_POLL_REQUESTS = Metric(
    "coordinator_watch_poll_requests", Kind.COUNTER, "Requests that polls of groups and their lag have sent."
)
WATCH_POLL_SECONDS = Metric(
    "coordinator_watch_poll_seconds", Kind.GAUGE, "How long the last whole poll took, with the pauses in it."
)
WATCH_POLL_AGE_SECONDS = Metric(
    "coordinator_watch_poll_age_seconds", Kind.GAUGE, "Since when no whole poll has begun; 0: never."
)
WATCH_POLL_LEFT_OUT = Metric(
    "coordinator_watch_poll_left_out", Kind.GAUGE, "Groups beyond the most that one poll describes."
)

_ALL: Final = tuple(
    metric
    for value in list(globals().values())
    for metric in (value.values() if value in (NUM_GROUPS_IN, GROUP_COUNT_BY_STATE, REBALANCES_OF_KIND) else (value,))
    if isinstance(metric, Metric)
)
CLUSTER_METRICS: Final = tuple(metric for metric in _ALL if metric.name.startswith("coordinator_cluster_"))
"""Those that only a node in front of a cluster has."""
WATCH_METRICS: Final = tuple(metric for metric in _ALL if metric.name.startswith("coordinator_watch_"))
"""Those that `coordinator watch` has beside those of a node."""
METRICS: Final = tuple(metric for metric in _ALL if metric not in CLUSTER_METRICS and metric not in WATCH_METRICS)
"""Those of every node, in the order of their declaration."""
