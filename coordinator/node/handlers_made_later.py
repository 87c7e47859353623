"""Handlers that are made, and whose modules are imported, for the first request of one of their APIs.

A server that nobody administers does without most of them: it starts faster, and needs less memory.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from _wire.errors import ErrorCode
from coordinator.config.server_keys import NODE_ID
from coordinator.front.dispatch import Handlers, Versions
from coordinator.front.group_context import GroupContext
from coordinator.node.handler_parts import HandlerParts
from coordinator.node.node_context import NodeContext

if TYPE_CHECKING:
    from coordinator.node.handlers.share_offsets import ShareOffsetsHandlers


def _topics(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.topics import TopicHandlers

    return TopicHandlers(
        config=parts.config,
        metadata=parts.storage.metadata,
        topics=parts.storage.topics,
        topics_deleted=partial(_topics_deleted, parts),
        now_ms=parts.loop.now_ms,
    )


def _topics_deleted(parts: HandlerParts, names: Iterable[str]) -> None:
    parts.groups.coordinator.topics_deleted(names)
    parts.shares.coordinator.topics_deleted(parts.loop.now_ms())


def share_offsets(parts: HandlerParts) -> "ShareOffsetsHandlers":
    from coordinator.node.handlers.share_offsets import ShareOffsetsHandlers

    groups, storage = parts.groups, parts.storage

    def end_offset(topic: str, partition: int) -> int | ErrorCode:
        log = storage.partitions.locate(topic, partition)
        return log if isinstance(log, ErrorCode) else log.high_watermark

    context = GroupContext(config=parts.config, coordinator=groups.coordinator, pending=groups.pending)
    return ShareOffsetsHandlers(context, parts.shares.states, storage.image, end_offset)


def _share_state(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.share_state import ShareStateHandlers

    return ShareStateHandlers(parts.shares.states)


def _topic_partitions(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.topic_partitions import TopicPartitionsHandler

    return TopicPartitionsHandler(config=parts.config, image=parts.storage.image, leadership=parts.storage.leadership)


def _replicas(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.replicas import ReplicaHandlers

    storage = parts.storage
    return ReplicaHandlers(image=storage.image, leadership=storage.leadership, node_id=parts.config[NODE_ID])


def _replica_log_dirs(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.replica_log_dirs import ReplicaLogDirsHandler

    return ReplicaLogDirsHandler(parts.storage.replica_moves)


def _delete_records(parts: HandlerParts, node: NodeContext) -> Handlers:
    from coordinator.node.handlers.delete_records import DeleteRecordsHandler

    return DeleteRecordsHandler(node.partitions, parts.storage.flusher)


def _inspection(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.inspection import InspectionHandlers

    storage = parts.storage
    return InspectionHandlers(
        metadata=storage.metadata,
        partitions=storage.partitions,
        replica_moves=storage.replica_moves,
        node_id=parts.config[NODE_ID],
        now_ms=parts.loop.now_ms,
    )


def _quotas(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.quotas import QuotaHandlers

    return QuotaHandlers(
        config=parts.config,
        metadata=parts.storage.metadata,
        throttling=parts.throttling,
        now_ms=parts.loop.now_ms,
    )


def _features(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.features import FeatureHandlers

    return FeatureHandlers(metadata=parts.storage.metadata, node_id=parts.config[NODE_ID], now_ms=parts.loop.now_ms)


def _configs(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.configs import ConfigHandlers

    storage = parts.storage
    return ConfigHandlers(
        config=parts.config,
        image=storage.image,
        metadata=storage.metadata,
        topics=storage.topics,
        now_ms=parts.loop.now_ms,
        certificates=parts.certificates,
        dynamic=storage.dynamic_configs,
    )


def _acls(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.acls import AclHandlers

    return AclHandlers(config=parts.config, metadata=parts.storage.metadata, now_ms=parts.loop.now_ms)


def _sasl(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.sasl import SaslHandlers

    return SaslHandlers()


def _delegation_tokens(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.delegation_tokens import DelegationTokenHandlers

    return DelegationTokenHandlers()


def _scram_credentials(parts: HandlerParts) -> Handlers:
    from coordinator.node.handlers.scram_credentials import ScramCredentialHandlers

    return ScramCredentialHandlers(config=parts.config, metadata=parts.storage.metadata, now_ms=parts.loop.now_ms)


def _transactions(parts: HandlerParts, node: NodeContext) -> Handlers:
    from coordinator.node.handlers.transactions import TransactionHandlers

    return TransactionHandlers(node)


def _transactional_writes(parts: HandlerParts, node: NodeContext) -> Handlers:
    from coordinator.node.handlers.transactional_writes import TransactionalWriteHandlers

    return TransactionalWriteHandlers(node)


def _share(parts: HandlerParts, node: NodeContext) -> Handlers:
    from coordinator.node.handlers.share import ShareHandlers
    from coordinator.node.share_plane import SharePlane

    assert parts.data_plane is not None
    plane = SharePlane(
        parts.config,
        parts.loop,
        parts.storage,
        parts.data_plane.fetch_service,
        parts.shares.states,
        parts.groups.coordinator.report_share_records,
    )
    parts.loop.scheduler.on_due(plane.due)
    parts.shares.meter.measure(plane)
    parts.groups.sessions.shares = plane.steady
    return ShareHandlers(
        plane,
        image=parts.storage.image,
        authorizer=parts.storage.authorizer,
        node_id=parts.config[NODE_ID],
        now_ms=parts.loop.now_ms,
    )


LATER: Final[tuple[tuple[Mapping[str, Versions], Callable[[HandlerParts], Handlers]], ...]] = (
    ({"CreateTopics": (0, 7), "CreatePartitions": (0, 3), "DeleteTopics": (0, 6)}, _topics),
    ({"DescribeTopicPartitions": (0, 0)}, _topic_partitions),
    (
        {
            "InitializeShareGroupState": (0, 0),
            "ReadShareGroupState": (0, 0),
            "WriteShareGroupState": (0, 1),
            "DeleteShareGroupState": (0, 0),
            "ReadShareGroupStateSummary": (0, 1),
        },
        _share_state,
    ),
    (
        {
            "DescribeShareGroupOffsets": (0, 1),
            "AlterShareGroupOffsets": (0, 0),
            "DeleteShareGroupOffsets": (0, 0),
        },
        share_offsets,
    ),
    (
        {"ElectLeaders": (0, 2), "AlterPartitionReassignments": (0, 1), "ListPartitionReassignments": (0, 0)},
        _replicas,
    ),
    ({"AlterReplicaLogDirs": (1, 2)}, _replica_log_dirs),
    ({"DescribeLogDirs": (1, 5), "DescribeQuorum": (0, 2), "ListConfigResources": (0, 1)}, _inspection),
    ({"DescribeClientQuotas": (0, 1), "AlterClientQuotas": (0, 1)}, _quotas),
    ({"UpdateFeatures": (0, 2)}, _features),
    ({"DescribeConfigs": (0, 4), "AlterConfigs": (0, 2), "IncrementalAlterConfigs": (0, 1)}, _configs),
    ({"DescribeAcls": (1, 3), "CreateAcls": (1, 3), "DeleteAcls": (1, 3)}, _acls),
    ({"SaslHandshake": (0, 1), "SaslAuthenticate": (0, 2)}, _sasl),
    (
        {
            "CreateDelegationToken": (1, 3),
            "RenewDelegationToken": (1, 2),
            "ExpireDelegationToken": (1, 2),
            "DescribeDelegationToken": (1, 3),
        },
        _delegation_tokens,
    ),
    ({"DescribeUserScramCredentials": (0, 0), "AlterUserScramCredentials": (0, 0)}, _scram_credentials),
)
"""The versions of APIs, and what makes their handlers."""

LATER_WITH_DATA_PLANE: Final[
    tuple[tuple[Mapping[str, Versions], Callable[[HandlerParts, NodeContext], Handlers]], ...]
] = (
    ({"DeleteRecords": (0, 2)}, _delete_records),
    ({"ShareFetch": (1, 2), "ShareAcknowledge": (1, 2)}, _share),
    (
        {
            "InitProducerId": (0, 5),
            "AddPartitionsToTxn": (0, 5),
            "AddOffsetsToTxn": (0, 4),
            "EndTxn": (0, 5),
            "DescribeTransactions": (0, 0),
            "ListTransactions": (0, 2),
        },
        _transactions,
    ),
    ({"TxnOffsetCommit": (0, 5), "WriteTxnMarkers": (1, 2), "DescribeProducers": (0, 0)}, _transactional_writes),
)
"""The same for APIs that need the data plane. InitProducerId v6 is for two-phase commits (KIP-939), not yet in 4.3."""
