"""A whole server in this thread, whose event loop turns when a test says so, and which counts the work of each turn.

Its clients are connections without a socket. Work is counted in calls of functions, which a busy machine does not
change: the clock by which long work is sliced counts them, too.
"""

import asyncio
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Self

from _wire.apis import APIS
from _wire.headers import decode_response_header, encode_request
from _wire.structs import Message
from coordinator.front.connection import Connection
from coordinator.front.request_context import Endpoint
from coordinator.groups.sessions import SessionTable
from coordinator.logger import lines_of_this_thread_to
from coordinator.runtime import slices
from coordinator.testing.node import RestartableNode
from coordinator.timers.wheel import TimerWheel

CALL_SECONDS: Final = 100e-9
"""What a call counts for on the clock of the slices."""
TURNS_MAX: Final = 100_000
LENGTH_BYTES: Final = 4
ENDPOINT: Final = Endpoint("PLAINTEXT", "127.0.0.1", 9092)
FRAME_BYTES_MAX: Final = 100 * 1024 * 1024


class ServerLog:
    """Keeps the lines of the server."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def is_enabled_for(self, level: int) -> bool:
        return True

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        self.lines.append((level, event, fields))


class Peer(asyncio.Transport):
    """The client's side of a connection: what it was sent, and how it goes away. One that `reads` nothing is full."""

    def __init__(self, server: "InProcessServer", reads: bool = True) -> None:
        super().__init__({"peername": ("10.0.0.1", 1)})
        self._server = server
        self._reads = reads
        self.received = bytearray()
        self.unread_bytes = 0
        self.is_lost = False
        self.connection = server.accept(self)

    # ---- as the server sees it

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._reads:
            self.received += data
        else:
            self.unread_bytes += len(data)
            self.connection.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self.unread_bytes

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool:
        return self.is_lost

    def close(self) -> None:
        if not self.is_lost and not self.unread_bytes:
            self.abort()

    def abort(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            self._server.loop.call_soon(self.connection.connection_lost, None)

    # ---- as the client does it

    def send(self, data: bytes) -> None:
        if not self.is_lost:
            self._server.counted(self.connection.data_received, data)

    def request(self, message: Message, version: int) -> Any:
        """Ask, and turn the loop until there is an answer; None if the connection was closed instead."""
        self.received.clear()
        self.send(encode_request(7, "client", message, version))
        self._server.turn_until(lambda: self.is_lost or self.is_answered)
        if not self.is_answered:
            return None
        frame = bytes(self.received[LENGTH_BYTES:])
        _, body_start = decode_response_header(frame, message.API_KEY, version)
        return APIS[message.API_KEY].response.decode(frame, version, body_start)

    @property
    def is_answered(self) -> bool:
        size = int.from_bytes(self.received[:LENGTH_BYTES], "big")
        return len(self.received) >= LENGTH_BYTES and len(self.received) >= LENGTH_BYTES + size

    def leave(self) -> None:
        self.unread_bytes = 0
        self.abort()
        self._server.turn_until(lambda: self.connection not in self._server.connections)


class InProcessServer:
    """Leaving its context stops it."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.loop = asyncio.new_event_loop()
        self.log = ServerLog()
        self.calls = 0
        self.calls_max = 0
        """The most calls of one turn."""
        self._node = RestartableNode(settings)
        self._sessions = SessionTable(TimerWheel(0), 0)

    def __enter__(self) -> Self:
        self._lines = lines_of_this_thread_to(self.log)
        self._lines.__enter__()
        self._clock, slices.seconds = slices.seconds, lambda: self.calls * CALL_SECONDS
        self.loop.run_until_complete(self._node.start())
        self.node = self._node.control.node
        return self

    def __exit__(self, *problem: object) -> None:
        try:
            self.loop.run_until_complete(self._node.stop(clean=False))
            self.loop.run_until_complete(asyncio.sleep(0))
        finally:
            slices.seconds = self._clock
            self._lines.__exit__(None, None, None)
            self.loop.close()

    @property
    def connections(self) -> set[Connection]:
        return self.node.front.dispatcher.connections

    def accept(self, peer: Peer) -> Connection:
        made = Connection(self.node.front.dispatcher, ENDPOINT, self._sessions, self.node.loop.now_ms, FRAME_BYTES_MAX)
        made.connection_made(peer)
        return made

    def counted(self, work: Any, *arguments: Any) -> None:
        """Do something that is a turn, or part of one, and count its calls."""
        before = self.calls
        with self._counting():
            work(*arguments)
        self.calls_max = max(self.calls_max, self.calls - before)

    def turn(self) -> None:
        """One iteration of the event loop."""
        self.loop.call_soon(self.loop.stop)
        self.counted(self.loop.run_forever)

    def turn_until(self, condition: Any) -> None:
        for _ in range(TURNS_MAX):
            if condition():
                return
            self.turn()
        raise AssertionError(f"nothing came of it in {TURNS_MAX} turns")

    def advance(self, seconds: float) -> None:
        self._node.control.advance(seconds)

    @contextmanager
    def _counting(self) -> Iterator[None]:
        def count(frame: FrameType, event: str, argument: object) -> None:
            self.calls += 1

        before = sys.getprofile()
        # CPython 3.11.7 crashes when garbage is collected while a generator runs under a profile function.
        gc.disable()
        sys.setprofile(count)
        try:
            yield
        finally:
            sys.setprofile(before)
            gc.enable()
