"""Logins of connections by SASL, as Kafka's SaslServerAuthenticator has them (KIP-43, KIP-152, KIP-368).

A listener with a login has a `LoginGate` (`logins.py`) before the RequestDispatcher. Until a connection has logged in,
and while it does so again, the gate hands its frames to its `Login`; those of others pass.
"""

from collections.abc import Mapping
from enum import Enum
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Final

import msgspec

from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import RequestHeader, decode_request_header, encode_response
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from _wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from coordinator.deadlines import FAR_FUTURE_MS, deadline_after
from coordinator.front.api_versions import has_valid_software
from coordinator.front.long_messages import TooLong, not_in_steps
from coordinator.front.sasl_connection import SaslConnection
from coordinator.logger import logger
from coordinator.metrics.login_meter import LoginMeter
from coordinator.printable import printable
from coordinator.security.principal import USER_TYPE, Principal
from coordinator.security.sasl.exchange import Exchange, LoggedIn, LoginFailed, Mechanism

if TYPE_CHECKING:
    from coordinator.front.logins import Logins

REAUTHENTICATION_INTERVAL_MS: Final = 1_000
"""A connection logs in again at most so often (KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS)."""
USER_CHARACTERS_MAX: Final = 100
"""How much of a name is logged, which the client may have made up."""
MESSAGE_CHARACTERS_MAX: Final = 500
"""How much of the reason of a failure is said: it may quote the client."""
LENGTH_BYTES: Final = 4


class Step(Enum):
    """What a connection has to send next."""

    FIRST = "ApiVersions or SaslHandshake"
    HANDSHAKE = "SaslHandshake"
    AUTHENTICATE = "SaslAuthenticate"
    TOKEN = "a token without a header"
    """After SaslHandshake v0."""
    DONE = "requests"
    OVER = "nothing"
    """It has failed, and is about to be closed."""


class SaslListener(msgspec.Struct, frozen=True, kw_only=True):
    """What the connections of one listener log in with."""

    name: str
    mechanisms: Mapping[str, Mechanism]
    """In the order of `sasl.enabled.mechanisms`."""
    max_reauth_ms: Mapping[str, int]
    """Mechanism → `connections.max.reauth.ms`."""
    receive_bytes_max: int
    failed_delay_ms: int
    authentication_max_ms: int
    meter: LoginMeter


class _NotServed(Exception):
    """A request that closes the connection. The text is for the log."""


class _IllegalState(Exception):
    """A request that Kafka does not answer in this step. The text is for the log."""


