"""The HTTP server of the admin port, in the event loop of the node, with limits so that its clients hurt nobody.

An orchestrator kills a server whose /healthz does not answer, so connections that send nothing must not use the port
up: the first to go is the one that has waited longest for the head of its request.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from coordinator.http_guard import Application

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
"""How long requests under way have at a stop."""


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
        if len(self.connections) - sum(other.transport.is_closing() for other in others) < CONNECTIONS_MAX:
            return True
        others = [other for other in others if not other.transport.is_closing()]
        late = [other for other in others if other.cycle is None]
        if not late:
            late = [other for other in others if self._opened_at - other._opened_at > REQUEST_SECONDS]
        counts = Counter(connection._client_host for connection in late)
        oldest = min(
            late, key=lambda connection: (-counts[connection._client_host], connection._opened_at), default=None
        )
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


def make_server(app: Application, secure: Callable[[Any], asyncio.Protocol] | None, backlog: int) -> uvicorn.Server:
    """`secure` puts TLS before a connection; `backlog` connections may wait to be accepted."""
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
        "backlog": backlog,
        "timeout_graceful_shutdown": STOP_SECONDS,
    }
    server = uvicorn.Server(uvicorn.Config(app, **options))
    server.capture_signals = nullcontext  # type: ignore[method-assign, assignment]
    return server
