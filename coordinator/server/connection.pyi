from asyncio import Protocol, Transport
from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from coordinator.runtime.sessions import SessionTable
from coordinator.server.request_context import Endpoint, RequestContext

class Connection(Protocol):
    """An asyncio protocol. `host` serves what is not answered here (host.py)."""

    client_host: str
    last_heard_ms: int
    endpoint: Endpoint
    call: RequestContext | None
    on_close: Callable[[], object] | None

    def __init__(
        self, host: Any, endpoint: Endpoint, sessions: SessionTable, now_ms: Callable[[], int], frame_bytes_max: int
    ) -> None: ...
    def connection_made(self, transport: Transport) -> None: ...  # type: ignore[override]
    def answer(self, response: Any) -> None:
        """Send the response to the request under way, then go on with the next one."""
    def answer_error(self, error: ErrorCode) -> None:
        """Send the response that says `error` in the API of the request under way."""
    def finish(self) -> None:
        """The request under way is done, answered or not meant to be."""
    def refuse(self, why: str) -> None:
        """Close the connection for something its client did; one log line says what."""
    def close(self) -> None:
        """Close once what was answered is sent."""
