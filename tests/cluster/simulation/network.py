"""The network: connections that delay, that are lost, and that deliver what its sender believes to be lost."""

import asyncio
import random
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, NamedTuple

from coordinator.timers.clock import VirtualClock
from tests.cluster.simulation.loop import ProcessLoop

DELAY_MS: Final = 3
"""The most that a message takes on a quiet network."""
TOLD_WITHIN_MS: Final = 200
"""How soon an end learns that its connection was lost."""


class Address(NamedTuple):
    """Where somebody listens."""

    host: str
    port: int


class Listening(NamedTuple):
    """Who listens at an address: the loop of its process, None for a broker, and what makes a connection."""

    loop: ProcessLoop | None
    accept: Callable[[], Any]
    tag: Callable[[], Any]
    """What is noted beside the bytes that this end sends: what was true when it sent them."""


class Events:
    """What happens at a time, in the order of the times."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def after(self, ms: int, happen: Callable[[], None]) -> None:
        self.at(self._clock.now_ms() + ms, happen)

    def at(self, at_ms: int, happen: Callable[[], None]) -> None:
        heappush(self._queue, (at_ms, next(self._numbers), happen))

    def next_ms(self) -> int | None:
        return self._queue[0][0] if self._queue else None

    def run_due(self) -> None:
        while self._queue and self._queue[0][0] <= self._clock.now_ms():
            heappop(self._queue)[2]()


class End:
    """One end of a connection, as a transport of asyncio. Messages of a direction arrive in their order."""

    peer: "End"

    def __init__(self, network: "Network", loop: ProcessLoop | None, host: str, tag: Callable[[], Any]) -> None:
        self._network = network
        self.loop = loop
        self.host = host
        self._tag = tag
        self.protocol: Any = None
        self.is_open = True
        self.last_tag: Any = None
        """What the other end has noted beside the last bytes that came."""
        self._arrives_ms = 0
        """When the last message that was sent arrives."""
        self._drops = False

    # ---- as a protocol sees it

    def write(self, data: bytes) -> None:
        network = self._network
        if not self.is_open or (self.loop is not None and self.loop.is_dead):
            return
        network.on_write(self)
        self._arrives_ms = max(self._arrives_ms, network.now_ms + network.delay_ms())
        tag = self._tag()
        network.events.at(self._arrives_ms, lambda: None if self._drops else self.peer.receive(bytes(data), tag))

    def writelines(self, parts: list[bytes]) -> None:
        self.write(b"".join(parts))

    def close(self) -> None:
        self._end(None, within_ms=0)
        network = self._network
        network.events.at(max(self._arrives_ms, network.now_ms), self.peer.end)

    abort = close

    def is_closing(self) -> bool:
        return not self.is_open

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.peer.host, 1) if name == "peername" else default

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        """A simulated client has one request at a time."""

    def resume_reading(self) -> None:
        """As `pause_reading`."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is buffered."""

    # ---- as the network sees it

    def receive(self, data: bytes, tag: Any) -> None:
        self._call(self._received, data, tag)

    def _received(self, data: bytes, tag: Any) -> None:
        if self.is_open:
            self.last_tag = tag
            self.protocol.data_received(data)

    def lose(self) -> None:
        """The network loses the connection. What is under way in a direction may arrive all the same."""
        for end in (self, self.peer):
            end._drops = self._network.random.random() < 0.4
            arrived_ms = max(end._arrives_ms - self._network.now_ms, 0)
            reported_ms = self._network.random.randrange(TOLD_WITHIN_MS)
            end._end(ConnectionResetError("lost"), reported_ms)
            self._network.events.after(arrived_ms, end.peer.end)

    def _end(self, problem: Exception | None, within_ms: int) -> None:
        """This end sends no more, and learns of it after a while."""
        self.write = lambda data: None  # type: ignore[method-assign]
        self._network.ends.pop(self, None)
        self._network.events.after(within_ms, lambda: self.end(problem))

    def end(self, problem: Exception | None = None) -> None:
        self._call(self._ended, problem)

    def _ended(self, problem: Exception | None) -> None:
        if self.is_open:
            self.is_open = False
            self._network.ends.pop(self, None)
            if self.protocol is not None:
                self.protocol.connection_lost(problem)

    def _call(self, call: Callable[..., None], *arguments: Any) -> None:
        if self.loop is None:
            call(*arguments)
        elif not self.loop.is_dead:
            self.loop.call_soon(call, *arguments)


class Network:
    """Connects the processes, and those with the brokers."""

    def __init__(self, clock: VirtualClock, events: Events, chance: random.Random) -> None:
        self._clock = clock
        self.events = events
        self.random = chance
        self.listening: dict[Address, Listening] = {}
        self.ends: dict[End, None] = {}
        """Those that connections were opened from."""
        self.spikes = 0.0
        """How many of the messages take long."""
        self.spike_ms = 1
        self.on_write: Callable[[End], None] = lambda end: None

    @property
    def now_ms(self) -> int:
        return self._clock.now_ms()

    def delay_ms(self) -> int:
        if self.random.random() < self.spikes:
            return self.random.randrange(self.spike_ms)
        return self.random.randrange(DELAY_MS)

    async def connect(
        self, loop: ProcessLoop, protocol_factory: Callable[[], Any], host: str, port: int
    ) -> tuple[End, Any]:
        """Raises ConnectionRefusedError: nobody listens there."""
        made: asyncio.Future[tuple[End, Any]] = loop.create_future()
        self.events.after(self.delay_ms(), lambda: self._arrive(Address(host, port), loop, protocol_factory, made))
        return await made

    def _arrive(
        self,
        address: Address,
        loop: ProcessLoop,
        protocol_factory: Callable[[], Any],
        made: "asyncio.Future[tuple[End, Any]]",
    ) -> None:
        listening = self.listening.get(address)
        if listening is None or loop.is_dead:
            loop.call_soon(_refuse, made)
            return
        near = End(self, loop, loop.host, lambda: None)
        far = End(self, listening.loop, address.host, listening.tag)
        near.peer, far.peer = far, near
        self.ends[near] = None

        def accept() -> None:
            far.protocol = listening.accept()
            far.protocol.connection_made(far)

        far._call(accept)
        loop.call_soon(_connected, near, protocol_factory, made)

    def kill(self, loop: ProcessLoop) -> None:
        """The process is gone: the other ends of its connections learn of it. What it has sent arrives."""
        loop.is_dead = True
        for end in list(self.ends):
            if loop in (end.loop, end.peer.loop):
                alive = end.peer if end.loop is loop else end
                self.events.after(self.random.randrange(TOLD_WITHIN_MS), alive.end)
                self.ends.pop(end)

    def lose_some(self, share: float) -> int:
        """Lose some of the connections; return how many."""
        lost = [end for end in self.ends if self.random.random() < share]
        for end in lost:
            end.lose()
        return len(lost)


def _refuse(made: "asyncio.Future[tuple[End, Any]]") -> None:
    if not made.done():
        made.set_exception(ConnectionRefusedError("nobody listens there"))


def _connected(near: End, protocol_factory: Callable[[], Any], made: "asyncio.Future[tuple[End, Any]]") -> None:
    if made.done():
        near.close()  # whoever connected has given up
        return
    near.protocol = protocol_factory()
    near.protocol.connection_made(near)
    made.set_result((near, near.protocol))
