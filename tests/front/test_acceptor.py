"""Accepting pauses and goes on: without descriptors, at a limit, under both event loops."""

import asyncio
import errno
import os
import resource
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Any, Final, cast
from unittest.mock import patch

import pytest
import uvloop

from coordinator.config.settings import Config
from coordinator.front.acceptor import LAST_SHARE_USED, RETRY_SECONDS, Acceptor
from coordinator.front.connection import Connection
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.descriptors import DescriptorReserve
from coordinator.front.limits import ConnectionLimits
from tests.front.descriptors import no_free_descriptor_below_an_open_one
from tests.front.log_lines import LogLines, log_lines

UNLIMITED: Final = 1 << 30
DEADLINE_SECONDS: Final = 10
PAUSED: Final = "connection limit reached; accepting paused"
AGAIN: Final = "accepting resumed"
LOOPS: Final = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


class Peer(asyncio.Protocol):
    """What the server has of one connection."""

    client_host = "/127.0.0.1"
    last_heard_ms = 0

    def __init__(self, server: "Server") -> None:
        self._server = server
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._server.peers.append(self)

    def connection_lost(self, problem: Exception | None) -> None:
        self._server.peers.remove(self)
        self._server.limits.not_begun(cast(Connection, self))


class Server:
    """An acceptor with one listening socket."""

    def __init__(self, settings: dict[str, str], descriptors: DescriptorReserve | None, per_second: int) -> None:
        config = Config(settings)
        scheduler: Any = None
        self.peers: list[Peer] = []
        self.limits = ConnectionLimits(config, scheduler)
        self.rejected: list[tuple[str, str]] = []
        self.acceptor = Acceptor(
            self.limits, ConnectionRate(per_second), descriptors, lambda *rejected: self.rejected.append(rejected)
        )
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self.address = listening.getsockname()
        self.acceptor.listen(listening, lambda: cast(Connection, Peer(self)))

    def peer_names(self) -> list[Any]:
        """The addresses of those that are connected."""
        return [peer.transport.get_extra_info("peername") for peer in self.peers]

    def connect(self) -> socket.socket:
        """A client, which the system connects whether the server accepts or not."""
        return socket.create_connection(self.address, timeout=DEADLINE_SECONDS)


Story = Callable[[Server, LogLines], Awaitable[None]]


def play(
    run: Any,
    story: Story,
    settings: dict[str, str] | None = None,
    descriptors: DescriptorReserve | None = None,
    per_second: int = UNLIMITED,
) -> None:
    async def main() -> None:
        with log_lines() as lines:
            server = Server(settings or {}, descriptors, per_second)
            try:
                await story(server, lines)
            finally:
                server.acceptor.close()
                for peer in server.peers:
                    peer.transport.abort()

    run(main())


async def until(condition: Callable[[], object], what: str) -> None:
    deadline = asyncio.get_running_loop().time() + DEADLINE_SECONDS
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, f"waited for {what}"
        await asyncio.sleep(0.005)


@LOOPS
def test_a_connection_has_keepalive_and_no_delay(run):
    async def story(server: Server, lines: LogLines) -> None:
        with server.connect():
            await until(lambda: server.peers, "the connection")
            accepted = server.peers[0].transport.get_extra_info("socket")
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1

    play(run, story)


@LOOPS
def test_at_the_limit_others_wait_and_are_accepted_when_some_have_gone(run):
    async def story(server: Server, lines: LogLines) -> None:
        with ExitStack() as stack:
            clients = [stack.enter_context(server.connect()) for _ in range(5)]
            await until(lambda: lines.of(PAUSED), "the pause")
            assert len(server.peers) == 3
            for client in clients[:2]:
                client.close()
            await until(lambda: len(server.peers) == 3 and server.peers[0] is not first, "those that waited")
            for client in clients:
                client.close()
            await until(lambda: lines.of(AGAIN), "the end of the pause")
            assert [event for event, _ in lines.lines] == [PAUSED, AGAIN]
            with server.connect():
                await until(lambda: server.peers, "a connection after it")

    first = None
    play(run, story, {"max.connections": "3"})


class FewDescriptors(DescriptorReserve):
    """A reserve that begins above the descriptors that are open now and `room` more."""

    def __init__(self, room: int) -> None:
        super().__init__()
        probe = os.dup(0)
        os.close(probe)
        self.limit = 2 * (probe + room)  # type: ignore[misc]
        self.reserve = probe + room  # type: ignore[misc]
        self.connections_max = self.limit - self.reserve  # type: ignore[misc]


@LOOPS
def test_connections_leave_a_reserve_of_descriptors(run):
    """Each of them takes two here, as its client is in the same process."""

    async def story(server: Server, lines: LogLines) -> None:
        clients = []
        while not lines.of(PAUSED):
            clients.append(server.connect())
            await asyncio.sleep(RETRY_SECONDS / 10)
            assert len(clients) < 100
        assert 20 < len(server.peers) <= 30
        (line,) = lines.of(PAUSED)
        assert "file descriptors are kept for other things than connections (ulimit -n)" in line["reason"]
        for client in clients:
            client.close()
        await until(lambda: lines.of(AGAIN), "the end of the pause")
        await until(lambda: not server.peers, "the end of the connections")

    # The last share depends on how many descriptors the tests before this one left open.
    with no_free_descriptor_below_an_open_one(), patch.object(Acceptor, "_last_share", 0):
        play(run, story, descriptors=FewDescriptors(60))


