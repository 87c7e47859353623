"""The listening sockets, and the endpoints that are advertised to clients."""

import socket
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from coordinator.config.key import ConfigError
from coordinator.config.listener_keys import ADVERTISED_LISTENERS, LISTENERS
from coordinator.config.network_keys import MAX_CONNECTION_CREATION_RATE, SOCKET_REQUEST_MAX_BYTES
from coordinator.config.settings import Config
from coordinator.groups.sessions import SessionTable
from coordinator.listen_address import Address, ListenError, bind, parse_addresses
from coordinator.server.acceptor import Acceptor
from coordinator.server.connection import Connection
from coordinator.server.connection_rate import ConnectionRate
from coordinator.server.descriptors import DescriptorReserve
from coordinator.server.limits import ConnectionLimits
from coordinator.server.request_context import Endpoint
from coordinator.server.request_dispatcher import RequestDispatcher

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics

PLAINTEXT: Final = "PLAINTEXT"
NOT_SERVED: Final = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The security protocols of Kafka that need what is not here. As names of listeners they promise it."""


class Listeners:
    """The listening sockets of one server."""

    def __init__(
        self,
        config: Config,
        dispatcher: RequestDispatcher,
        limits: ConnectionLimits,
        sessions: SessionTable,
        now_ms: Callable[[], int],
        *,
        metrics: "NodeMetrics | None" = None,
        descriptors: DescriptorReserve | None = None,
    ) -> None:
        """Parse the settings; `open` binds the sockets. Without `metrics` the connections count nothing.

        Raises:
            ConfigError: the listeners or the advertised listeners are invalid.
        """
        self._addresses = parse_addresses(LISTENERS.name, config[LISTENERS])
        if not self._addresses:
            raise ConfigError(f"{LISTENERS.name}: at least one listener is needed")
        advertised = parse_addresses(ADVERTISED_LISTENERS.name, config[ADVERTISED_LISTENERS])
        self._advertised = {address.name: address for address in advertised}
        for address in self._addresses:
            if address.name.upper() in NOT_SERVED:
                raise ConfigError(
                    f"{LISTENERS.name}={config[LISTENERS]}: {address.name} is not served, connections have neither "
                    f"encryption nor login; name the listener {PLAINTEXT} (or anything else, like INTERNAL) and use it "
                    "in a network that you trust, or behind a proxy with TLS"
                )
        for unknown in self._advertised.keys() - {address.name for address in self._addresses}:
            raise ConfigError(f"{ADVERTISED_LISTENERS.name}: there is no listener {unknown}")
        self._frame_bytes_max = config[SOCKET_REQUEST_MAX_BYTES]
        self._dispatcher = dispatcher
        self._sessions = sessions
        self._now_ms = now_ms
        self._metrics = metrics
        self._limits = limits
        self._descriptors = descriptors
        self._rate = ConnectionRate(config[MAX_CONNECTION_CREATION_RATE])
        self._acceptor: Acceptor | None = None
        self.endpoints: list[Endpoint] = []

    async def open(self) -> None:
        """Bind all addresses, then accept connections.

        Raises:
            ListenError: an address cannot be bound.
        """
        bound: list[socket.socket] = []
        try:
            for address in self._addresses:
                bound.append(bind(address))
        except ListenError:
            for sock in bound:
                sock.close()
            raise
        self._acceptor = Acceptor(self._limits, self._rate, self._descriptors, self._rejected)
        for address, sock in zip(self._addresses, bound, strict=True):
            endpoint = self._endpoint(address, sock.getsockname()[1])
            self.endpoints.append(endpoint)
            try:
                self._acceptor.listen(sock, partial(self._make_connection, endpoint))
            except OSError as problem:
                self.close()
                raise ListenError(f"cannot listen on {address.host}:{address.port}: {problem.strerror}") from None

    def _rejected(self, address: str, reason: str) -> None:
        self._dispatcher.rejected_address(address, reason)

    def close(self) -> None:
        """Stop accepting connections."""
        if self._acceptor is not None:
            self._acceptor.close()

    def _endpoint(self, address: Address, port: int) -> Endpoint:
        advertised = self._advertised.get(address.name)
        if advertised is not None:
            return Endpoint(address.name, advertised.host, advertised.port or port)
        is_wildcard = address.host in ("", "0.0.0.0", "::")
        return Endpoint(address.name, socket.gethostname() if is_wildcard else address.host, port)

    def _make_connection(self, endpoint: Endpoint) -> Connection:
        meter = None if self._metrics is None else self._metrics.listener(endpoint.name)
        return Connection(self._dispatcher, endpoint, self._sessions, self._now_ms, self._frame_bytes_max, meter)
