"""A node, wherever its home is: its loop, the groups that it coordinates, and its front, from start to stop."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from coordinator.audit.schema import CoordinatorPaused, CoordinatorStopped
from coordinator.config.metrics_keys import ADMIN_LISTENER
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.front.front import Front
from coordinator.front.group_parts import GroupParts
from coordinator.front.host import Host
from coordinator.front.metered import MeteredAdmin, bind_admin
from coordinator.front.node_loop import NodeLoop
from coordinator.front.security_warnings import security_warnings
from coordinator.log.errors import LogError
from coordinator.logger import logger

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics


class ServingNode(ABC):
    """Made and started in a running loop, stopped once. The home of a node starts and stops what it is made of."""

    groups: GroupParts
    front: Front
    """The parts of a node that has been started."""

    def __init__(self, config: Config, host: Host, log_lines_dropped: Callable[[], int]) -> None:
        """`log_lines_dropped` is only for the metrics."""
        self._config = config
        self._log_lines_dropped = log_lines_dropped
        self._inherited = host.inherited
        self._admin: MeteredAdmin | None = None
        self.loop: Final = NodeLoop(host)

    @abstractmethod
    async def start(self) -> None:
        """Serve when this returns. Raises ConfigError, ListenError, and what its home raises."""

    @abstractmethod
    async def stop(self) -> None:
        """Serve nobody any more, and keep all that was acknowledged. Raises LogError."""

    @property
    def failure(self) -> "asyncio.Future[LogError]":
        """Done when the process must end without a stop (NodeLoop.failure)."""
        return self.loop.failure

    @property
    def config(self) -> Config:
        """The settings, some of which can change while the node runs."""
        return self._config

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of the first listener, as it is advertised to clients."""
        first = self.front.listeners.endpoints[0]
        return f"{first.host}:{first.port}"

    @property
    def admin(self) -> str | None:
        """HOST:PORT of the admin port; None when there is none."""
        return None if self._admin is None else self._admin.address

    @property
    def metrics(self) -> "NodeMetrics | None":
        """Those of the admin port; None when there is none."""
        return None if self._admin is None else self._admin.metrics

    def _bind_admin(self) -> None:
        """Bind the admin port, if there is to be one. Raises ConfigError and ListenError."""
        if self._config[ADMIN_LISTENER]:
            self._admin = bind_admin(self._config, self._log_lines_dropped, self._inherited)

    def _warn_about_security(self) -> None:
        for warning in security_warnings(self._config, self.front.listeners.listeners):
            logger.warning("security", problem=warning)

    def stood_still(self, seconds: float, pause_kind: str) -> None:
        """The event loop stood still until now: whom it did not hear meanwhile need not have been silent."""
        until_ms = self.loop.now_ms()
        self._paused(until_ms - round(seconds * 1000), until_ms, pause_kind)

    def _paused(self, from_ms: int, until_ms: int, pause_kind: str) -> CoordinatorPaused:
        """Report a pause, whose times are those of deadlines."""
        wall = self.loop.wall
        paused = CoordinatorPaused(
            time_ms=0, from_ms=wall.at(from_ms), until_ms=wall.at(until_ms), pause_kind=pause_kind, **self._identity
        )
        self.groups.pauses.add(from_ms, until_ms)
        self.groups.coordinator.report(paused)
        return paused

    def _stopped(self) -> CoordinatorStopped:
        return CoordinatorStopped(time_ms=0, **self._identity)

    @property
    def _identity(self) -> dict[str, Any]:
        return {"node_id": self._config[NODE_ID], "coordinator_epoch": self.groups.coordinator_epoch}

    def _close_connections(self) -> None:
        for connection in list(self.front.dispatcher.connections):
            connection.close()
