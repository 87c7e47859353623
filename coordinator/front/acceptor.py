"""Accepts the connections of all listeners, as long as there is room for them.

At a limit accepting pauses, as in Kafka: new clients wait in the queues of the system, cost nothing, and are served as
soon as others have gone. The event loop's own servers cannot pause, and uvloop's never accepts again after it found no
free descriptor, so this reads the listening sockets itself.
"""

import _socket
import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Final

from coordinator.front.connection import Connection
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.descriptors import DescriptorReserve
from coordinator.front.limits import ConnectionLimits, plain_address
from coordinator.logger import logger

BACKLOG: Final = 1024
DOUBLINGS_MAX: Final = 4
"""At most 16 connections are accepted in an iteration of the event loop: they must not delay those that are there."""
SOON_SECONDS: Final = 1.0
"""Whoever comes so soon after the last one may be one of many that come together. It is long beside an iteration of a
loop that has much to do: with one connection in each of these, the last of a thousand waited for 20 s."""
MANY_FROM: Final = 16
"""Iterations in a row with so soon a connection until more than one is accepted in each: to find out that no other one
waits takes a system call in vain."""
DOUBLED_AFTER: Final = 4
"""Further iterations until twice as many are."""

LAST_SHARE: Final = 10
"""The last tenth of the connections is for addresses that have few."""
FEW_CONNECTIONS: Final = 3
"""What a client needs: for metadata, for its coordinator, and for one leader."""

LAST_SHARE_USED: Final = (
    f"the last tenth of all connections is for addresses that have fewer than {FEW_CONNECTIONS} "
    "(max.connections, ulimit -n)"
)

RETRY_SECONDS: Final = 0.05
"""How often a pause looks for room."""

QUIET_SECONDS: Final = 1.0
"""How long there must have been room until the log says so: at a limit connections come and go."""


ProtocolOf = Callable[[Connection, str], asyncio.Protocol]
"""Makes what receives the bytes of a connection, which comes from an address."""

Begun = Coroutine[asyncio.Future[Any], None, tuple[asyncio.Transport, Any]]
"""What `connect_accepted_socket` returns."""


class AcceptedSocket(socket.socket):
    """A socket whose family and type stay numbers: to look up the members of an enum takes as long as to accept it."""

    __slots__ = ()
    family = _socket.socket.family  # type: ignore[assignment]
    type = _socket.socket.type  # type: ignore[assignment]


