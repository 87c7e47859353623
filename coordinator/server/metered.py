"""The admin port and the meters of a node. Their libraries are imported only where there is a port (admin.listener)."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.settings import Config
from coordinator.extras import needs
from coordinator.inherited_sockets import InheritedSockets
from coordinator.runtime.shard import Shard

if TYPE_CHECKING:
    from coordinator.admin.port import AdminPort
    from coordinator.metrics.node_metrics import NodeMetrics


def bind_admin(
    config: Config, log_lines_dropped: Callable[[], int], inherited: InheritedSockets
) -> "tuple[AdminPort, NodeMetrics]":
    """Bind the admin port, unless its socket is inherited, and make the meters of the node.

    Raises:
        ConfigError: the address or the groups cannot be used, or a library is missing.
        ListenError: the address cannot be bound.
    """
    check_admin(config)
    from coordinator.admin.port import AdminPort
    from coordinator.metrics.node_metrics import NodeMetrics

    metrics = NodeMetrics(config, log_lines_dropped)
    return AdminPort(config, inherited), metrics


def check_admin(config: Config) -> None:
    """Check that the libraries of the admin port are there, if the settings have one. Raises ConfigError."""
    if not config[ADMIN_LISTENER]:
        return
    try:
        import coordinator.admin.port
        import coordinator.metrics.node_metrics  # noqa: F401
    except ModuleNotFoundError as missing:
        raise ConfigError(needs(ADMIN_LISTENER.name, missing)) from None


def metered_shard(metrics: "NodeMetrics") -> Callable[..., Shard[Any]]:
    from coordinator.metrics.runtime_meter import MeteredShard

    return partial(MeteredShard, meter=metrics.runtime)
