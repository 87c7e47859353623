"""The admin port and the meters of a node. Their libraries are imported only where there is a port (admin.listener)."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.settings import Config
from coordinator.runtime.shard import Shard

if TYPE_CHECKING:
    from coordinator.admin.port import AdminPort
    from coordinator.metrics.node_metrics import NodeMetrics
    from coordinator.server.data_plane import DataPlane
    from coordinator.server.group_parts import GroupParts
    from coordinator.server.node_loop import NodeLoop
    from coordinator.server.storage import Storage


def bind_admin(config: Config, log_lines_dropped: Callable[[], int]) -> "tuple[AdminPort, NodeMetrics]":
    """Bind the admin port, and make the meters of the node.

    Raises:
        ConfigError: the address or the groups cannot be used, or a library is missing.
        ListenError: the address cannot be bound.
    """
    try:
        from coordinator.admin.port import AdminPort
        from coordinator.metrics.node_metrics import NodeMetrics
    except ModuleNotFoundError as missing:
        library = str(missing.name).partition(".")[0]
        raise ConfigError(
            f"{ADMIN_LISTENER.name}: {library} is missing: install kafka-group-coordinator with the extra admin"
        ) from missing
    metrics = NodeMetrics(config, log_lines_dropped)
    return AdminPort(config), metrics


def metered_shard(metrics: "NodeMetrics") -> Callable[..., Shard[Any]]:
    from coordinator.metrics.runtime_meter import MeteredShard

    return partial(MeteredShard, meter=metrics.runtime)


def measure_node(
    metrics: "NodeMetrics", loop: "NodeLoop", storage: "Storage", groups: "GroupParts", data_plane: "DataPlane | None"
) -> None:
    """Have a node read at each scrape."""
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
            offline_log_directories=lambda: len(storage.directories.offline_paths()),
        )
    )


def _no_transactions() -> tuple[int, int, int, int]:
    return 0, 0, 0, 0


def _no_producers() -> Iterator[int | None]:
    return iter(())
