"""The table of all APIs that the server answers."""

from coordinator.server.dispatch import DispatchTable
from coordinator.server.handlers.cluster import ClusterHandlers
from coordinator.server.handlers.configs import ConfigHandlers
from coordinator.server.handlers.data import DataHandlers
from coordinator.server.handlers.delete_records import DeleteRecordsHandler
from coordinator.server.handlers.features import FeatureHandlers
from coordinator.server.handlers.groups import GroupHandlers
from coordinator.server.handlers.inspection import InspectionHandlers
from coordinator.server.handlers.quotas import QuotaHandlers
from coordinator.server.handlers.replica_log_dirs import ReplicaLogDirsHandler
from coordinator.server.handlers.replicas import ReplicaHandlers
from coordinator.server.handlers.security import SecurityHandlers
from coordinator.server.handlers.topic_partitions import TopicPartitionsHandler
from coordinator.server.handlers.topics import TopicHandlers
from coordinator.server.handlers.transactional_writes import TransactionalWriteHandlers
from coordinator.server.handlers.transactions import TransactionHandlers
from coordinator.server.node_context import NodeContext


def dispatch_table(broker: NodeContext) -> tuple[DispatchTable, ClusterHandlers]:
    """Everything this server answers."""
    table = DispatchTable()
    cluster = ClusterHandlers(broker)
    families = (
        cluster,
        GroupHandlers(broker),
        TopicHandlers(broker),
        DataHandlers(broker),
        QuotaHandlers(broker),
        FeatureHandlers(broker),
        ConfigHandlers(broker),
        DeleteRecordsHandler(broker),
        TopicPartitionsHandler(broker),
        ReplicaHandlers(broker),
        ReplicaLogDirsHandler(broker),
        InspectionHandlers(broker),
        SecurityHandlers(),
        TransactionHandlers(broker),
        TransactionalWriteHandlers(broker),
    )
    for handlers in families:
        handlers.add_to(table)
    return table, cluster
