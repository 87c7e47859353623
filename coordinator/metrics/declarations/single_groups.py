"""Single groups, as many as may have series of their own."""

from typing import Final

from coordinator.metrics.metric import Kind, Metric, declared

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

METRICS: Final = declared(globals())
