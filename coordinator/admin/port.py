"""The admin port: bound when a node starts. What serves it is imported for its first connection."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.admin.address import parse_address
from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import (
    ADMIN_ALLOWED_HOSTS,
    ADMIN_LISTENER,
    ADMIN_LOGIN_FILE,
    ADMIN_NAME,
    ADMIN_PROBES_OPEN,
)
from coordinator.config.settings import Config
from coordinator.garbage import no_collections
from coordinator.http_guard import Application, HttpGuard, is_loopback, parse_names
from coordinator.http_login import LoginFileError, LoginGuard, Logins, read_logins
from coordinator.inherited_sockets import InheritedSockets
from coordinator.listen_address import bind
from coordinator.logger import logger
from coordinator.metrics.node_metrics import NodeMetrics

if TYPE_CHECKING:
    import uvicorn
    from starlette.routing import BaseRoute

PROBES: Final = ("/healthz", "/readyz")
BACKLOG: Final = 64
"""Connections that may wait to be accepted."""

MakeRoutes = Callable[[], "Sequence[BaseRoute]"]
Secure = Callable[[Any], asyncio.Protocol]
"""Puts TLS before a connection."""


def _logins(file: str) -> Logins | None:
    try:
        return read_logins(Path(file)) if file else None
    except LoginFileError as problem:
        raise ConfigError(f"{ADMIN_LOGIN_FILE.name}: {problem}") from None


class AdminPort:
    """Bound when it is made; serves between `start` and `stop`."""

    def __init__(self, config: Config, inherited: InheritedSockets) -> None:
        """Raises ConfigError and ListenError: the address cannot be read or bound, or the logins cannot be read."""
        self._logins = _logins(config[ADMIN_LOGIN_FILE])
        self._are_probes_open = config[ADMIN_PROBES_OPEN]
        self._allowed_hosts = parse_names(config[ADMIN_ALLOWED_HOSTS])
        address = parse_address(config[ADMIN_LISTENER])._replace(name=ADMIN_NAME)
        self._socket = inherited.claim(address) or bind(address)
        host, port = self._socket.getsockname()[:2]
        self.address = f"[{host}]:{port}" if self._socket.family is socket.AF_INET6 else f"{host}:{port}"
        """HOST:PORT, as bound."""
        self._waiting_in: asyncio.AbstractEventLoop | None = None
        """The loop that tells of the first connection, as long as there was none."""
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    def start(self, metrics: NodeMetrics, more_routes: MakeRoutes = tuple, *, secure: Secure | None = None) -> None:
        """Accept connections from now on. `more_routes` are served beside those of app.py."""
        self._warn(has_tls=secure is not None)
        self._socket.listen(BACKLOG)
        self._waiting_in = asyncio.get_running_loop()
        self._waiting_in.add_reader(self._socket, partial(self._serve, metrics, more_routes, secure))

    def _serve(self, metrics: NodeMetrics, more_routes: MakeRoutes, secure: Secure | None) -> None:
        """Serve the first connection and all others."""
        self._end_waiting()
        with no_collections():
            from coordinator.admin.app import make_app
            from coordinator.admin.http_server import make_server

            app: Application = make_app(metrics, more_routes())
        if self._logins is not None:
            app = LoginGuard(app, self._logins, PROBES if self._are_probes_open else ())
        app = HttpGuard(app, self._socket.getsockname()[0], self._allowed_hosts, ADMIN_ALLOWED_HOSTS.name)
        self._server = make_server(app, secure, BACKLOG)
        self._serving = asyncio.get_running_loop().create_task(self._server.serve([self._socket]))

    def _end_waiting(self) -> None:
        loop, self._waiting_in = self._waiting_in, None
        if loop is not None:
            loop.remove_reader(self._socket)

    def _warn(self, *, has_tls: bool) -> None:
        """What is open to others has a login, and a login is not sent in plain text."""
        if is_loopback(self._socket.getsockname()[0]) or (has_tls and self._logins is not None):
            return
        lacks = "TLS (admin.security.protocol)" if self._logins is not None else "a login (admin.login.file)"
        logger.warning("other hosts may reach the admin port", address=self.address, lacks=lacks)

    async def stop(self) -> None:
        """Close the port; requests under way have a second (`http_server.STOP_SECONDS`)."""
        self._end_waiting()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving
        self._socket.close()

    def close(self) -> None:
        """Close the port at once, after a start that failed or when the process counts as killed."""
        self._end_waiting()
        for server in getattr(self._server, "servers", ()):  # those that uvicorn has begun to serve
            server.close()
        if self._serving is not None:
            self._serving.cancel()
        self._socket.close()
