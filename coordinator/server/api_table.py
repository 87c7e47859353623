"""The table of all APIs that the server answers."""

import msgspec

from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.server.data_plane import DataPlane
from coordinator.server.dispatch import DispatchTable
from coordinator.server.group_parts import GroupParts
from coordinator.server.handlers.acls import AclHandlers
from coordinator.server.handlers.certificate_reload import CertificateReload
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
from coordinator.server.handlers.sasl import SaslHandlers
from coordinator.server.handlers.scram_credentials import ScramCredentialHandlers
from coordinator.server.handlers.topic_partitions import TopicPartitionsHandler
from coordinator.server.handlers.topics import TopicHandlers
from coordinator.server.handlers.transactional_writes import TransactionalWriteHandlers
from coordinator.server.handlers.transactions import TransactionHandlers
from coordinator.server.node_context import GroupContext, NodeContext
from coordinator.server.node_loop import NodeLoop
from coordinator.server.storage import Storage
from coordinator.server.throttling import Throttling


class HandlerParts(msgspec.Struct, frozen=True, kw_only=True):
    """All that handlers may need; each is given what it uses."""

    config: Config
    loop: NodeLoop
    storage: Storage
    groups: GroupParts
    data_plane: DataPlane | None
    throttling: Throttling
    certificates: CertificateReload


def dispatch_table(parts: HandlerParts) -> DispatchTable:
    """Everything this server answers; without a data plane, what a node of groups alone does."""
    table = DispatchTable()
    _add_groups(table, parts)
    _add_cluster(table, parts)
    _add_configs(table, parts)
    if parts.data_plane is not None:
        _add_data_plane(table, parts, parts.data_plane)
    return table


def _add_groups(table: DispatchTable, parts: HandlerParts) -> None:
    groups = parts.groups
    GroupHandlers(GroupContext(config=parts.config, coordinator=groups.coordinator, pending=groups.pending)).add_to(
        table
    )


def _add_cluster(table: DispatchTable, parts: HandlerParts) -> None:
    config, storage, plane = parts.config, parts.storage, parts.data_plane
    node_id, now_ms = config[NODE_ID], parts.loop.now_ms
    ClusterHandlers(
        table.routes,
        cluster_id=storage.directories.cluster_id,
        config=config,
        image=storage.image,
        metadata=storage.metadata,
        leadership=storage.leadership,
        topics=storage.topics,
        start_transactions=None if plane is None else plane.start_transactions,
        now_ms=now_ms,
    ).add_to(table)
    TopicHandlers(
        config=config,
        metadata=storage.metadata,
        topics=storage.topics,
        topics_deleted=parts.groups.coordinator.topics_deleted,
        now_ms=now_ms,
    ).add_to(table)
    TopicPartitionsHandler(config=config, image=storage.image, leadership=storage.leadership).add_to(table)
    ReplicaHandlers(image=storage.image, leadership=storage.leadership, node_id=node_id).add_to(table)
    ReplicaLogDirsHandler(storage.replica_moves).add_to(table)
    InspectionHandlers(
        metadata=storage.metadata,
        partitions=storage.partitions,
        replica_moves=storage.replica_moves,
        node_id=node_id,
        now_ms=now_ms,
    ).add_to(table)


def _add_configs(table: DispatchTable, parts: HandlerParts) -> None:
    config, storage, now_ms = parts.config, parts.storage, parts.loop.now_ms
    QuotaHandlers(config=config, metadata=storage.metadata, throttling=parts.throttling, now_ms=now_ms).add_to(table)
    FeatureHandlers(metadata=storage.metadata, node_id=config[NODE_ID], now_ms=now_ms).add_to(table)
    ConfigHandlers(
        config=config,
        image=storage.image,
        metadata=storage.metadata,
        topics=storage.topics,
        now_ms=now_ms,
        certificates=parts.certificates,
        dynamic=storage.dynamic_configs,
    ).add_to(table)
    AclHandlers(config=config, metadata=storage.metadata, now_ms=now_ms).add_to(table)
    SaslHandlers().add_to(table)
    ScramCredentialHandlers(config=config, metadata=storage.metadata, now_ms=now_ms).add_to(table)


def _add_data_plane(table: DispatchTable, parts: HandlerParts, plane: DataPlane) -> None:
    storage, groups = parts.storage, parts.groups
    context = NodeContext(
        config=parts.config,
        coordinator=groups.coordinator,
        pending=groups.pending,
        metadata=storage.metadata,
        producer_ids=storage.producer_ids,
        partitions=storage.partitions,
        transactions=plane.transactions,
        partition_adder=plane.partition_adder,
        marker_writer=plane.marker_writer,
        produce_service=plane.produce_service,
        load_producers=plane.load_producers,
        now_ms=parts.loop.now_ms,
    )
    DataHandlers(
        context,
        image=storage.image,
        flusher=storage.flusher,
        fetch_service=plane.fetch_service,
        recompression_threads=plane.recompression_threads,
        slices=parts.loop.slices,
        wall_ms=parts.loop.wall_ms,
    ).add_to(table)
    DeleteRecordsHandler(storage.partitions, storage.flusher).add_to(table)
    TransactionHandlers(context).add_to(table)
    TransactionalWriteHandlers(context).add_to(table)
