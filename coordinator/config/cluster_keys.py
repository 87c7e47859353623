"""The keys of a node in front of an existing cluster. Kafka has no counterpart, but for those of the topics."""

from collections.abc import Sequence

from coordinator.config.key import INT16_MAX, INT32_MAX, INT64_MAX, PARTITIONS_MAX, ConfigKey
from coordinator.config.password import NO_PASSWORD

CLUSTER_BOOTSTRAP_SERVERS = ConfigKey(
    "cluster.bootstrap.servers",
    "",
    "The brokers of an existing Kafka cluster in front of which this node coordinates groups, as HOST:PORT with commas "
    "between. If empty, the node has logs of its own.",
)
CLUSTER_COMMAND_CONFIG = ConfigKey(
    "cluster.command.config",
    "",
    "A file with the settings by which this node connects to the cluster, as Kafka's clients have them: "
    "`security.protocol`, `ssl.*`, `sasl.*`. If empty, the connections are PLAINTEXT. To other nodes it connects with "
    "the same login and stores, and with TLS if its own listener has TLS.",
)
CLUSTER_NODES_GROUP_ID = ConfigKey(
    "cluster.nodes.group.id",
    "__group_coordinator_nodes",
    "The consumer group of the cluster by which the nodes share out the partitions of `__group_membership`. Nodes in "
    "front of the same cluster have the same one.",
)
CLUSTER_NODES_SECRET = ConfigKey(
    "cluster.nodes.secret",
    NO_PASSWORD,
    "A secret that all nodes in front of the same cluster share, by which they know each other: at least 32 random "
    "characters. If empty, it is the password with which a node logs in by PLAIN or SCRAM; without one, any client "
    "that may READ the nodes' group is taken for a node.",
)
CLUSTER_NODE_ID_BASE = ConfigKey(
    "cluster.node.id.base",
    1_000_000,
    "Clients see this node as the broker of this id plus `node.id`. No broker may have such an id.",
    1,
    INT32_MAX // 2,
)
CLUSTER_BROKER_PORT_BASE = ConfigKey(
    "cluster.broker.port.base",
    19_100,
    "Clients reach each broker through this node at the port that is this plus the id of the broker.",
    1,
    65_535,
)
CLUSTER_REQUEST_TIMEOUT_MS = ConfigKey(
    "cluster.request.timeout.ms",
    30_000,
    "How long a broker may take to answer this node, in milliseconds, before the connection is closed and the request "
    "is sent again. Kafka's clients: request.timeout.ms.",
    1_000,
    INT32_MAX,
)
MEMBERSHIP_TOPIC_NUM_PARTITIONS = ConfigKey(
    "membership.topic.num.partitions",
    50,
    "The partitions of `__group_membership` and `__group_audit` if this node creates them. It cannot be changed later, "
    "as the partition of a group follows from its id.",
    1,
    PARTITIONS_MAX,
)
MEMBERSHIP_TOPIC_REPLICATION_FACTOR = ConfigKey(
    "membership.topic.replication.factor",
    3,
    "The replicas of `__group_membership` and `__group_audit` if this node creates them.",
    1,
    INT16_MAX,
)
MEMBERSHIP_TOPIC_MIN_ISR = ConfigKey(
    "membership.topic.min.isr",
    2,
    "`min.insync.replicas` of `__group_membership` and `__group_audit` if this node creates them.",
    1,
    INT16_MAX,
)
AUDIT_TOPIC_RETENTION_MS = ConfigKey(
    "audit.topic.retention.ms",
    7 * 24 * 3_600_000,
    "`retention.ms` of `__group_audit` if this node creates it in a cluster; -1 keeps everything.",
    -1,
    INT64_MAX,
)
CLUSTER_ADOPT: ConfigKey[Sequence[str]] = ConfigKey(
    "cluster.adopt",
    (),
    "Groups that are coordinated here from the first start on: ids, or patterns with * and ?. Others stay with the "
    "cluster until `coordinator cluster adopt`.",
)
CLUSTER_WATCH: ConfigKey[Sequence[str]] = ConfigKey(
    "cluster.watch",
    (),
    "Groups that stay with the cluster and are told of in the audit, by what passes and by the records of the cluster: "
    "ids, or patterns with * and ?. All nodes in front of the same cluster have the same ones.",
)
