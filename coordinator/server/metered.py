"""The admin port and the meters of a node. Their libraries are imported only where there is a port (admin.listener)."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.settings import Config
from coordinator.runtime.shard import Shard

if TYPE_CHECKING:
    from coordinator.admin.port import AdminPort
    from coordinator.metrics.node_metrics import NodeMetrics


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
