from collections.abc import Callable
from typing import Any

from coordinator.front.connection import Connection
from coordinator.front.login import Login
from coordinator.front.request_context import Endpoint
from coordinator.groups.sessions import SessionTable
from coordinator.metrics.request_meter import ListenerMeter
from coordinator.security.principal import Principal

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
