from asyncio import Protocol, Transport
from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from coordinator.core.client_connection import ClientConnection
from coordinator.front.login import Login
from coordinator.front.request_context import Endpoint, RequestContext
from coordinator.front.throttling import Charge
from coordinator.groups.sessions import SessionTable
from coordinator.metrics.request_meter import ListenerMeter
from coordinator.security.principal import Principal

class Connection(Protocol):
    """An asyncio protocol. `dispatcher` is the RequestDispatcher. Without a `meter` nothing is counted."""

    client_host: str
    last_heard_ms: int
    begun_ms: int
    """Since when the client has to send the rest of a request, in ms; 0: there is none, or it is not read now."""
    congested_ms: int
    """Since when the client has to read what it was sent, in ms; meaningless while it reads."""
    congested_bytes: int
    """What it had to read then, and what was sent since."""
    is_long: bool
    """The request in progress has so many elements that it is freed in steps."""
    endpoint: Endpoint
    principal: Principal
    """Who sends the requests."""
    serial: int
    """No other connection of the process has or had it."""
    call: RequestContext | None
    charge: Charge | None
    """What measures the request in progress against the quotas of its client; None if nothing does."""
    on_close: Callable[[], object] | None
    software: tuple[str, str]
    """Name and version of the client, as it said with ApiVersions (KIP-511); both empty if it did not."""
    client_connection: ClientConnection | None
    """What members remember of it; None if none came by it."""

    def __init__(
        self,
        dispatcher: Any,
        endpoint: Endpoint,
        sessions: SessionTable,
        now_ms: Callable[[], int],
        frame_bytes_max: int,
        meter: ListenerMeter | None = None,
    ) -> None: ...
    def connection_made(self, transport: Transport) -> None: ...  # type: ignore[override]
    def send_response(self, response: Any) -> None:
        """Send the response to the request in progress, then handle the next one."""
    def send_error_response(self, error: ErrorCode) -> None:
        """Send the response that reports `error` in the API of the request in progress."""
    def encode(self, response: Any, apart: list[Any], pause: Callable[[], object]) -> bytes:
        """Encode the response to the request in progress; `pause` is called after each step."""
    def send_encoded(self, response: Any, apart: list[Any], frame: bytes) -> None:
        """Send what `encode` made of the response, then handle the next request; the response is freed."""
    def send_frame(self, frame: bytes) -> None:
        """Send a response that is encoded already, with its length, then handle the next request."""
    def release(self, messages: list[Any]) -> None:
        """Free messages with very many elements in steps, as far as nobody else holds them in the next iteration."""
    def reject_response(self, problem: Exception) -> None:
        """Close the connection, because of a defect of the server: the response cannot be encoded."""
    def finish(self) -> None:
        """Complete the request in progress: its response has been sent, or it has none."""
    def mute(self, unmuting: Callable[[], object]) -> None:
        """Handle no further request until `unmute` (KIP-219). `unmuting` is called if the client disconnects before."""
    def unmute(self) -> None:
        """The throttle time is over."""
    def reject(self, reason: str) -> None:
        """Close the connection because of `reason`, which is logged."""
    def kept_bytes(self, unsent: int) -> int:
        """What is in memory while so many bytes are unsent: a response in one piece is kept whole until its end."""
    def unsent_bytes(self) -> int:
        """How many bytes of responses the client has not read yet."""
    def abort(self, reason: str) -> None:
        """Close the connection at once because of `reason`, which is logged; what is unsent is dropped.

        Also while it is being closed: the client may never read what is to be sent before.
        """
    def close(self) -> None:
        """Close the connection after the buffered responses have been sent."""

class SaslConnection(Connection):
    """A connection of a listener with a login. `dispatcher` is its LoginGate, which gives it its `login`."""

    login: Login
    session_end_ms: int
    """From when on only a login is handled; 0 before there was one."""

    def __init__(
        self,
        dispatcher: Any,
        endpoint: Endpoint,
        sessions: SessionTable,
        now_ms: Callable[[], int],
        frame_bytes_max: int,
        receive_bytes_max: int,
        meter: ListenerMeter | None = None,
    ) -> None:
        """`receive_bytes_max` is the size of the largest frame before the login."""
    def log_in(self, principal: Principal, session_end_ms: int) -> None:
        """Handle the requests of this principal from now on."""
    def begin_login(self, receive_bytes_max: int) -> None:
        """Handle nothing but a login, once more."""
    def respond(self, response: bytes) -> None:
        """Send an encoded response to the frame in progress, then handle the next one."""
    def hold(self) -> None:
        """Read nothing more."""
    def close_after(self, response: bytes) -> None:
        """Send an encoded response to the frame in progress, if it is not empty, and close."""
