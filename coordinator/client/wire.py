"""A blocking client on one socket, which sends requests and reads their responses in order."""

import socket
import ssl
from itertools import count
from typing import Any, Final, Self

import msgspec

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import decode_response_header, encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from _wire.primitives import Message
from coordinator.client.bootstrap import Bootstrap, Server, bootstrap_of
from coordinator.client.login import Login, LoginError
from coordinator.client.security import ClientSecurity, tls_problem

TIMEOUT_SECONDS: Final = 20
LENGTH_BYTES: Final = 4
FRAME_BYTES_MAX: Final = 100 * 1024 * 1024
"""Kafka's default limit of a request (socket.request.max.bytes). A larger frame is not Kafka's protocol."""


HANDSHAKE_VERSION: Final = 1
AUTHENTICATE_VERSION: Final = 1
VERSION_MAX: Final = (1 << 15) - 1
"""Versions are 16 bits."""


class ClientError(Exception):
    """The server cannot be reached, or its response is invalid or an error. The message is one line."""


class ConnectionClosed(ClientError):
    """The server closed the connection."""


class Sent(msgspec.Struct, frozen=True):
    """A request whose response has not been read yet."""

    correlation_id: int
    api_key: int
    version: int


class WireConnection:
    """One connection. Responses must be read in the order of the requests; their order is checked."""

    def __init__(self, server: Server, client_id: str, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        """Connect to HOST:PORT, or to the first of several that can be reached, and log in if there is a login.

        Raises:
            ClientError: an address is invalid, no server can be reached, or it refuses the login.
        """
        bootstrap = bootstrap_of(server)
        self.bootstrap = bootstrap.address
        """The server that was reached."""
        self._client_id = client_id
        self._correlation_ids = count(1)
        self.requests = 0
        """That were sent."""
        self._versions: dict[int, tuple[int, int]] = {}
        self.socket = self._first_connected(bootstrap, timeout_seconds)
        if bootstrap.security.login is not None:
            try:
                self._log_in(bootstrap.security.login)
            except BaseException:
                self.socket.close()
                raise

    def _first_connected(self, bootstrap: Bootstrap, timeout_seconds: float) -> socket.socket:
        servers = [(server, *_host_and_port(server.address)) for server in bootstrap.servers()]
        problems = []
        for server, host, port in servers:
            self.bootstrap = server.address
            try:
                return self._connected(host, port, server.security, timeout_seconds)
            except ClientError as problem:
                problems.append(str(problem))
        raise ClientError("; ".join(problems))

    def _connected(self, host: str, port: int, security: ClientSecurity, timeout_seconds: float) -> socket.socket:
        try:
            connected = socket.create_connection((host, port), timeout_seconds)
        except (OSError, OverflowError) as problem:
            raise ClientError(f"cannot reach {self.bootstrap}: {problem}") from problem
        try:
            return security.secured(connected, host)
        except OSError as problem:
            connected.close()
            raise ClientError(f"no TLS connection to {self.bootstrap}: {tls_problem(problem)}") from problem

    def _log_in(self, login: Login) -> None:
        """Log in (KIP-152). Raises ClientError."""
        handshake = self.request(SaslHandshakeRequest(mechanism=login.mechanism), HANDSHAKE_VERSION)
        if handshake.error_code != ErrorCode.NONE:
            served = ", ".join(handshake.mechanisms) or "none"
            raise ClientError(f"{self.bootstrap} does not accept {login.mechanism}; its mechanisms are: {served}")
        try:
            self._exchange(login)
        except LoginError as problem:
            raise ClientError(f"cannot log in to {self.bootstrap}: {problem}") from problem

    def _exchange(self, login: Login) -> None:
        messages = login.exchange()
        try:
            message = next(messages)
            while True:
                answer = self.request(SaslAuthenticateRequest(auth_bytes=message), AUTHENTICATE_VERSION)
                if answer.error_code != ErrorCode.NONE:
                    raise LoginError(f"the login of {login.who} was refused: {answer.error_message}")
                message = messages.send(answer.auth_bytes)
        except StopIteration:
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.socket.close()

    def frame(self, message: Message, version: int) -> tuple[bytes, Sent]:
        """Encode a request; the caller sends the bytes."""
        self.requests += 1
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
        return {api_key.api_key: (api_key.min_version, api_key.max_version) for api_key in response.api_keys}

    def _read_exactly(self, size: int) -> bytes:
        # Memory that nothing is written to is not taken, whatever size a frame claims to have.
        data = bytearray(size)
        left = memoryview(data)
        while left:
            try:
                count = self.socket.recv_into(left)
            except TimeoutError as problem:
                seconds = self.socket.gettimeout()
                raise ClientError(f"{self.bootstrap} did not respond within {seconds:g} s") from problem
            except ConnectionResetError:
                count = 0
            except ssl.SSLError as problem:
                # With TLS 1.3 the server may refuse a client when the handshake is over for the client.
                raise ConnectionClosed(f"no TLS connection to {self.bootstrap}: {tls_problem(problem)}") from problem
            if not count:
                raise ConnectionClosed(f"{self.bootstrap} closed the connection")
            left = left[count:]
        return bytes(data)


def _host_and_port(address: str) -> tuple[str, int]:
    """Raises ClientError."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ClientError(f"{address} is not HOST:PORT")
    return host.strip("[]"), int(port)
