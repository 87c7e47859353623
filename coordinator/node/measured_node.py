"""What a node has that is read at each scrape. The library of the metrics is imported only where there are any."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.node.data_plane import DataPlane
from coordinator.node.storage import Storage

if TYPE_CHECKING:
    from coordinator.metrics.declarations import Metric
    from coordinator.metrics.histogram import Samples
    from coordinator.metrics.node_metrics import NodeMetrics


def measure_node(
    metrics: "NodeMetrics",
    loop: NodeLoop,
    storage: Storage,
    groups: GroupParts,
    *,
    data_plane: DataPlane | None,
    denials: Mapping[tuple[str, str], int],
    more: "Callable[[], Iterable[tuple[Metric, Samples]]]",
    not_ready_because: Callable[[], str],
) -> None:
    """Have a node read at each scrape. `more`: what only some nodes have."""
    from coordinator.metrics.node_metrics import Measured

    partitions = storage.partitions
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
            transactions=_no_transactions if data_plane is None else data_plane.transactions.counts,
            oldest_transactions=_no_producers if data_plane is None else data_plane.producers.oldest_transactions,
            now_ms=loop.now_ms,
            wall_ms=loop.wall_ms,
            compaction=storage.cleaner.counts,
            denials=denials,
            offline_log_directories=lambda: len(storage.directories.offline_paths()),
            more=more,
            not_ready_because=not_ready_because,
        )
    )


def _no_transactions() -> tuple[int, int, int, int]:
    return 0, 0, 0, 0


def _no_producers() -> Iterator[int | None]:
    return iter(())