class Login:
    """The login of one connection, and its renewals."""

    __slots__ = (
        "_exchange",
        "_failure_response",
        "_listener",
        "_mechanism",
        "_principal",
        "_reauthenticated_ms",
        "_server",
        "connection",
        "step",
    )

    def __init__(self, connection: SaslConnection, listener: SaslListener, server: "Logins") -> None:
        self.connection = connection
        self.step = Step.FIRST
        self._listener = listener
        self._server = server
        self._exchange: Exchange | None = None
        self._mechanism = ""
        self._principal: Principal | None = None
        """Whom the connection belongs to, since it has logged in once."""
        self._reauthenticated_ms: int | None = None
        self._failure_response = b""

    def receive(self, frame: bytes) -> None:
        """Handle the next frame of a connection that has not logged in, whose session ended, or that does so again."""
        try:
            if self.step is Step.TOKEN:
                self._evaluate_token(frame)
            else:
                header, body_start = decode_request_header(frame)
                self._receive_request(header, frame, body_start)
        except (MalformedMessage, _NotServed) as problem:
            self.connection.reject(str(problem))
        except TooLong:
            self.connection.reject("a request before the login has too many elements")
        except (_IllegalState, LoginFailed) as problem:
            self._fail(str(problem))
        except Exception as problem:
            # A defect of the server. Its text is not logged: it may quote what the client sent, which is a secret.
            logger.error("unhandled exception in a login", type=type(problem).__name__, where=_where(problem))
            self.connection.reject(f"unhandled {type(problem).__name__} in a login")

    def _receive_request(self, header: RequestHeader, frame: bytes, body_start: int) -> None:
        if self.step is Step.DONE:
            self._receive_after_login(header, frame, body_start)
        elif self.step is Step.AUTHENTICATE:
            if header.api_key == SaslAuthenticateRequest.API_KEY:
                self._authenticate(header, self._decode(header, frame, body_start))
            else:
                self._refuse(header, self._decode(header, frame, body_start))
        elif header.api_key == SaslHandshakeRequest.API_KEY:
            self._handshake(header, self._decode(header, frame, body_start))
        elif header.api_key == ApiVersionsRequest.API_KEY:
            self._api_versions(header, frame, body_start)
        else:
            raise _IllegalState(f"{self._api_name(header)} came before the login; expected {self.step.value}")

    # ------------------------------------------------------------------------------------------------ before the login

    def _api_versions(self, header: RequestHeader, frame: bytes, body_start: int) -> None:
        """Answer it as always, but once only: again if its version is not served, or it names no valid software."""
        if self.step is not Step.FIRST:
            self.connection.reject(f"ApiVersions came a second time before the login; expected {self.step.value}")
            return
        if header.api_version <= self._server.served[header.api_key].max_version:
            request = self._decode(header, frame, body_start)
            if has_valid_software(request, header.api_version):
                self.step = Step.HANDSHAKE
        self._server.serve(self.connection, frame)

    def _handshake(self, header: RequestHeader, request: Any) -> None:
        enabled = list(self._listener.mechanisms)
        if request.mechanism not in self._listener.mechanisms:
            if self._principal is None:
                self._failure_response = _encode(
                    header, SaslHandshakeResponse(error_code=ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms=enabled)
                )
            raise _IllegalState(f"the mechanism {_shown(request.mechanism)} is not enabled")
        is_other = self._principal is not None and request.mechanism != self._mechanism
        if is_other:
            # It is told so with its next frame, as on Kafka.
            self._exchange = None
        else:
            self._mechanism = request.mechanism
            self._exchange = self._listener.mechanisms[self._mechanism].exchange()
        self.step = Step.AUTHENTICATE if header.api_version > 0 else Step.TOKEN
        self.connection.respond(_encode(header, SaslHandshakeResponse(mechanisms=enabled)))

    def _refuse(self, header: RequestHeader, request: Any) -> None:
        """Prepare the response to a request that has no place between SaslHandshake and SaslAuthenticate."""
        route = self._server.route(header.api_key)
        assert route is not None, "its request was decoded"
        if self._exchange is not None:
            response = route.error_response(request, ErrorCode.ILLEGAL_SASL_STATE, header.api_version)
            if response is not None:
                if route.downgrade is not None:
                    route.downgrade(response, header.api_version)
                self._failure_response = _encode(header, response)
        raise _IllegalState(f"{route.api.name} came during the login; expected {self.step.value}")

    def _authenticate(self, header: RequestHeader, request: Any) -> None:
        try:
            data, lifetime_ms = self._evaluate(request.auth_bytes)
        except LoginFailed as problem:
            if self._exchange is not None:
                self._failure_response = _encode(
                    header,
                    SaslAuthenticateResponse(
                        error_code=ErrorCode.SASL_AUTHENTICATION_FAILED,
                        error_message=_cut(problem.message or self._invalid_credentials(), MESSAGE_CHARACTERS_MAX),
                    ),
                )
            raise
        response = SaslAuthenticateResponse(auth_bytes=data, session_lifetime_ms=lifetime_ms, error_message="")
        self.connection.respond(_encode(header, response))

    def _evaluate_token(self, frame: bytes) -> None:
        data, _ = self._evaluate(frame)
        self.connection.respond(len(data).to_bytes(LENGTH_BYTES, "big") + data)

    def _evaluate(self, response: bytes) -> tuple[bytes, int]:
        """Evaluate a message of the mechanism; return the answer, and how long the session is if the login is done."""
        if self._exchange is None:
            raise LoginFailed("another mechanism than that of the first login")
        result = self._exchange.evaluate(response)
        if not isinstance(result, LoggedIn):
            return result.data, 0
        return result.data, self._complete(result)

    def _complete(self, result: LoggedIn) -> int:
        principal = Principal(USER_TYPE, result.user)
        is_first = self._principal is None
        if self._principal is not None and principal != self._principal:
            raise LoginFailed(
                f"another principal than that of the first login, {_shown(str(self._principal))}",
                "Cannot change principals during re-authentication from "
                f"{USER_TYPE}.{self._principal.name}: {USER_TYPE}.{principal.name}",
            )
        self._principal = principal
        self._exchange = None
        self.step = Step.DONE
        lifetime_ms = self._lifetime_ms(result.expires_ms)
        has_end = result.expires_ms is not None or self._listener.max_reauth_ms[self._mechanism] > 0
        end_ms = deadline_after(self._server.now_ms(), lifetime_ms) if has_end else FAR_FUTURE_MS
        self.connection.log_in(principal, end_ms)
        self._listener.meter.succeeded(is_first)
        self._server.completed(self)
        return lifetime_ms

    def _lifetime_ms(self, expires_ms: int | None) -> int:
        """The shorter of what the credential and the configuration allow; 0: nothing is said of it."""
        max_reauth_ms = self._listener.max_reauth_ms[self._mechanism]
        if expires_ms is None:
            return max_reauth_ms
        left_ms = max(expires_ms - self._server.wall_ms(), 0)
        return min(left_ms, max_reauth_ms) if max_reauth_ms > 0 else left_ms

    # ------------------------------------------------------------------------------------------------- after the login

    def _receive_after_login(self, header: RequestHeader, frame: bytes, body_start: int) -> None:
        now_ms, session_end_ms = self._server.now_ms(), self.connection.session_end_ms
        if (
            header.api_key == SaslHandshakeRequest.API_KEY
            and session_end_ms < FAR_FUTURE_MS
            and self._may_renew(now_ms)
        ):
            self._reauthenticated_ms = now_ms
            self.connection.begin_login(self._listener.receive_bytes_max)
            self._server.renewed(self, self._listener)
            self.step = Step.HANDSHAKE
            self._handshake(header, self._decode(header, frame, body_start))
        elif now_ms >= session_end_ms:
            self._listener.meter.expired += 1
            self.connection.reject(
                f"the session of {_shown(str(self._principal))} has ended, and the client did not log in again"
            )
        else:
            self._server.serve(self.connection, frame)

    def _may_renew(self, now_ms: int) -> bool:
        last_ms = self._reauthenticated_ms
        return last_ms is None or now_ms - last_ms >= REAUTHENTICATION_INTERVAL_MS

    # ------------------------------------------------------------------------------------------------------- failures

    def _fail(self, reason: str) -> None:
        """Answer later, and close then; until then the connection is not read."""
        listener, user = self._listener, "" if self._exchange is None else self._exchange.user
        mechanism = f", {self._mechanism}" if self._exchange is not None else ""
        who = f", user {_shown(user)}" if user else ""
        self.step = Step.OVER
        listener.meter.failed(self._principal is None)
        self.connection.hold()
        reason = f"login failed on listener {listener.name}{mechanism}{who}: {_cut(reason, MESSAGE_CHARACTERS_MAX)}"
        self._server.failed(self, reason, listener.failed_delay_ms)

    def end(self) -> None:
        """Send the response to the failed login, if it has one, and close the connection."""
        self.connection.close_after(self._failure_response)

    def expire(self) -> None:
        """The time that a login may take is over."""
        listener = self._listener
        self.connection.abort(
            f"login on listener {listener.name} took longer than {listener.authentication_max_ms} ms; expected "
            f"{self.step.value}"
        )

    def _invalid_credentials(self) -> str:
        """What Kafka says in place of reasons that would tell whether a user exists."""
        what = "authentication" if self._principal is None else "re-authentication"
        return f"Authentication failed during {what} due to invalid credentials with SASL mechanism {self._mechanism}"

    def _decode(self, header: RequestHeader, frame: bytes, body_start: int) -> Any:
        """Decode a request.

        Raises:
            MalformedMessage: it is damaged.
            _NotServed: it is of an API or version that is not served.
            TooLong: it has very many elements, which no client needs before its login.
        """
        route, version = self._server.route(header.api_key), header.api_version
        if route is None or not route.min_version <= version <= route.max_version:
            raise _NotServed(f"{self._api_name(header)} version {version} is not served before the login")
        return route.decode(frame, version, body_start, False, self._server.elements_max, not_in_steps)

    def _api_name(self, header: RequestHeader) -> str:
        api = self._server.served.get(header.api_key)
        return f"API key {header.api_key}" if api is None else api.name


def _encode(header: RequestHeader, response: Any) -> bytes:
    return encode_response(header.correlation_id, response, header.api_version)


def _shown(text: str) -> str:
    """A name of a client in a log line."""
    return printable(_cut(text, USER_CHARACTERS_MAX))


def _cut(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else f"{text[:characters_max]}…"


def _where(problem: Exception) -> str:
    """The line of code that raised."""
    *_, last = extract_tb(problem.__traceback__)
    return f"{last.filename}:{last.lineno}"
