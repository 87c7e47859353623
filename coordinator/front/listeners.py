"""The listening sockets, and what connections they make."""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from coordinator.config.key import ConfigError
from coordinator.config.metrics_keys import ADMIN_NAME
from coordinator.config.network_keys import MAX_CONNECTION_CREATION_RATE, SOCKET_REQUEST_MAX_BYTES
from coordinator.config.settings import Config
from coordinator.front.acceptor import Acceptor
from coordinator.front.connection import Connection
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.descriptors import DescriptorReserve
from coordinator.front.limits import ConnectionLimits
from coordinator.front.listener import Listener
from coordinator.front.rejection_log import RejectionLog
from coordinator.front.request_context import Endpoint
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.groups.sessions import SessionTable
from coordinator.inherited_sockets import InheritedSockets
from coordinator.listen_address import ListenError, bind

if TYPE_CHECKING:
    from coordinator.front.logins import LoginGate
    from coordinator.front.tls_listeners import TlsListeners
    from coordinator.metrics.node_metrics import NodeMetrics


class ReadKeys(Protocol):
    """The keys of tokens, which are read beside the event loop (`SigningKeys`)."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class ListenerLogins(msgspec.Struct, frozen=True, kw_only=True):
    """What listeners with a login need."""

    gates: "Mapping[str, LoginGate]"
    """Listener → what its connections have in place of the dispatcher."""
    keys: Sequence[ReadKeys] = ()


class Listeners:
    """The listening sockets of one server."""

    def __init__(
        self,
        config: Config,
        listeners: Sequence[Listener],
        dispatcher: RequestDispatcher,
        limits: ConnectionLimits,
        sessions: SessionTable,
        now_ms: Callable[[], int],
        *,
        rejections: RejectionLog,
        tls: "TlsListeners | None" = None,
        logins: ListenerLogins | None = None,
        metrics: "NodeMetrics | None" = None,
        descriptors: DescriptorReserve | None = None,
        inherited: InheritedSockets | None = None,
    ) -> None:
        """`open` binds the sockets that are not `inherited`. Without `metrics` the connections count nothing.

        `tls` is needed by listeners with TLS, `logins` by those with a login.
        """
        self.listeners: Final = listeners
        for listener in self.listeners:
            if listener.security_protocol.has_sasl:
                assert logins is not None and listener.name in logins.gates, "a listener with a login has a gate"
            assert tls is not None or not listener.security_protocol.has_tls, "the same with TLS"
        self.gates: Final = {} if logins is None else logins.gates
        self._keys = () if logins is None else logins.keys
        self.tls: Final = tls
        self._frame_bytes_max = config[SOCKET_REQUEST_MAX_BYTES]
        self._dispatcher = dispatcher
        self._sessions = sessions
        self._now_ms = now_ms
        self._metrics = metrics
        self._limits = limits
        self._rejections = rejections
        self._descriptors = descriptors
        self._inherited = inherited or InheritedSockets()
        self._rate = ConnectionRate(config[MAX_CONNECTION_CREATION_RATE])
        config.when_changed(
            [MAX_CONNECTION_CREATION_RATE], lambda: self._rate.change(config[MAX_CONNECTION_CREATION_RATE])
        )
        self._acceptor: Acceptor | None = None

    def secure_admin(self) -> "Callable[[Any], asyncio.Protocol] | None":
        """What puts TLS before a connection of the admin port; None if it has none."""
        protocol_of = None if self.tls is None else self.tls.protocol_of(ADMIN_NAME)
        return None if protocol_of is None else lambda connection: protocol_of(connection, "")

    @property
    def endpoints(self) -> list[Endpoint]:
        """Of the listeners that are bound."""
        return [listener.endpoint for listener in self.listeners if listener.endpoint is not None]

    async def open(self) -> None:
        """Bind all addresses, then accept connections.

        Raises:
            ConfigError: an inherited socket has another port than its listener.
            ListenError: an address cannot be bound.
        """
        bound: list[socket.socket] = []
        try:
            for listener in self.listeners:
                bound.append(self._inherited.claim(listener.address) or bind(listener.address))
        except (ConfigError, ListenError):
            for sock in bound:
                sock.close()
            raise
        self._acceptor = Acceptor(self._limits, self._rate, self._descriptors, self._rejections.rejected_address)
        for listener, sock in zip(self.listeners, bound, strict=True):
            listener.bound(sock.getsockname()[1])
            protocol_of = None if self.tls is None else self.tls.protocol_of(listener.name)
            try:
                self._acceptor.listen(sock, partial(self._make_connection, listener), protocol_of)
            except OSError as problem:
                self.close()
                host, port = listener.address.host, listener.address.port
                raise ListenError(f"cannot listen on {host}:{port}: {problem.strerror}") from None
        if self.tls is not None:
            self.tls.start()
        for keys in self._keys:
            keys.start()

    def close(self) -> None:
        """Stop accepting connections."""
        if self._acceptor is not None:
            self._acceptor.close()
        if self.tls is not None:
            self.tls.close()
        for keys in self._keys:
            keys.stop()

    def _make_connection(self, listener: Listener) -> Connection:
        endpoint = listener.endpoint
        assert endpoint is not None, "a listener that accepts connections is bound"
        meter = None if self._metrics is None else self._metrics.listener(listener.name)
        gate = self.gates.get(listener.name)
        if gate is not None:
            return gate.connection(endpoint, self._sessions, self._frame_bytes_max, meter)
        return Connection(self._dispatcher, endpoint, self._sessions, self._now_ms, self._frame_bytes_max, meter)
