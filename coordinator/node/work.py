"""What a node does without being asked: it flushes, deletes what is old, compacts, loads its groups."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from coordinator.broker.retention import Retention
from coordinator.front.wall_clock import WallClockWatch
from coordinator.groups.audit_retention import AuditRetention
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.node.groups import load_groups

if TYPE_CHECKING:
    from coordinator.node.node import Node


def begin_coordinating(node: "Node") -> None:
    """Begin all of it, for a node that coordinates groups.

    Of the audit topic, retention never deletes the last events of a live group.
    """
    coordinator, loop, storage = node.groups.coordinator, node.loop, node.storage
    audit = AuditRetention(
        coordinator.shards,
        lambda shard: coordinator.audit.request_snapshots(shard, loop.now_ms()),
        storage.flusher.request_flush,
    )
    keep_logs(node, audit.retained_from)
    storage.replica_moves.resume_interrupted()
    load_groups(coordinator, storage.partitions)
    node.shares.start()
    if node.data_plane is not None:
        node.data_plane.start_transactions()


def keep_logs(node: "Node", audit_retained_from: Callable[[PartitionLog, int], int]) -> None:
    """Begin the work on logs, and follow the wall clock.

    `audit_retained_from` is asked for the offset from which a partition of the audit topic is kept, at a time of the
    wall clock in ms.
    """
    loop, storage = node.loop, node.storage
    storage.flusher.start(loop.now_ms())
    retention = Retention(
        storage.image,
        storage.partitions,
        node.config,
        loop.scheduler,
        store_start_offsets=storage.flusher.store_log_start_offsets,
        wall_ms=loop.wall_ms,
        audit_retained_from=audit_retained_from,
    )
    retention.start(loop.now_ms())
    loop.scheduler.on_due(retention.due)
    storage.cleaner.start()
    if node.follows_wall_clock:
        watch = WallClockWatch(loop.scheduler, loop.wall)
        watch.start(loop.now_ms())
        loop.scheduler.on_due(watch.due)
