"""A blocking client on one socket, which sends requests and reads their responses in order."""

import socket
import ssl
from typing import Any, Final, Self

from _wire.errors import MalformedMessage
from _wire.structs import Message
from coordinator.client.bootstrap import Bootstrap, Server, bootstrap_of
from coordinator.client.requests import FRAME_BYTES_MAX, VERSION_MAX, RequestEncoder, RequestSteps, Sent
from coordinator.client.security import ClientSecurity, tls_problem

TIMEOUT_SECONDS: Final = 20
LENGTH_BYTES: Final = 4


class ClientError(Exception):
    """The server cannot be reached, or its response is invalid or an error. The message is one line."""


class ConnectionClosed(ClientError):
    """The server closed the connection."""


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
        self.socket = self._first_connected(bootstrap, timeout_seconds)
        self._requests = RequestEncoder(self.bootstrap, client_id, ClientError)
        if bootstrap.security.login is not None:
            try:
                self._send_all(self._requests.log_in(bootstrap.security.login))
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

    def _send_all(self, requests: RequestSteps) -> None:
        """Raises ClientError."""
        try:
            message, version = next(requests)
            while True:
                message, version = requests.send(self.request(message, version))
        except StopIteration:
            return

    @property
    def requests(self) -> int:
        """How many were sent."""
        return self._requests.count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.socket.close()

    def frame(self, message: Message, version: int) -> tuple[bytes, Sent]:
        """Encode a request; the caller sends the bytes."""
        return self._requests.encode(message, version)

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
            return sent.decoder(frame)()
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
        return self._supported().supports(api_key)

    def latest_version(self, api_key: int, version_max: int = VERSION_MAX) -> int:
        """The latest version of an API up to `version_max` that both sides support.

        Raises:
            ClientError: there is none, or the server does not answer.
        """
        return self._supported().latest_version(api_key, version_max)

    def _supported(self) -> RequestEncoder:
        """With the versions that the server supports: it is asked once."""
        if not self._requests.versions:
            self._send_all(self._requests.ask_versions())
        return self._requests

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
