"""A login that a client has with a broker, as both say: nothing else is passed on until it has succeeded.

The broker decides about it, and refuses all else as well. The node looks only at what kind of requests these are, and
whether the login has succeeded: a claimed name, or a challenge, is no login.
"""

from typing import Any, Final

from _wire.apis import APIS
from _wire.errors import NONE
from _wire.headers import decode_request_header, decode_response_header
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from _wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from coordinator.cluster.relay.request_heads import InvalidRequest
from coordinator.cluster.relay.responses import ELEMENTS_MAX

HANDSHAKE: Final = SaslHandshakeRequest.API_KEY
AUTHENTICATE: Final = SaslAuthenticateRequest.API_KEY
BEFORE_LOGIN: Final = frozenset({ApiVersionsRequest.API_KEY, HANDSHAKE, AUTHENTICATE})
"""API keys of what a client may send before its login has succeeded."""
SCRAM_PREFIX: Final = "SCRAM-"
SERVER_FINAL: Final = b"v="
"""How the last message of a server begins (RFC 5802); the one before is a challenge."""


def check_before_login(api_key: int, frame_bytes: int, frame_bytes_max: int) -> None:
    """Raises:
    InvalidRequest: a request of a client that has not logged in is of another kind, or too large.
    """
    if api_key not in BEFORE_LOGIN:
        name = APIS[api_key].name if api_key in APIS else f"API key {api_key}"
        raise InvalidRequest(f"{name} came before the login")
    if frame_bytes > frame_bytes_max:
        raise InvalidRequest(f"a request of {frame_bytes} bytes came before the login; at most {frame_bytes_max} may")


class LoginExchange:
    """The login of one connection."""

    __slots__ = ("_asked", "_version", "is_done", "mechanism")

    def __init__(self) -> None:
        self.mechanism = ""
        """The one that client and broker agreed on; empty until then."""
        self.is_done = False
        self._asked: str | None = None
        """What a SaslHandshake that was not answered yet asks for; empty for a SaslAuthenticate."""
        self._version = 0

    @property
    def is_waiting(self) -> bool:
        """Whether the broker has to answer before anything else is sent."""
        return self._asked is not None

    def request(self, frame: bytes) -> Any:
        """Note a SaslHandshake or SaslAuthenticate of the client, given without its length; return it decoded.

        Raises:
            InvalidRequest: it is not the next one.
            MalformedMessage: it cannot be decoded.
        """
        header, body_start = decode_request_header(frame)
        api = APIS[header.api_key]
        if not api.min_version <= header.api_version <= api.max_version:
            raise InvalidRequest(f"{api.name} version {header.api_version} is not served")
        request: Any = api.request.decode(frame, header.api_version, body_start, False, ELEMENTS_MAX)
        if header.api_key == AUTHENTICATE and not self.mechanism:
            raise InvalidRequest("SaslAuthenticate came before SaslHandshake")
        self._version = header.api_version
        self._asked = request.mechanism if header.api_key == HANDSHAKE else ""
        return request

    def response(self, api_key: int, frame: bytes) -> None:
        """Note the response of the broker to that, given without its length.

        Raises:
            MalformedMessage: it cannot be decoded.
        """
        asked, self._asked = self._asked or "", None
        _, body_start = decode_response_header(frame, api_key, self._version)
        if api_key == HANDSHAKE:
            agreed = SaslHandshakeResponse.decode(frame, self._version, body_start)
            self.mechanism = asked if agreed.error_code == NONE else ""
        else:
            answer = SaslAuthenticateResponse.decode(frame, self._version, body_start)
            self.is_done = answer.error_code == NONE and self._is_last(answer.auth_bytes)

    def _is_last(self, message: bytes) -> bool:
        """Whether a message of the broker ends the login. One that is refused has an error, or is a challenge."""
        return message.startswith(SERVER_FINAL) if self.mechanism.startswith(SCRAM_PREFIX) else not message
