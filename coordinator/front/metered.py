"""The admin port and the meters of a node. Their libraries are imported only where there is a port (admin.listener)."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.settings import Config
from coordinator.extras import needs
from coordinator.inherited_sockets import InheritedSockets
from coordinator.runtime.shard import Shard

if TYPE_CHECKING:
    from coordinator.admin.port import AdminPort, MakeRoutes, Secure
    from coordinator.metrics.node_metrics import NodeMetrics

LIBRARIES: Final = ("uvicorn", "starlette", "prometheus_client")
"""They are imported with the first connection to the port."""


class MeteredAdmin:
    """The admin port of a node, and the meters that it shows."""

    def __init__(self, port: "AdminPort", metrics: "NodeMetrics") -> None:
        self._port = port
        self.metrics: Final = metrics
        self.address: Final = port.address
        self._is_serving = False

    def serve(self, routes: "MakeRoutes", secure: "Secure | None") -> None:
        """Accept connections; the node has its parts, and the meters read them."""
        self._is_serving = True
        self._port.start(self.metrics, routes, secure=secure)

    async def stop(self) -> None:
        """Close the port when the requests under way are answered, or at once if the node never served any."""
        if self._is_serving:
            await self._port.stop()
            self.metrics.loop.stop()
        else:
            self._port.close()

    def close(self) -> None:
        """Close the port at once."""
        self._port.close()
        if self._is_serving:
            self.metrics.loop.stop()


def bind_admin(config: Config, log_lines_dropped: Callable[[], int], inherited: InheritedSockets) -> MeteredAdmin:
    """Bind the admin port, unless its socket is inherited, and make the meters of the node.

    Raises:
        ConfigError: the address or the groups cannot be used, or a library is missing.
        ListenError: the address cannot be bound.
    """
    check_admin(config)
    from coordinator.admin.port import AdminPort
    from coordinator.metrics.node_metrics import NodeMetrics

    metrics = NodeMetrics(config, log_lines_dropped)
    return MeteredAdmin(AdminPort(config, inherited), metrics)


def check_admin(config: Config) -> None:
    """Check that the libraries of the admin port are there, if the settings have one. Raises ConfigError."""
    if not config[ADMIN_LISTENER]:
        return
    try:
        find_libraries()
    except ModuleNotFoundError as missing:
        raise ConfigError(needs(ADMIN_LISTENER.name, missing)) from None


def find_libraries() -> None:
    """Find the libraries of the admin port, and import none of them. Raises ModuleNotFoundError."""
    for library in LIBRARIES:
        if find_spec(library) is None:
            raise ModuleNotFoundError(f"No module named {library!r}", name=library)


def metered_shard(metrics: "NodeMetrics") -> Callable[..., Shard[Any]]:
    from coordinator.metrics.runtime_meter import MeteredShard

    return partial(MeteredShard, meter=metrics.runtime)
