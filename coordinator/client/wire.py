"""A blocking client on one socket, which sends requests and reads their responses in order."""

import socket
from itertools import count
from typing import Any, Final, NamedTuple, Self

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import decode_response_header, encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.primitives import Message

TIMEOUT_SECONDS: Final = 20
LENGTH_BYTES: Final = 4
FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's default limit of a request (socket.request.max.bytes). A larger frame is not Kafka's protocol."""


VERSION_MAX: Final = (1 << 15) - 1
"""Versions are 16 bits."""


class ClientError(Exception):
    """The server cannot be reached, or its response is invalid or an error. The message is one line."""


class ConnectionClosed(ClientError):
    """The server closed the connection."""


class Sent(NamedTuple):
    """A request whose response has not been read yet."""

    correlation_id: int
    api_key: int
    version: int


class WireConnection:
    """One connection. Responses must be read in the order of the requests; their order is checked."""

    def __init__(self, bootstrap: str, client_id: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Connect to HOST:PORT.

        Raises:
            ClientError: the address is invalid, or the server cannot be reached.
        """
        host, _, port = bootstrap.rpartition(":")
        if not host or not port.isdecimal():
            raise ClientError(f"{bootstrap} is not HOST:PORT")
        self.bootstrap = bootstrap
        self._client_id = client_id
        self._correlation_ids = count(1)
        self._versions: dict[int, tuple[int, int]] = {}
        try:
            self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout_seconds)
        except (OSError, OverflowError) as problem:
            raise ClientError(f"cannot reach {bootstrap}: {problem}") from problem

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.socket.close()

    def frame(self, message: Message, version: int) -> tuple[bytes, Sent]:
        """Encode a request; the caller sends the bytes."""
        sent = Sent(next(self._correlation_ids), message.API_KEY, version)
        return encode_request(sent.correlation_id, self._client_id, message, version), sent

    def send(self, message: Message, version: int) -> Sent:
        data, sent = self.frame(message, version)
        try:
            self.socket.sendall(data)
        except OSError as problem:
            raise ConnectionClosed(f"cannot send a request to {self.bootstrap}: {problem}") from problem
        return sent

    def receive(self, sent: Sent) -> Any:
        """Read the response to a request.

        Raises:
            ClientError: the response is late, invalid, or that of another request.
            ConnectionClosed: the server closed the connection.
        """
        frame = self.read_frame()
        try:
            correlation_id, body_start = decode_response_header(frame, sent.api_key, sent.version)
            if correlation_id != sent.correlation_id:
                raise ClientError(
                    f"{self.bootstrap} sent correlation id {correlation_id} instead of {sent.correlation_id}"
                )
            return APIS[sent.api_key].response.decode(frame, sent.version, body_start)
        except MalformedMessage as problem:
            raise ClientError(f"{self.bootstrap} sent a response that cannot be decoded: {problem}") from problem

    def request(self, message: Message, version: int) -> Any:
        return self.receive(self.send(message, version))

    def send_latest(self, message: Message, version_max: int = VERSION_MAX) -> Any:
        """Send a request in the latest version up to `version_max` that both sides support; return the response.

        Raises:
            ClientError: there is no such version; otherwise as `receive`.
        """
        return self.request(message, self.latest_version(message.API_KEY, version_max))

    def supports(self, api_key: int) -> bool:
        """Whether the server has the API, in whatever version.

        Raises:
            ClientError: the server does not answer.
        """
        if not self._versions:
            self._versions = self._supported_versions()
        return api_key in self._versions

    def latest_version(self, api_key: int, version_max: int = VERSION_MAX) -> int:
        """The latest version of an API up to `version_max` that both sides support.

        Raises:
            ClientError: there is none, or the server does not answer.
        """
        if not self._versions:
            self._versions = self._supported_versions()
        api = APIS[api_key]
        lowest, highest = self._versions.get(api.key, (0, -1))
        version = min(highest, api.max_version, version_max)
        if version < max(lowest, api.min_version):
            raise ClientError(f"{self.bootstrap} supports no version of {api.name} that this client supports")
        return version

    def read_frame(self) -> bytes:
        """Read one frame and return it without its length.

        Raises:
            ClientError: the frame is late or too large.
            ConnectionClosed: the server closed the connection.
        """
        size = int.from_bytes(self._read_exactly(LENGTH_BYTES), "big")
        if size > FRAME_BYTES_MAX:
            raise ClientError(f"{self.bootstrap} does not use Kafka's protocol")
        return self._read_exactly(size)

    def _supported_versions(self) -> dict[int, tuple[int, int]]:
        """Return API key → lowest and highest version, from ApiVersions version 0, which every server supports."""
        response = self.request(ApiVersionsRequest(), 0)
        if response.error_code != ErrorCode.NONE:
            raise ClientError(f"ApiVersions failed on {self.bootstrap}: error {response.error_code}")
        return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}

    def _read_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except TimeoutError as problem:
                seconds = self.socket.gettimeout()
                raise ClientError(f"{self.bootstrap} did not respond within {seconds:g} s") from problem
            except ConnectionResetError:
                part = b""
            if not part:
                raise ConnectionClosed(f"{self.bootstrap} closed the connection")
            data += part
        return bytes(data)
