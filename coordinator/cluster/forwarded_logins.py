"""Logins at a node's own port: the broker behind a connection decides about them, the node waits for what it says.

They have the limits of any server's logins. Until one has succeeded, nothing is passed on but its requests and
ApiVersions, and nothing else is decoded.
"""

from collections.abc import Callable

from _wire.errors import MalformedMessage
from _wire.headers import decode_request_header
from coordinator.cluster.forwarded_requests import ForwardedRequests
from coordinator.cluster.relay.login_exchange import AUTHENTICATE, HANDSHAKE, LoginExchange, check_before_login
from coordinator.cluster.relay.request_heads import InvalidRequest
from coordinator.cluster.relay.responses import forwarded_request
from coordinator.cluster.rights.clients import ClientOfCluster, login_name
from coordinator.deadlines import FAR_FUTURE_MS
from coordinator.front.limits import address_of
from coordinator.front.listeners import ListenerLogins
from coordinator.front.login import SaslListener
from coordinator.front.login_limits import LoginTerms
from coordinator.front.logins import LoginGate
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.front.sasl_connection import SaslConnection
from coordinator.metrics.login_meter import LoginMeter
from coordinator.security.principal import ANONYMOUS


class ForwardedLogin:
    """The login of one connection."""

    def __init__(
        self, connection: SaslConnection, dispatcher: RequestDispatcher, forwarded: ForwardedRequests, terms: LoginTerms
    ) -> None:
        self._connection = connection
        self._dispatcher = dispatcher
        self._forward = forwarded.forward
        self._terms = terms
        self._exchange = LoginExchange()
        self._name: str | None = None
        """As the client has claimed it."""

    def receive(self, frame: bytes) -> None:
        """Handle the next frame of a connection that has not logged in, or the begin of a login once more."""
        if self._exchange.is_done:
            self._dispatcher.serve(self._connection, frame)
            return
        try:
            self._receive(frame)
        except (InvalidRequest, MalformedMessage) as problem:
            self._connection.reject(str(problem))

    def _receive(self, frame: bytes) -> None:
        header, _ = decode_request_header(frame)
        check_before_login(header.api_key, len(frame), self._terms.receive_bytes_max)
        if header.api_key not in (HANDSHAKE, AUTHENTICATE):
            self._dispatcher.serve(self._connection, frame)
            return
        forwarded, request = forwarded_request(frame), self._exchange.request(frame)
        if header.api_key == HANDSHAKE:
            self._name = None
        elif self._name is None:
            self._name = login_name(self._exchange.mechanism, request.auth_bytes)

        def heard(response: bytes) -> None:
            self._exchange.response(header.api_key, response)
            if self._exchange.is_done:
                self._succeeded()

        self._forward(self._connection, frame, forwarded, heard)

    def _succeeded(self) -> None:
        principal = ClientOfCluster(self._connection.serial, self._name or ANONYMOUS.name)
        self._connection.log_in(principal, FAR_FUTURE_MS)
        self._terms.limits.end(self)

    def expire(self) -> None:
        """The time that a login may take is over."""
        self._connection.abort("the login took too long (connection.authentication.max.ms)")


class ForwardedLogins:
    """In place of the logins of a server."""

    def __init__(
        self,
        dispatcher: RequestDispatcher,
        forwarded: ForwardedRequests,
        terms: LoginTerms,
        now_ms: Callable[[], int],
    ) -> None:
        self._dispatcher = dispatcher
        self._forwarded = forwarded
        self._terms = terms
        self.now_ms = now_ms

    def begin(self, connection: SaslConnection, listener: SaslListener) -> ForwardedLogin:
        login = ForwardedLogin(connection, self._dispatcher, self._forwarded, self._terms)
        too_many = self._terms.limits.begin(login, address_of(connection), self._terms.authentication_max_ms)
        if too_many is not None:
            connection.reject(too_many)
        return login

    def closed(self, login: ForwardedLogin) -> None:
        self._terms.limits.end(login)


def forwarded_logins(
    name: str,
    forwarded: ForwardedRequests,
    terms: LoginTerms,
    now_ms: Callable[[], int],
    dispatcher: RequestDispatcher,
) -> ListenerLogins:
    """What the listener of that name needs: a broker has its mechanisms."""
    listener = SaslListener(
        name=name,
        mechanisms={},
        max_reauth_ms={},
        receive_bytes_max=terms.receive_bytes_max,
        failed_delay_ms=0,
        authentication_max_ms=terms.authentication_max_ms,
        meter=LoginMeter(),
    )
    logins = ForwardedLogins(dispatcher, forwarded, terms, now_ms)
    return ListenerLogins(gates={name: LoginGate(dispatcher, logins, listener)})