class Acceptor:
    """Turns what comes in at the listening sockets into connections. Lives in the running event loop."""

    def __init__(
        self,
        limits: ConnectionLimits,
        rate: ConnectionRate,
        descriptors: DescriptorReserve | None = None,
        on_rejected: Callable[[str, str], None] = lambda address, reason: None,
    ) -> None:
        """`on_rejected` is called with the address and the reason for each connection that is closed at once."""
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._rate = rate
        self._descriptors = descriptors or DescriptorReserve()
        self._on_rejected = on_rejected
        self._listeners: dict[socket.socket, tuple[Callable[[], Connection], ProtocolOf | None]] = {}
        self._kinds: dict[socket.socket, tuple[int, int, int]] = {}
        """Family, type and protocol of each of them, as numbers."""
        self._in_a_row = 0
        self._accepted_at = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self._is_paused = False
        self._paused_at = 0.0
        self._is_reported = ""

    @property
    def _last_share(self) -> int:
        """How many of the connections are kept for addresses that have few."""
        return min(self._limits.most, self._descriptors.connections_max) // LAST_SHARE

    def listen(
        self, sock: socket.socket, make_connection: Callable[[], Connection], protocol_of: ProtocolOf | None = None
    ) -> None:
        """Accept connections at a bound socket, which is owned and closed from now on.

        `protocol_of` makes what receives the bytes of a connection, if that is not the connection itself: TLS.

        Raises:
            OSError: the address is in use.
        """
        sock.listen(BACKLOG)
        sock.setblocking(False)
        self._listeners[sock] = (make_connection, protocol_of)
        self._kinds[sock] = (int(sock.family), int(sock.type), sock.proto)
        if not self._is_paused:
            self._loop.add_reader(sock, self._accept_from, sock)

    def close(self) -> None:
        """Stop accepting connections."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        for sock in self._listeners:
            self._loop.remove_reader(sock)
            sock.close()
        self._listeners.clear()
        self._kinds.clear()

    def _accept_from(self, listening: socket.socket) -> None:
        now = self._loop.time()
        comes_soon = now - self._accepted_at < SOON_SECONDS
        self._in_a_row = self._in_a_row + 1 if comes_soon else 0
        self._accepted_at = now
        in_a_row = self._in_a_row - MANY_FROM
        doublings = 0 if in_a_row < 0 else min(1 + in_a_row // DOUBLED_AFTER, DOUBLINGS_MAX)
        for _ in range(2**doublings):
            room = self._room(listening)
            if room <= 0:
                self._pause(self._reason_to_pause(), RETRY_SECONDS)
                return
            wait = self._rate.wait(now)
            if wait:
                self._pause("", wait)
                return
            try:
                descriptor, peer = listening._accept()  # type: ignore[attr-defined]  # `accept` without its socket
            except (BlockingIOError, InterruptedError):
                self._in_a_row = 0
                return
            except ConnectionAbortedError:
                continue
            except OSError as problem:
                # No descriptor, no memory, or an error of the network. None of them says anything of the listener.
                self._pause(f"cannot accept connections: {problem.strerror}", RETRY_SECONDS)
                return
            family, kind, protocol_number = self._kinds[listening]
            accepted = AcceptedSocket(family, kind, protocol_number, descriptor)
            self._rate.consume()
            self._descriptors.given(descriptor)
            address = plain_address(peer[0])
            if self._limits.accepted_from(address) >= FEW_CONNECTIONS and room <= self._last_share:
                accepted.close()
                self._on_rejected(address, LAST_SHARE_USED)
                continue
            make_connection, protocol_of = self._listeners[listening]
            self._start(accepted, make_connection(), address, protocol_of)

    def _room(self, listening: socket.socket) -> int:
        """How many connections more there may be now."""
        room = self._limits.room
        if room <= 0:
            return room
        return min(room, self._descriptors.room(listening.fileno(), self._limits.accepted_count))

    def _reason_to_pause(self) -> str:
        return self._limits.full() or (
            f"{self._descriptors.reserve} of {self._descriptors.limit} file descriptors are kept for other things "
            "than connections (ulimit -n)"
        )

    def _start(
        self, accepted: socket.socket, connection: Connection, address: str, protocol_of: ProtocolOf | None
    ) -> None:
        self._limits.accepted(connection, address)
        protocol: Any = connection if protocol_of is None else protocol_of(connection, address)
        begun = self._loop.connect_accepted_socket(lambda: protocol, accepted)
        try:
            # As Kafka: a peer that went away without a word is noticed, and no response waits for more bytes.
            accepted.setblocking(False)
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as problem:
            begun.close()
            self._not_begun(accepted, connection, problem)
            return
        self._begin(begun, accepted, connection)

    def _begin(self, begun: Begun, accepted: socket.socket, connection: Connection) -> None:
        """Go on with the beginning of a connection, which waits once; a task of its own would be most of it."""
        try:
            waits_for = begun.send(None)
        except StopIteration as end:
            if not self._listeners:
                end.value[0].abort()
        except OSError as problem:
            self._not_begun(accepted, connection, problem)
        except BaseException:
            accepted.close()
            self._limits.not_begun(connection)
            raise
        else:
            waits_for.add_done_callback(lambda _: self._begin(begun, accepted, connection))

    def _not_begun(self, accepted: socket.socket, connection: Connection, problem: OSError) -> None:
        """The client went away before its connection began."""
        accepted.close()
        self._limits.not_begun(connection)
        logger.debug("connection not begun", reason=str(problem))

    def _pause(self, reason: str, seconds: float) -> None:
        """Stop accepting until there is room. Without a reason there is nothing to tell: the rate is kept."""
        if reason and not self._is_reported:
            self._is_reported = reason
            logger.warning("connection limit reached; accepting paused", reason=reason)
        if reason:
            self._paused_at = self._loop.time()
        if not self._is_paused:
            self._is_paused = True
            for sock in self._listeners:
                self._loop.remove_reader(sock)
        self._retry_in(seconds)

    def _retry_in(self, seconds: float) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._retry = self._loop.call_later(seconds, self._retry_accepting)

    def _retry_accepting(self) -> None:
        """Go on if there is room; tell of it when there was room for a while."""
        self._retry = None
        if self._room(next(iter(self._listeners))) <= 0:
            self._pause(self._reason_to_pause(), RETRY_SECONDS)
            return
        if self._is_paused:
            self._is_paused = False
            for sock in self._listeners:
                self._loop.add_reader(sock, self._accept_from, sock)
        if self._is_reported:
            if self._loop.time() - self._paused_at >= QUIET_SECONDS:
                logger.info("accepting resumed", after=self._is_reported)
                self._is_reported = ""
            else:
                self._retry_in(RETRY_SECONDS)
