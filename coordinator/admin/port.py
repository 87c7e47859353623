"""The admin port: an HTTP server in the event loop of the node, with limits so that its clients hurt nobody.

An orchestrator kills a server whose /healthz does not answer, so connections that send nothing must not use the port
up: the first to go is the one that has waited longest for the head of its request.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.routing import BaseRoute
from uvicorn.protocols.http.h11_impl import H11Protocol

from coordinator.admin.address import parse_address
from coordinator.admin.app import make_app
from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import (
    ADMIN_ALLOWED_HOSTS,
    ADMIN_LISTENER,
    ADMIN_LOGIN_FILE,
    ADMIN_NAME,
    ADMIN_PROBES_OPEN,
)
from coordinator.config.settings import Config
from coordinator.http_guard import Application, HttpGuard, is_loopback, parse_names
from coordinator.http_login import LoginFileError, LoginGuard, Logins, read_logins
from coordinator.inherited_sockets import InheritedSockets
from coordinator.listen_address import bind
from coordinator.logger import logger
from coordinator.metrics.node_metrics import NodeMetrics

CONNECTIONS_MAX: Final = 32
"""A further one takes the place of one that goes before it (`OneRequestProtocol`), or is closed at once."""
HEAD_SECONDS: Final = 1
"""A connection is closed if the head of its request has not come after this time."""
READ_SECONDS: Final = 0.1
"""What has arrived by then may lie in the socket, if the event loop was blocked: the time to read it."""
REQUEST_SECONDS: Final = 1
"""A request that takes longer may have to go before a new one."""
CONNECTION_SECONDS: Final = 10
"""A connection is closed after this time, whatever it is doing: each serves one request."""
HEAD_BYTES_MAX: Final = 16 * 1024
"""The size of the request line and the headers."""
BODY_BYTES_MAX: Final = 64 * 1024
"""Only the routes of tests read a body; a request with a larger one is closed at once."""
STOP_SECONDS: Final = 1
PROBES: Final = ("/healthz", "/readyz")
BACKLOG: Final = 64


class OneRequestProtocol(H11Protocol):
    """A connection that lives for one request and for `CONNECTION_SECONDS` at most.

    When there are `CONNECTIONS_MAX`, one without the head of a request is closed for a new one; if there is none, one
    whose request takes longer than `REQUEST_SECONDS`. It is the oldest of the address that has the most of them.
    """

    _deadline: asyncio.TimerHandle | None = None
    _bytes_received: int = 0
    _opened_at: float = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._opened_at = self.loop.time()
        if len(self.connections) >= CONNECTIONS_MAX and not self._make_room():
            transport.abort()
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._head_due)
        super().connection_made(transport)

    def _make_room(self) -> bool:
        """Close a connection that goes before this one; return whether there was one."""
        others: list[OneRequestProtocol] = list(self.connections)  # type: ignore[arg-type]
        # One that is closing keeps its place until the event loop says that it is closed.
        if len(self.connections) - sum(each.transport.is_closing() for each in others) < CONNECTIONS_MAX:
            return True
        others = [each for each in others if not each.transport.is_closing()]
        late = [each for each in others if each.cycle is None]
        if not late:
            late = [each for each in others if self._opened_at - each._opened_at > REQUEST_SECONDS]
        counts = Counter(each._client_host for each in late)
        oldest = min(late, key=lambda each: (-counts[each._client_host], each._opened_at), default=None)
        if oldest is not None:
            oldest.transport.abort()
        return oldest is not None

    @property
    def _client_host(self) -> str:
        return self.client[0] if self.client else ""

    def _head_due(self) -> None:
        if self.cycle is None:
            self._deadline = self.loop.call_later(READ_SECONDS, self._end_without_head)
        else:
            self._deadline = self.loop.call_later(CONNECTION_SECONDS - HEAD_SECONDS, self.transport.abort)

    def _end_without_head(self) -> None:
        if self.cycle is None:
            self.transport.abort()
        else:
            self._head_due()

    def data_received(self, data: bytes) -> None:
        self._bytes_received += len(data)
        if self._bytes_received > HEAD_BYTES_MAX + BODY_BYTES_MAX:
            self.transport.abort()
        else:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


def _secured(secure: Callable[[Any], asyncio.Protocol], **options: Any) -> asyncio.Protocol:
    return secure(OneRequestProtocol(**options))


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
        self._socket = inherited.take(address) or bind(address)
        host, port = self._socket.getsockname()[:2]
        self.address = f"[{host}]:{port}" if self._socket.family is socket.AF_INET6 else f"{host}:{port}"
        """HOST:PORT, as bound."""
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(
        self,
        metrics: NodeMetrics,
        more_routes: Sequence[BaseRoute] = (),
        *,
        secure: Callable[[Any], asyncio.Protocol] | None = None,
    ) -> None:
        """Accept connections when this returns. `more_routes` are served beside those of app.py.

        `secure` puts TLS before a connection.
        """
        self._warn(has_tls=secure is not None)
        http = OneRequestProtocol if secure is None else partial(_secured, secure)
        options: dict[str, Any] = {
            "http": http,
            "ws": "none",
            "lifespan": "off",
            "loop": "none",
            "log_config": None,
            "log_level": "critical",  # errors of routes are logged by the application
            "access_log": False,
            "server_header": False,
            "headers": [("Connection", "close")],
            "h11_max_incomplete_event_size": HEAD_BYTES_MAX,
            "backlog": BACKLOG,
            "timeout_graceful_shutdown": STOP_SECONDS,
        }
        bound_host = self._socket.getsockname()[0]
        app: Application = make_app(metrics, more_routes)
        if self._logins is not None:
            app = LoginGuard(app, self._logins, PROBES if self._are_probes_open else ())
        app = HttpGuard(app, bound_host, self._allowed_hosts, ADMIN_ALLOWED_HOSTS.name)
        server = uvicorn.Server(uvicorn.Config(app, **options))
        server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
        self._server = server
        self._serving = asyncio.create_task(server.serve([self._socket]))
        while not server.started and not self._serving.done():
            await asyncio.sleep(0)
        if self._serving.done():
            self._serving.result()

    def _warn(self, *, has_tls: bool) -> None:
        """What is open to others has a login, and a login is not sent in plain text."""
        if is_loopback(self._socket.getsockname()[0]) or (has_tls and self._logins is not None):
            return
        lacks = "TLS (admin.security.protocol)" if self._logins is not None else "a login (admin.login.file)"
        logger.warning("other hosts may reach the admin port", address=self.address, lacks=lacks)

    async def stop(self) -> None:
        """Close the port; requests under way have `STOP_SECONDS`."""
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving
        self._socket.close()

    def close(self) -> None:
        """Close the port at once, after a start that failed or when the process counts as killed."""
        for server in getattr(self._server, "servers", ()):  # those that uvicorn has begun to serve
            server.close()
        if self._serving is not None:
            self._serving.cancel()
        self._socket.close()
