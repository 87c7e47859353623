"""The metrics that only a node in front of a cluster has."""

from typing import Final

from coordinator.metrics.metric import Kind, Metric, declared

PARTITIONS_LED = Metric(
    "coordinator_cluster_partitions_led",
    Kind.GAUGE,
    "In front of a cluster: partitions of __group_membership that this node leads.",
)
TAKEOVERS = Metric(
    "coordinator_cluster_takeovers",
    Kind.COUNTER,
    "In front of a cluster: partitions that this node has begun to take over since its start.",
)
FENCED = Metric(
    "coordinator_cluster_fenced",
    Kind.COUNTER,
    "In front of a cluster: appends of this node that were refused because another node leads the partition.",
)
LEASES_LOST = Metric(
    "coordinator_cluster_leases_lost",
    Kind.COUNTER,
    "In front of a cluster: how often this node gave up all partitions because no heartbeat to the group of the nodes "
    "was answered in time.",
)
LEASE_SECONDS = Metric(
    "coordinator_cluster_lease_seconds",
    Kind.GAUGE,
    "In front of a cluster: how long this node may still answer without another heartbeat; 0 without a lease.",
)
APPEND_TIME_MS = Metric(
    "coordinator_cluster_append_time_ms",
    Kind.HISTOGRAM,
    "In front of a cluster: from the begin of an append of a batch to the acknowledgement of all replicas in sync, of "
    "the audit and of the groups together, in ms.",
)
GROUPS_OWNED = Metric(
    "coordinator_cluster_groups_owned",
    Kind.GAUGE,
    "In front of a cluster: groups that the nodes own, of the partitions that this node serves.",
)
SENTINELS_MISSING = Metric(
    "coordinator_cluster_sentinels_missing",
    Kind.GAUGE,
    "In front of a cluster: those of coordinator_cluster_groups_owned whose sentinel is not known to be a member of "
    "the group at the cluster.",
)
NODES = Metric(
    "coordinator_cluster_nodes", Kind.GAUGE, "In front of a cluster: the nodes that share out the partitions."
)
BROKERS = Metric("coordinator_cluster_brokers", Kind.GAUGE, "In front of a cluster: the brokers that this node knows.")
WATCHED_GROUPS = Metric(
    "coordinator_cluster_watched_groups",
    Kind.GAUGE,
    "With cluster.watch: groups of the cluster that this node tells of; over all nodes, each is counted once.",
)
WATCHED_REQUESTS = Metric(
    "coordinator_cluster_watched_requests", Kind.COUNTER, "With cluster.watch: requests of watched groups that passed."
)
WATCHED_UNREADABLE = Metric(
    "coordinator_cluster_watched_unreadable",
    Kind.COUNTER,
    "With cluster.watch: requests and answers that passed and could not be read.",
)
FACTS_SENT = Metric(
    "coordinator_cluster_facts_sent",
    Kind.COUNTER,
    "With cluster.watch: facts of what passed that this node has appended to __group_sightings.",
)
FACTS_DROPPED = Metric(
    "coordinator_cluster_facts_dropped",
    Kind.COUNTER,
    "With cluster.watch: facts that were dropped, as there was no room for them; what they would have told is missing.",
)
FACTS_WAITING = Metric(
    "coordinator_cluster_facts_waiting",
    Kind.GAUGE,
    "With cluster.watch: facts that are still to be appended; those beyond 50,000 are dropped.",
)

METRICS: Final = declared(globals())
