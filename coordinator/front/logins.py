"""The logins of all connections: how many there may be at a time, how long they may take, and when failed ones end."""

from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from coordinator.config.network_keys import SOCKET_REQUEST_MAX_ELEMENTS
from coordinator.config.settings import Config
from coordinator.deadlines import deadline_after
from coordinator.front.limits import address_of
from coordinator.front.login import Login, SaslListener
from coordinator.front.login_limits import LoginLimits
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.request_context import Endpoint
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.front.sasl_connection import SaslConnection
from coordinator.groups.sessions import SessionTable
from coordinator.metrics.login_meter import LoginMeter
from coordinator.metrics.request_meter import ListenerMeter

HANDSHAKE_KEY: Final = b"\x00\x11"
"""How each SaslHandshake begins."""


class FailedLoginKey(msgspec.Struct, frozen=True):
    """The timer key at which a failed login is answered (`connection.failed.authentication.delay.ms`)."""

    login: Login


class BeginsLogins(Protocol):
    """Begins and ends the logins of the connections of a gate."""

    now_ms: Callable[[], int]

    def begin(self, connection: SaslConnection, listener: SaslListener) -> Any:
        """Begin the login of a new connection, which gets its frames, or close it if there are too many."""

    def closed(self, login: Any) -> None:
        """The connection is closed."""


class Logins:
    """Begins and ends the logins of a node."""

    def __init__(
        self,
        config: Config,
        dispatcher: RequestDispatcher,
        scheduler: LoopScheduler,
        *,
        now_ms: Callable[[], int],
        wall_ms: Callable[[], int],
    ) -> None:
        self._dispatcher = dispatcher
        self._scheduler = scheduler
        self._limits = LoginLimits(config, scheduler, now_ms)
        self._timers: dict[Login, int] = {}
        """The end of the delay of each login that has failed."""
        self.served: Final = dispatcher.served
        self.route: Final = dispatcher.route
        self.elements_max: Final = config[SOCKET_REQUEST_MAX_ELEMENTS]
        self.now_ms = now_ms
        self.wall_ms = wall_ms
        scheduler.on_due(self.due)

    def begin(self, connection: SaslConnection, listener: SaslListener) -> Login:
        """Begin the login of a new connection, or close it if its address has too many that have not logged in."""
        login = Login(connection, listener, self)
        too_many = self._limits.begin(login, address_of(connection), listener.authentication_max_ms)
        if too_many is not None:
            connection.reject(too_many)
        return login

    def serve(self, connection: SaslConnection, frame: bytes) -> None:
        """Serve a request that needs no login, or whose connection has logged in."""
        self._dispatcher.serve(connection, frame)

    def completed(self, login: Login) -> None:
        """A connection has logged in."""
        self._limits.end(login)

    def renewed(self, login: Login, listener: SaslListener) -> None:
        """A connection begins to log in again."""
        self._limits.start_clock(login, listener.authentication_max_ms)

    def failed(self, login: Login, reason: str, delay_ms: int) -> None:
        """Log a failure, and end the login later."""
        self._dispatcher.rejected(login.connection, reason)
        self._limits.stop_clock(login)
        self._timers[login] = self._scheduler.start(FailedLoginKey(login), deadline_after(self.now_ms(), delay_ms))

    def closed(self, login: Login) -> None:
        """The connection is closed."""
        self._limits.end(login)
        timer = self._timers.pop(login, None)
        if timer is not None:
            self._scheduler.cancel(timer)

    timer_keys = (FailedLoginKey,)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, FailedLoginKey):
            self._timers.pop(key.login, None)
            key.login.end()


class LoginGate:
    """What the connections of a listener with a login have in place of the RequestDispatcher."""

    def __init__(self, dispatcher: RequestDispatcher, logins: BeginsLogins, listener: SaslListener) -> None:
        self._dispatcher = dispatcher
        self._logins = logins
        self._listener = listener
        self._now_ms = logins.now_ms
        self.fire_due = dispatcher.fire_due
        self.holds_requests = dispatcher.holds_requests
        self.holds_responses = dispatcher.holds_responses
        self.encode_in_steps = dispatcher.encode_in_steps
        self.error_response = dispatcher.error_response
        self.release = dispatcher.release
        self.rejected = dispatcher.rejected
        self.mute = dispatcher.mute

    @property
    def meter(self) -> LoginMeter:
        """The counts of the logins of the listener."""
        return self._listener.meter

    def connection(
        self, endpoint: Endpoint, sessions: SessionTable, frame_bytes_max: int, meter: ListenerMeter | None
    ) -> SaslConnection:
        """Make a connection of the listener."""
        receive_bytes_max = min(self._listener.receive_bytes_max, frame_bytes_max)
        return SaslConnection(self, endpoint, sessions, self._now_ms, frame_bytes_max, receive_bytes_max, meter)

    def opened(self, connection: SaslConnection) -> None:
        self._dispatcher.opened(connection)
        connection.login = self._logins.begin(connection, self._listener)

    def closed(self, connection: SaslConnection) -> None:
        self._dispatcher.closed(connection)
        self._logins.closed(connection.login)

    def serve(self, connection: SaslConnection, frame: bytes) -> None:
        """Serve a request of a connection that has logged in; anything else belongs to its login."""
        if self._now_ms() >= connection.session_end_ms or frame[:2] == HANDSHAKE_KEY:
            connection.login.receive(frame)
        else:
            self._dispatcher.serve(connection, frame)
