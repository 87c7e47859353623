"""Each broker has a port, as long as it is in the cluster or a connection uses it."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from coordinator.cluster.relay import broker_listeners
from coordinator.cluster.relay.broker_listeners import BrokerListeners, BrokerPortError
from coordinator.cluster.relay.directory import FIRST_NODE_ID
from coordinator.config.settings import Config
from coordinator.front.connection_rate import ConnectionRate
from coordinator.front.limits import ConnectionLimits
from coordinator.front.tls_transport import TlsTransport
from tests.certificates import authority, server_identity
from tests.cluster.relay.scripted import BROKER_ID, LOOPS, Peer, Scene, play, request

HOST = "127.0.0.1"
FETCH = request(1, 12, 1)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
        return port


class Ports:
    """The listeners of a scene, whose broker has a free port."""

    def __init__(
        self,
        scene: Scene,
        settings: dict[str, str] | None = None,
        protocol_of: Any = None,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self.scene = scene
        scheduler: Any = None
        self.limits = limits or ConnectionLimits(Config(settings or {}), scheduler)
        self.base_port = free_port() - BROKER_ID
        self.listeners = BrokerListeners(
            HOST, self.base_port, scene.parts, self.limits, ConnectionRate(1 << 30), protocol_of=protocol_of
        )

    async def connect(self, broker_id: int = BROKER_ID, **tls: Any) -> Peer:
        peer = Peer(*await asyncio.open_connection(HOST, self.base_port + broker_id, **tls))
        self.scene.clients.append(peer)
        return peer

    async def pair(self, **tls: Any) -> tuple[Peer, Peer]:
        client = await self.connect(**tls)
        broker = await self.scene.accepted.get()
        self.scene.clients.append(broker)
        return client, broker


def play_ports(run: Any, story: Callable[[Ports], Awaitable[None]], **options: Any) -> Any:
    async def with_ports(scene: Scene) -> None:
        ports = Ports(scene, **options)
        try:
            await story(ports)
        finally:
            ports.listeners.close()
            await scene.until(lambda: ports.limits.accepted_count == 0)

    return play(run, with_ports)


@LOOPS
def test_a_broker_is_reached_at_its_port(run):
    async def story(ports: Ports) -> None:
        ports.listeners.follow([BROKER_ID])
        assert ports.listeners.port_of(BROKER_ID) == ports.base_port + BROKER_ID
        client, broker = await ports.pair()
        client.write(FETCH)
        assert await broker.read(len(FETCH)) == FETCH
        assert ports.limits.accepted_count == 1

    play_ports(run, story)


@LOOPS
def test_the_port_of_a_broker_that_is_gone_closes_after_its_connections(run):
    async def story(ports: Ports) -> None:
        ports.listeners.follow([BROKER_ID])
        client, broker = await ports.pair()
        ports.listeners.follow([])
        assert ports.listeners.broker_ids == {BROKER_ID}
        client.write(FETCH)
        assert await broker.read(len(FETCH)) == FETCH
        client.reset()
        broker.reset()
        await ports.scene.until(lambda: not ports.listeners.broker_ids)
        assert ports.listeners.port_of(BROKER_ID) is None
        with pytest.raises(ConnectionRefusedError):
            await ports.connect()
        ports.listeners.follow([BROKER_ID])
        await ports.pair()

    play_ports(run, story)


@LOOPS
def test_a_broker_that_comes_back_keeps_its_port(run):
    async def story(ports: Ports) -> None:
        ports.listeners.follow([BROKER_ID])
        client, broker = await ports.pair()
        ports.listeners.follow([])
        ports.listeners.follow([BROKER_ID])
        client.reset()
        broker.reset()
        await ports.scene.until(lambda: ports.limits.accepted_count == 0)
        await ports.pair()

    play_ports(run, story)


def test_an_unused_port_closes_at_once():
    async def story(ports: Ports) -> None:
        ports.listeners.follow([BROKER_ID])
        ports.listeners.follow([])
        assert ports.listeners.broker_ids == frozenset()

    play_ports(asyncio.run, story)


def test_brokers_without_a_port_are_named_in_one_error_and_the_others_are_served():
    async def story(ports: Ports) -> None:
        too_high = 65_536 - ports.base_port
        with pytest.raises(BrokerPortError) as raised:
            ports.listeners.follow([BROKER_ID, too_high, FIRST_NODE_ID, -ports.base_port])
        assert ports.listeners.broker_ids == {BROKER_ID}
        port_of = f"its port would be {ports.base_port} + %d, which is not in 1 to 65535"
        assert str(raised.value) == (
            f"broker {-ports.base_port}: {port_of % -ports.base_port}; broker {too_high}: {port_of % too_high}; "
            "broker 1000000: ids from 1000000 on are those of coordinator nodes"
        )

    play_ports(asyncio.run, story)


def test_a_port_that_is_in_use_is_told_and_tried_again():
    async def story(ports: Ports) -> None:
        with socket.socket() as other:
            other.bind((HOST, ports.base_port + BROKER_ID))
            other.listen()
            with pytest.raises(BrokerPortError, match=r"broker 1: cannot listen on .* Address already in use"):
                ports.listeners.follow([BROKER_ID])
        ports.listeners.follow([BROKER_ID])
        assert ports.listeners.broker_ids == {BROKER_ID}

    play_ports(asyncio.run, story)


@LOOPS
def test_connections_count_among_those_of_their_address(run):
    async def story(ports: Ports) -> None:
        ports.listeners.follow([BROKER_ID])
        client, broker = await ports.pair()
        second = await ports.connect()
        assert await second.read_to_end() == b""
        assert ports.scene.rejected[0][0] == HOST
        assert "max.connections.per.ip" in ports.scene.rejected[0][1]
        client.write(FETCH)
        assert await broker.read(len(FETCH)) == FETCH

    play_ports(run, story, settings={"max.connections.per.ip": "1"})


@LOOPS
def test_closing_ends_all_connections(run):
    async def story(ports: Ports) -> None:
        ports.listeners.follow([BROKER_ID])
        client, broker = await ports.pair()
        ports.listeners.close()
        assert await client.read_to_end() == b""
        assert await broker.read_to_end() == b""
        with pytest.raises(ConnectionRefusedError):
            await ports.connect()

    play_ports(run, story)


class Handshakes:
    """Does each step at once."""

    def begin(self, handshake: Any) -> None: ...

    def run(self, handshake: Any, step: Any) -> None:
        step()

    def done(self, handshake: Any) -> None: ...

    def failed(self, handshake: Any, reason: str) -> None: ...

    def lost(self, handshake: Any, connection: Any) -> None: ...


@LOOPS
def test_tls_may_stand_before_a_connection(run, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_identity().write(tmp_path / "server.pem"))

    def protocol_of(connection: Any, address: str) -> TlsTransport:
        return TlsTransport(connection, address, context, Handshakes(), lambda connection, ssl_object: None)

    async def story(ports: Ports) -> None:
        ports.listeners.follow([BROKER_ID])
        client, broker = await ports.pair(ssl=authority().client_context())
        large = request(0, 7, 1, b"\xff\xff\xff\xff" + bytes(900_000))
        client.write(large)
        assert await broker.read(len(large)) == large
        answer = bytes.fromhex("0030d404 00000001") + bytes(3_200_000)
        broker.write(answer)
        assert await client.read(len(answer)) == answer
        client.close()
        assert await broker.read_to_end() == b""

    play_ports(run, story, protocol_of=protocol_of)


@LOOPS
def test_a_port_that_another_process_used_is_tried_again(run, monkeypatch):
    monkeypatch.setattr(broker_listeners, "RETRY_SECONDS", 0.01)

    async def story(ports: Ports) -> None:
        with socket.socket() as other:
            other.bind((HOST, ports.base_port + BROKER_ID))
            other.listen()
            ports.listeners.keep_following(lambda: [BROKER_ID])
            assert not ports.listeners.broker_ids
        await ports.scene.until(lambda: ports.listeners.broker_ids == {BROKER_ID})
        await ports.pair()

    play_ports(run, story)
