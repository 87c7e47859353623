"""A listening port for each broker of the cluster: the base port plus the id of the broker."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from coordinator.cluster.relay.directory import FIRST_NODE_ID
from coordinator.cluster.relay.relayed_connection import RelayedConnection, RelayParts
from coordinator.front.acceptor import Acceptor, ProtocolOf
from coordinator.front.connection import Connection
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.descriptors import DescriptorReserve
from coordinator.front.limits import ConnectionLimits, plain_address
from coordinator.listen_address import PORT_AT_MOST, Address, bind
from coordinator.logger import logger

__all__ = ["BrokerListeners", "BrokerPortError"]

RETRY_SECONDS: Final = 10
"""How long after a failure a port is tried again: another process may have used it."""


class BrokerPortError(Exception):
    """Brokers for which there is no port. The message is one line with all of them."""


class _Port:
    """The port of one broker."""

    def __init__(self, acceptor: Acceptor) -> None:
        self.acceptor = acceptor
        self.connections: set[RelayedConnection] = set()
        self.is_leaving = False
        """Whether the broker is gone: the port is closed when its connections have ended."""


class BrokerListeners:
    """The ports of one listener. Lives in the running event loop."""

    def __init__(
        self,
        host: str,
        base_port: int,
        parts: RelayParts,
        limits: ConnectionLimits,
        rate: ConnectionRate,
        descriptors: DescriptorReserve | None = None,
        protocol_of: ProtocolOf | None = None,
    ) -> None:
        """`protocol_of` puts TLS before a connection. Connections count among those of the node (`limits`)."""
        self._host = host
        self._base_port = base_port
        self._parts = parts
        self._limits = limits
        self._rate = rate
        self._descriptors = descriptors
        self._protocol_of = protocol_of
        self._ports: dict[int, _Port] = {}
        self._retry: asyncio.TimerHandle | None = None

    @property
    def broker_ids(self) -> frozenset[int]:
        """The brokers that have a port."""
        return frozenset(self._ports)

    def port_of(self, broker_id: int) -> int | None:
        """The port of a broker; None: it has none."""
        return self._base_port + broker_id if broker_id in self._ports else None

    def follow(self, broker_ids: Iterable[int]) -> None:
        """Open ports for brokers that are new; those of brokers that are gone are closed when they are not used.

        Raises:
            BrokerPortError: some brokers have no port. The others have one all the same.
        """
        present = set(broker_ids)
        problems = []
        for broker_id in sorted(present - self._ports.keys()):
            problem = self._problem(broker_id) or self._open(broker_id)
            if problem:
                problems.append(f"broker {broker_id}: {problem}")
        for broker_id, port in list(self._ports.items()):
            port.is_leaving = broker_id not in present
            self._close_unused(broker_id)
        if problems:
            raise BrokerPortError("; ".join(problems))

    def keep_following(self, brokers: Callable[[], Iterable[int]]) -> None:
        """Follow the brokers that there are, again and again until all have a port: a change is not told twice."""
        self._end_retry()
        try:
            self.follow(brokers())
        except BrokerPortError as problem:
            logger.error("brokers without a port", problem=str(problem))
            self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self.keep_following, brokers)

    def _end_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def close(self) -> None:
        """Close all ports and connections."""
        self._end_retry()
        ports, self._ports = self._ports, {}
        for port in ports.values():
            port.acceptor.close()
            for connection in list(port.connections):
                connection.close()

    def _problem(self, broker_id: int) -> str:
        """Why a broker cannot have a port; empty if it can."""
        port = self._base_port + broker_id
        if broker_id >= FIRST_NODE_ID:
            return f"ids from {FIRST_NODE_ID} on are those of coordinator nodes"
        if broker_id < 0 or not 0 < port <= PORT_AT_MOST:
            return f"its port would be {self._base_port} + {broker_id}, which is not in 1 to {PORT_AT_MOST}"
        return ""

    def _open(self, broker_id: int) -> str:
        """Open the port of a broker; return why that failed, or an empty text."""
        acceptor = Acceptor(self._limits, self._rate, self._descriptors, self._parts.on_rejected)
        address = Address("", self._host, self._base_port + broker_id)
        port = _Port(acceptor)
        try:
            sock = bind(address)
            acceptor.listen(sock, self._connection_of(broker_id, port), self._protocol_of)
        except OSError as problem:
            acceptor.close()
            return str(problem)
        self._ports[broker_id] = port
        logger.info("listening for broker", broker=broker_id, port=address.port)
        return ""

    def _connection_of(self, broker_id: int, port: _Port) -> Callable[[], Any]:
        def on_made(connection: RelayedConnection) -> str | None:
            port.connections.add(connection)
            return self._limits.excess_of(plain_address(connection.address))

        def on_lost(connection: RelayedConnection) -> None:
            self._limits.not_begun(cast(Connection, connection))
            port.connections.discard(connection)
            self._close_unused(broker_id)

        return lambda: RelayedConnection(self._parts, broker_id, on_made, on_lost)

    def _close_unused(self, broker_id: int) -> None:
        port = self._ports.get(broker_id)
        if port is not None and port.is_leaving and not port.connections:
            del self._ports[broker_id]
            port.acceptor.close()
            logger.info("port of broker closed", broker=broker_id, port=self._base_port + broker_id)
