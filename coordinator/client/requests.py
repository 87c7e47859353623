"""Requests and responses of a connection to a server, whatever carries their bytes.

The blocking client (`wire.py`), the connections of a node to brokers and to other nodes, and its questions in the name
of clients send by it.
"""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import decode_response_header, encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from _wire.structs import Message
from coordinator.client.login import Login, LoginError

FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's default limit of a request (socket.request.max.bytes). A larger frame is not Kafka's protocol."""
VERSION_MAX: Final = (1 << 15) - 1
"""Versions are 16 bits."""
API_VERSIONS_VERSION: Final = 0
"""The one that every server supports."""
HANDSHAKE_VERSION: Final = 1
AUTHENTICATE_VERSION: Final = 1
CORRELATION_IDS: Final = 0x7FFFFFFF

RequestSteps: TypeAlias = Generator[tuple[Message, int], Any, None]
"""Requests with their versions, one after the other; each is sent the response to the one before."""


class Sent(msgspec.Struct, frozen=True):
    """A request whose response has not been read yet."""

    correlation_id: int
    api_key: int
    version: int

    def decoder(self, frame: bytes) -> Callable[..., Any]:
        """How the response in a frame, given without its length, is decoded.

        Raises:
            MalformedMessage: the frame is too short, or the response to another request.
        """
        correlation_id, body_start = decode_response_header(frame, self.api_key, self.version)
        response = APIS[self.api_key].response
        if correlation_id != self.correlation_id:
            why = f"{correlation_id} instead of {self.correlation_id}"
            raise MalformedMessage(response.__name__, self.version, "correlation_id", 0, why)
        return partial(response.decode, frame, self.version, body_start)


class RequestEncoder:
    """Requests of one connection, and what it knows of the server: the versions that it supports.

    What goes wrong is raised as `failure`, whose message is one line.
    """

    def __init__(self, server: str, client_id: str, failure: type[Exception]) -> None:
        """`server` is its HOST:PORT, for messages."""
        self.server = server
        self.versions: dict[int, tuple[int, int]] = {}
        """API key → lowest and highest version that the server supports; empty until it was asked."""
        self._client_id = client_id
        self._failure = failure
        self.count = 0
        """Of requests that were encoded."""

    def encode(self, message: Message, version: int) -> tuple[bytes, Sent]:
        """A request with its length, and what its response has to be."""
        self.count += 1
        return encoded((self.count - 1) % CORRELATION_IDS + 1, self._client_id, message, version)

    def latest_version(self, api_key: int, version_max: int = VERSION_MAX) -> int:
        """The latest version of an API, up to `version_max`, that both sides support. Raises `failure` if none is."""
        api = APIS[api_key]
        lowest, highest = self.versions.get(api_key, (0, -1))
        version = min(highest, api.max_version, version_max)
        if version < max(lowest, api.min_version):
            raise self._failure(f"{self.server} supports no version of {api.name} that this client supports")
        return version

    def supports(self, api_key: int, version: int | None = None) -> bool:
        """Whether the server has an API in a version; None: in whatever version."""
        lowest, highest = self.versions.get(api_key, (0, -1))
        return lowest <= (lowest if version is None else version) <= highest

    def ask_versions(self) -> RequestSteps:
        response = yield ApiVersionsRequest(), API_VERSIONS_VERSION
        if response.error_code != ErrorCode.NONE:
            raise self._failure(f"ApiVersions failed on {self.server}: error {response.error_code}")
        self.versions = {api_key.api_key: (api_key.min_version, api_key.max_version) for api_key in response.api_keys}

    def log_in(self, login: Login) -> RequestSteps:
        """Log in (KIP-152)."""
        handshake = yield SaslHandshakeRequest(mechanism=login.mechanism), HANDSHAKE_VERSION
        if handshake.error_code != ErrorCode.NONE:
            served = ", ".join(handshake.mechanisms) or "none"
            raise self._failure(f"{self.server} does not accept {login.mechanism}; its mechanisms are: {served}")
        try:
            yield from _authenticate(login)
        except LoginError as problem:
            raise self._failure(f"cannot log in to {self.server}: {problem}") from problem


def encoded(correlation_id: int, client_id: str, message: Message, version: int) -> tuple[bytes, Sent]:
    """A request with its length, and what its response has to be."""
    sent = Sent(correlation_id, message.API_KEY, version)
    return encode_request(correlation_id, client_id, message, version), sent


def _authenticate(login: Login) -> RequestSteps:
    messages = login.exchange()
    try:
        message = next(messages)
        while True:
            answer = yield SaslAuthenticateRequest(auth_bytes=message), AUTHENTICATE_VERSION
            if answer.error_code != ErrorCode.NONE:
                raise LoginError(f"the login of {login.who} was refused: {answer.error_message}")
            message = messages.send(answer.auth_bytes)
    except StopIteration:
        return
