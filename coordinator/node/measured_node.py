"""What a node has that is read at each scrape. The library of the metrics is imported only where there are any."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.node.data_plane import DataPlane
from coordinator.node.storage import Storage

if TYPE_CHECKING:
    from coordinator.metrics.histogram import Samples
    from coordinator.metrics.metric import Metric
    from coordinator.metrics.node_metrics import NodeMetrics


def measure_node(
    metrics: "NodeMetrics",
    loop: NodeLoop,
    storage: Storage,
    groups: GroupParts,
    *,
    data_plane: DataPlane | None,
    not_ready_because: Callable[[], str],
) -> None:
    """Have a node read at each scrape."""
    from coordinator.metrics.node_metrics import Measured

    partitions = storage.partitions
    metrics.register(partial(_of_storage, storage))
    if data_plane is not None:
        metrics.register(partial(_of_transactions, data_plane))
    metrics.measure(
        Measured(
            coordinator=groups.coordinator,
            coordinator_epoch=groups.coordinator_epoch,
            sessions=groups.sessions,
            wheel=loop.wheel,
            pending=groups.pending.unanswered,
            leads=partitions.leads,
            timestamp_at=partitions.timestamp_at,
            log_bytes=lambda topic, partition: partitions.get(topic, partition).size_bytes,
            oldest_transactions=_no_producers if data_plane is None else data_plane.producers.oldest_transactions,
            now_ms=loop.now_ms,
            wall_ms=loop.wall_ms,
            not_ready_because=not_ready_because,
        )
    )


def _of_storage(storage: Storage) -> "Iterator[tuple[Metric, Samples]]":
    from coordinator.metrics.declarations import node as d

    compaction = storage.cleaner.counts
    yield d.COMPACTIONS, [((), compaction.cleanings)]
    yield d.COMPACTED_BYTES, [((), compaction.bytes_before)]
    yield d.COMPACTED_BYTES_KEPT, [((), compaction.bytes_after)]
    yield d.UNCLEANABLE_LOGS, [((), compaction.uncleanable)]
    yield d.OFFLINE_LOG_DIRECTORIES, [((), len(storage.directories.offline_paths()))]


def _of_transactions(data_plane: DataPlane) -> "Iterator[tuple[Metric, Samples]]":
    from coordinator.metrics.declarations import node as d

    metrics = d.TRANSACTIONAL_IDS, d.TRANSACTIONS_OPEN, d.TRANSACTIONS_ENDING, d.TRANSACTIONS_TIMED_OUT
    for metric, count in zip(metrics, data_plane.transactions.counts(), strict=True):
        yield metric, [((), count)]


def _no_producers() -> Iterator[int | None]:
    return iter(())
