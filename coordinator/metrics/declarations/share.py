"""Records of share groups, and their states."""

from typing import Final

from coordinator.metrics.metric import Kind, Metric, declared

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

METRICS: Final = declared(globals())
