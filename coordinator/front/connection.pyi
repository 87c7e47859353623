from asyncio import Transport
from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from coordinator.core.client_connection import ClientConnection
from coordinator.front.request_context import Endpoint
from coordinator.front.steady_connection import SteadyConnection
from coordinator.front.throttling import Charge
from coordinator.groups.sessions import SessionTable
from coordinator.metrics.request_meter import ListenerMeter
from coordinator.security.principal import Principal

class Connection(SteadyConnection):
    """An asyncio protocol. `dispatcher` is the RequestDispatcher. Without a `meter` nothing is counted."""

    client_host: str
    last_heard_ms: int
    begun_ms: int
    """Since when the client has to send the rest of a request, in ms; 0: there is none, or it is not read now."""
    is_long: bool
    """The request in progress has so many elements that it is freed in steps."""
    principal: Principal
    """Who sends the requests."""
    charge: Charge | None
    """What measures the request in progress against the quotas of its client; None if nothing does."""
    on_close: Callable[[], object] | None
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
    def abort(self, reason: str) -> None:
        """Close the connection at once because of `reason`, which is logged; what is unsent is dropped.

        Also while it is being closed: the client may never read what is to be sent before.
        """
    def close(self) -> None:
        """Close the connection after the buffered responses have been sent."""
