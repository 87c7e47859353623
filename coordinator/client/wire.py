"""A blocking client on one socket, of nothing but our messages: a request, its answer, in order."""

import socket
from itertools import count
from typing import Any, Final, NamedTuple, Self

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import decode_response_header, encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.primitives import Message

PATIENCE_SECONDS: Final = 20
LENGTH_BYTES: Final = 4
FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""As much as Kafka takes of a request (socket.request.max.bytes); more than that is another protocol."""


class ClientError(Exception):
    """The server cannot be reached, or its answer is of no use; the text is one line for whoever called it."""


class ConnectionClosed(ClientError):
    """The server closed the connection."""


class Sent(NamedTuple):
    """A request whose answer is still to be read."""

    correlation_id: int
    api_key: int
    version: int


class WireConnection:
    """One connection. Answers are read in the order of the requests, and checked to come in it."""

    def __init__(self, bootstrap: str, client_id: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
        """Connect to HOST:PORT; raises ClientError."""
        host, _, port = bootstrap.rpartition(":")
        if not host or not port.isdecimal():
            raise ClientError(f"{bootstrap} is not HOST:PORT")
        self.bootstrap = bootstrap
        self._client_id = client_id
        self._correlation_ids = count(1)
        self._versions: dict[int, tuple[int, int]] = {}
        try:
            self.socket = socket.create_connection((host.strip("[]"), int(port)), patience_seconds)
        except (OSError, OverflowError) as problem:
            raise ClientError(f"cannot reach {bootstrap}: {problem}") from problem

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.socket.close()

    def frame(self, message: Message, version: int) -> tuple[bytes, Sent]:
        """The bytes of a request that is still to be written."""
        sent = Sent(next(self._correlation_ids), message.API_KEY, version)
        return encode_request(sent.correlation_id, self._client_id, message, version), sent

    def send(self, message: Message, version: int) -> Sent:
        data, sent = self.frame(message, version)
        try:
            self.socket.sendall(data)
        except OSError as problem:
            raise ConnectionClosed(f"{self.bootstrap} took no request: {problem}") from problem
        return sent

    def receive(self, sent: Sent) -> Any:
        """The answer to a request that was sent before."""
        frame = self.read_frame()
        try:
            correlation_id, body_start = decode_response_header(frame, sent.api_key, sent.version)
            if correlation_id != sent.correlation_id:
                raise ClientError(f"{self.bootstrap} answered {correlation_id} where {sent.correlation_id} was asked")
            return APIS[sent.api_key].response.decode(frame, sent.version, body_start)
        except MalformedMessage as problem:
            raise ClientError(f"{self.bootstrap} answered what cannot be read: {problem}") from problem

    def ask(self, message: Message, version: int) -> Any:
        return self.receive(self.send(message, version))

    def ask_latest(self, message: Message) -> Any:
        """In the latest version that the server and we both speak; raises ClientError where there is none."""
        if not self._versions:
            self._versions = self._supported_versions()
        api = APIS[message.API_KEY]
        lowest, highest = self._versions.get(api.key, (0, -1))
        version = min(highest, api.max_version)
        if version < max(lowest, api.min_version):
            raise ClientError(f"{self.bootstrap} does not speak {api.name} in a version that we do")
        return self.ask(message, version)

    def read_frame(self) -> bytes:
        """A frame without its length. Raises ClientError, ConnectionClosed for one."""
        size = int.from_bytes(self._read_exactly(LENGTH_BYTES), "big")
        if size > FRAME_BYTES_MAX:
            raise ClientError(f"{self.bootstrap} does not speak Kafka's protocol")
        return self._read_exactly(size)

    def _supported_versions(self) -> dict[int, tuple[int, int]]:
        """API key → lowest and highest version; in version 0, which every server takes."""
        answer = self.ask(ApiVersionsRequest(), 0)
        if answer.error_code != ErrorCode.NONE:
            raise ClientError(f"{self.bootstrap} does not say what it speaks: error {answer.error_code}")
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def _read_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except TimeoutError as problem:
                raise ClientError(f"{self.bootstrap} did not answer in time") from problem
            except ConnectionResetError:
                part = b""
            if not part:
                raise ConnectionClosed(f"{self.bootstrap} closed the connection")
            data += part
        return bytes(data)
