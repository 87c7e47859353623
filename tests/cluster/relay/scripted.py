"""A scripted broker, a directory with fixed answers, and the relay between them and clients."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import pytest
import uvloop

from _wire.errors import ErrorCode
from _wire.headers import decode_response_header, encode_request
from _wire.structs import Message
from coordinator.cluster.found import NOT_FOUND, Found, Unknown
from coordinator.cluster.relay.directory import Address, CoordinatorNode, Owner
from coordinator.cluster.relay.held_bytes import HeldBytes
from coordinator.cluster.relay.relayed_connection import RelayedConnection, RelayParts
from coordinator.cluster.relay.request_heads import HEAD
from coordinator.cluster.relay.upstreams import Upstreams
from coordinator.runtime.slices import Slices
from tests.front.log_lines import LogLines, log_lines

BROKER_ID: Final = 1
FRAME_BYTES_MAX: Final = 1 << 20
SECONDS: Final = 10
NODE: Final = CoordinatorNode(1_000_000, "node.example", 9_092)
OWNED: Final = "owned"
"""A group of NODE; the cluster has all others."""
LOOPS: Final = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


def finding_of(owner: CoordinatorNode | ErrorCode | None) -> Owner:
    """None: the cluster coordinates the group."""
    if isinstance(owner, ErrorCode):
        return Unknown(owner)
    return NOT_FOUND if owner is None else Found(owner)


@dataclass
class FixedDirectory:
    """Brokers are reached at one host with the port 20000 + id; those without an upstream address are unknown."""

    upstreams: dict[int, Address] = field(default_factory=dict)
    owners: dict[str, CoordinatorNode | ErrorCode] = field(default_factory=lambda: {OWNED: NODE})
    listed: frozenset[str] | None = frozenset({OWNED})
    up: Sequence[CoordinatorNode] = (NODE,)
    answers_later: bool = False
    asked: list[Callable[[], None]] = field(default_factory=list)
    """What waits for an answer, if answers come later."""

    def broker_address(self, broker_id: int) -> Address | None:
        return Address("relay.example", 20_000 + broker_id) if broker_id in self.upstreams else None

    def broker_upstream(self, broker_id: int) -> Address | None:
        return self.upstreams.get(broker_id)

    def nodes(self) -> Sequence[CoordinatorNode]:
        return self.up

    def owner_of(self, group_id: str, answered: Callable[[Owner], None]) -> None:
        self._answer(lambda: answered(finding_of(self.owners.get(group_id))))

    def owned_groups(self, answered: Callable[[frozenset[str] | None], None]) -> None:
        self._answer(lambda: answered(self.listed))

    def _answer(self, answer: Callable[[], None]) -> None:
        if self.answers_later:
            self.asked.append(answer)
        else:
            answer()

    def answer_all(self) -> None:
        asked, self.asked = self.asked, []
        for answer in asked:
            answer()


class Peer:
    """One end of a connection, with its frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def read_frame(self) -> bytes:
        async with asyncio.timeout(SECONDS):
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            return await self.reader.readexactly(size)

    async def read(self, size: int) -> bytes:
        async with asyncio.timeout(SECONDS):
            return await self.reader.readexactly(size)

    async def read_to_end(self) -> bytes:
        """What comes before the other end closes the connection."""
        async with asyncio.timeout(SECONDS):
            try:
                return await self.reader.read()
            except ConnectionResetError:
                return b""

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(SECONDS):
            self.writer.write(data)
            await self.writer.drain()

    def stop_reading(self) -> None:
        cast(Any, self.writer.transport).pause_reading()

    def start_reading(self) -> None:
        cast(Any, self.writer.transport).resume_reading()

    def close(self) -> None:
        self.writer.close()

    def reset(self) -> None:
        cast(Any, self.writer.transport).abort()


class Scene:
    """A broker, the relay's port for it, and clients."""

    def __init__(self, lines: LogLines) -> None:
        self.lines = lines
        self.loop = asyncio.get_running_loop()
        self.directory = FixedDirectory()
        self.held = HeldBytes()
        self.rejected: list[tuple[str, str]] = []
        self.connections: list[RelayedConnection] = []
        self.lost: list[RelayedConnection] = []
        self.accepted: asyncio.Queue[Peer] = asyncio.Queue()
        self.servers: list[asyncio.Server] = []
        self.clients: list[Peer] = []
        self.port = 0

    async def open(self) -> None:
        broker = await asyncio.start_server(lambda *ends: self.accepted.put_nowait(Peer(*ends)), "127.0.0.1", 0)
        self.directory.upstreams[BROKER_ID] = Address(*broker.sockets[0].getsockname()[:2])
        self.upstreams = Upstreams(self.directory)
        self.parts = RelayParts(
            directory=self.directory,
            upstreams=self.upstreams,
            slices=Slices(self.loop.call_soon),
            held=self.held,
            on_rejected=lambda *rejected: self.rejected.append(rejected),
            request_bytes_max=FRAME_BYTES_MAX,
        )
        relay = await self.loop.create_server(self._connection, "127.0.0.1", 0)
        self.port = relay.sockets[0].getsockname()[1]
        self.servers = [broker, relay]

    def _connection(self) -> RelayedConnection:
        connection = RelayedConnection(self.parts, BROKER_ID, on_lost=self.lost.append)
        self.connections.append(connection)
        return connection

    async def client(self) -> Peer:
        """A new client."""
        client = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
        self.clients.append(client)
        return client

    async def pair(self) -> tuple[Peer, Peer]:
        """A new client, and what the broker has of its connection."""
        client = await self.client()
        async with asyncio.timeout(SECONDS):
            broker = await self.accepted.get()
        self.clients.append(broker)
        return client, broker

    async def until(self, condition: Callable[[], object]) -> None:
        """Let the loop run until a condition holds."""
        async with asyncio.timeout(SECONDS):
            while not condition():
                await asyncio.sleep(0)

    async def close(self) -> None:
        for peer in self.clients:
            peer.reset()
        await self.until(lambda: len(self.lost) == len(self.connections))
        for server in self.servers:
            server.close()
        assert self.held.sum_bytes == 0, "what a connection held is counted after its end"


Story = Callable[[Scene], Awaitable[None]]


def play(run: Any, story: Story) -> LogLines:
    """Run a story; the log lines of it."""

    async def main() -> LogLines:
        with log_lines() as lines:
            scene = Scene(lines)
            await scene.open()
            try:
                await story(scene)
            finally:
                await scene.close()
            return lines

    lines: LogLines = run(main())
    return lines


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def request(api_key: int, version: int, correlation_id: int, body: bytes = b"") -> bytes:
    """A frame with a client id that is null."""
    return frame(HEAD.pack(api_key, version, correlation_id) + b"\xff\xff" + body)


def encoded(correlation_id: int, message: Message, version: int) -> bytes:
    return encode_request(correlation_id, "test", message, version)


def response(correlation_id: int, body: bytes = b"") -> bytes:
    return frame(correlation_id.to_bytes(4, "big") + body)


def decoded(received: bytes, kind: type[Message], version: int, correlation_id: int | None = None) -> Any:
    """The response in a frame without its length."""
    found, start = decode_response_header(received, kind.API_KEY, version)
    assert correlation_id in (None, found)
    return kind.decode(received, version, start)
