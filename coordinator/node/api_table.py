"""The table of all APIs that the server answers."""

from collections.abc import Iterable
from functools import partial

from _wire.errors import ErrorCode
from coordinator.front.dispatch import DispatchTable
from coordinator.front.group_context import GroupContext
from coordinator.front.handlers.groups import GroupHandlers
from coordinator.front.request_context import RequestContext
from coordinator.node.data_plane import DataPlane
from coordinator.node.handler_parts import HandlerParts
from coordinator.node.handlers.cluster import ClusterHandlers
from coordinator.node.handlers.data import DataHandlers
from coordinator.node.handlers_made_later import LATER, LATER_WITH_DATA_PLANE, share_offsets
from coordinator.node.node_context import NodeContext
from coordinator.node.requirements import REQUIREMENTS
from coordinator.runtime.slices import Steps


def dispatch_table(parts: HandlerParts) -> DispatchTable:
    """Everything this server answers; without a data plane, what a node of groups alone does.

    What nearly all clients ask for has its handlers from the start; those of the rest are made for the first request.
    """
    table = DispatchTable(REQUIREMENTS)
    groups = parts.groups
    context = GroupContext(config=parts.config, coordinator=groups.coordinator, pending=groups.pending)
    handlers = GroupHandlers(context, partial(_delete_states, parts))
    handlers.add_to(table)
    handlers.add_share_to(table)
    handlers.add_streams_to(table)
    _add_cluster(table, parts)
    for versions, make in LATER:
        table.add_later(versions, partial(make, parts))
    if parts.data_plane is not None:
        _add_data_plane(table, parts, parts.data_plane)
    return table


def _delete_states(parts: HandlerParts, group_ids: Iterable[str], call: RequestContext) -> Steps[dict[str, ErrorCode]]:
    """Delete the states of share groups. Few servers are ever asked for that."""
    return share_offsets(parts).delete_all_states(group_ids, call)


def _add_cluster(table: DispatchTable, parts: HandlerParts) -> None:
    storage, plane = parts.storage, parts.data_plane
    ClusterHandlers(
        table.served,
        cluster_id=storage.directories.cluster_id,
        config=parts.config,
        image=storage.image,
        metadata=storage.metadata,
        leadership=storage.leadership,
        topics=storage.topics,
        start_transactions=None if plane is None else plane.start_transactions,
        make_share_topic=parts.shares.make_topic,
        now_ms=parts.loop.now_ms,
    ).add_to(table)


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
    for versions, make in LATER_WITH_DATA_PLANE:
        table.add_later(versions, partial(make, parts, context))
