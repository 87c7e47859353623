"""Groups, their partitions, and the coordinator that serves them."""

from typing import Final

from coordinator.core.groups.kind import CLASSIC_NAME, CONSUMER_NAME, SHARE_NAME, STREAMS_NAME
from coordinator.core.kinds.table import KINDS
from coordinator.metrics.metric import Kind, Metric, declared

GROUP: Final = "kafka_server_group_coordinator_metrics"
GROUP_JMX: Final = "kafka.server:type=group-coordinator-metrics"
MANAGER: Final = "kafka_coordinator_group_groupmetadatamanager"
MANAGER_JMX: Final = "kafka.coordinator.group:type=GroupMetadataManager,name="

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

# ---- what Kafka does not have

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
PENDING_REQUESTS = Metric(
    "coordinator_pending_requests",
    Kind.GAUGE,
    "Requests, and parts of requests, about groups that wait for their response, JoinGroup and SyncGroup above all.",
)
GROUPS_FAILED = Metric(
    "coordinator_groups_failed",
    Kind.GAUGE,
    "Groups that are not served because they broke an invariant, until they are rebuilt from the log.",
)

METRICS: Final = declared(globals())