class NoReserve(DescriptorReserve):
    """Lets accepting run into the limit of the process, as anything else in it may use up the descriptors."""

    asked = 0

    def room(self, descriptor: int, connections: int) -> int:
        self.asked += 1
        return UNLIMITED


@LOOPS
def test_a_process_without_descriptors_goes_on_when_it_has_some_again(run):
    async def story(server: Server, lines: LogLines) -> None:
        waiting = [server.connect() for _ in range(3)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        probe = os.dup(0)
        os.close(probe)
        resource.setrlimit(resource.RLIMIT_NOFILE, (probe, hard))
        try:
            await until(lambda: lines.of(PAUSED), "the pause")
            reserve.asked = 0
            await asyncio.sleep(5 * RETRY_SECONDS)
            assert 2 <= reserve.asked <= 20, "it looks again now and then, and the loop is free meanwhile"
            assert lines.of(PAUSED) == [{"reason": f"cannot accept connections: {os.strerror(errno.EMFILE)}"}]
            assert server.peers == []
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await until(lambda: len(server.peers) == 3, "those that waited")
        await until(lambda: lines.of(AGAIN), "the end of the pause")
        for client in waiting:
            client.close()

    reserve = NoReserve()
    play(run, story, descriptors=reserve)


@LOOPS
def test_the_last_tenth_is_for_addresses_that_have_few_connections(run):
    async def story(server: Server, lines: LogLines) -> None:
        def connect(address: str) -> socket.socket:
            return stack.enter_context(
                socket.create_connection(server.address, DEADLINE_SECONDS, source_address=(address, 0))
            )

        with ExitStack() as stack:
            for _ in range(27):
                connect("127.0.0.1")
            await until(lambda: len(server.peers) == 27, "nine tenths of 30")
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, closed_by_peer, connect("127.0.0.1"))
            assert server.rejected == [("127.0.0.1", LAST_SHARE_USED)]
            others = [connect("127.0.0.2") for _ in range(3)]
            await until(lambda: len(server.peers) == 30, "the others")
            waiting = connect("127.0.0.3")
            await until(lambda: lines.of(PAUSED), "the pause")
            others[0].close()
            await until(
                lambda: len(server.peers) == 30 and waiting.getsockname() in server.peer_names(), "the next one"
            )

    play(run, story, {"max.connections": "30"})


@LOOPS
def test_a_rate_is_kept_without_a_line(run):
    async def story(server: Server, lines: LogLines) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        clients = [server.connect() for _ in range(30)]
        await until(lambda: len(server.peers) == 30, "all of them")
        assert loop.time() - began > 0.4
        assert lines.lines == []
        for client in clients:
            client.close()

    play(run, story, per_second=20)


@LOOPS
def test_what_has_not_begun_when_accepting_ends_is_closed(run, monkeypatch):
    async def story(server: Server, lines: LogLines) -> None:
        loop = asyncio.get_running_loop()
        connect = loop.connect_accepted_socket

        async def connect_late(*arguments: Any) -> Any:
            server.acceptor.close()
            return await connect(*arguments)

        monkeypatch.setattr(loop, "connect_accepted_socket", connect_late)
        with server.connect() as client:
            assert await loop.run_in_executor(None, closed_by_peer, client)
        await until(lambda: not server.peers and not server.limits.full(), "the end of the connection")

    play(run, story, {"max.connections": "1"})


def closed_by_peer(client: socket.socket) -> bool:
    with suppress(ConnectionResetError):
        return client.recv(1) == b""
    return True


@LOOPS
def test_a_connection_that_ends_before_it_begins_counts_no_more(run, monkeypatch):
    async def story(server: Server, lines: LogLines) -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "connect_accepted_socket", refuse)
        with server.connect():
            await until(lambda: refused, "the attempt")
        await until(lambda: not server.limits.full(), "its end")

    async def refuse(*arguments: Any) -> None:
        refused.append(arguments)
        raise OSError(errno.ENOTCONN, "not connected")

    refused: list[Any] = []
    play(run, story, {"max.connections": "1"})


@LOOPS
def test_who_comes_with_many_others_waits_for_few_iterations_of_a_busy_loop(run):
    """Those that are accepted have work for the loop at once, and each iteration takes long."""
    many = 200
    iterations = 0

    async def story(server: Server, lines: LogLines) -> None:
        loop = asyncio.get_running_loop()

        def work() -> None:
            nonlocal iterations
            time.sleep(0.005)
            if len(server.peers) < many:
                iterations += 1
                loop.call_soon(work)

        with ExitStack() as stack:
            for _ in range(many):
                stack.enter_context(server.connect())
            loop.call_soon(work)
            await until(lambda: len(server.peers) == many, "all connections")

    play(run, story)
    assert iterations < many / 4
