"""Single requests to a broker: responses in order, and None for all that a lost connection leaves."""

import asyncio
import ssl

import pytest

from coordinator.cluster.relay import upstream_connection
from coordinator.cluster.relay.directory import Address
from coordinator.cluster.relay.upstream_connection import REQUESTS_MAX, UpstreamConnection
from coordinator.cluster.relay.upstreams import Upstreams
from tests.certificates import authority, server_identity
from tests.cluster.relay.scripted import BROKER_ID, LOOPS, Peer, Scene, play, request, response


class Caller:
    """An upstream connection and what it was answered."""

    def __init__(self, scene: Scene, upstreams: Upstreams | None = None) -> None:
        self.connection = UpstreamConnection(upstreams or scene.upstreams, BROKER_ID, 1_000_000)
        self.answers: list[bytes | None] = []

    def send(self, correlation_id: int, body: bytes = b"") -> bytes:
        """The frame with its length."""
        sent = request(3, 9, correlation_id, body)
        self.connection.request(sent[4:], self.answers.append)
        return sent


async def accepted(scene: Scene) -> Peer:
    broker = await scene.accepted.get()
    scene.clients.append(broker)
    return broker


@LOOPS
def test_requests_are_answered_in_their_order(run):
    async def story(scene: Scene) -> None:
        caller = Caller(scene)
        sent = caller.send(1) + caller.send(2, b"x" * 100_000)
        broker = await accepted(scene)
        sent += caller.send(3)
        assert await broker.read(len(sent)) == sent
        answers = [response(1, b"one"), response(2), response(3, bytes(500_000))]
        broker.write(b"".join(answers))
        await scene.until(lambda: len(caller.answers) == 3)
        assert caller.answers == [answer[4:] for answer in answers]
        caller.connection.close()
        assert await broker.read_to_end() == b""

    assert play(run, story).problems == []


@LOOPS
def test_a_lost_connection_answers_none_now_and_later(run):
    async def story(scene: Scene) -> None:
        caller = Caller(scene)
        caller.send(1)
        caller.send(2)
        broker = await accepted(scene)
        await broker.read_frame()
        broker.write(response(1) + response(2)[:5])
        await scene.until(lambda: caller.answers)
        broker.close()
        await scene.until(lambda: len(caller.answers) == 2)
        caller.send(3)
        assert caller.answers == [response(1)[4:], None, None]

    play(run, story)


@LOOPS
def test_a_broker_that_cannot_be_reached_answers_none(run):
    async def story(scene: Scene) -> None:
        scene.directory.upstreams.clear()
        caller = Caller(scene)
        caller.send(1)
        await scene.until(lambda: caller.answers)
        assert caller.connection.is_lost

    assert play(run, story).problems == ["broker cannot be reached; its client is disconnected"]


@LOOPS
def test_closing_answers_none(run):
    async def story(scene: Scene) -> None:
        caller = Caller(scene)
        caller.send(1)
        caller.connection.close()
        assert caller.answers == [None]
        connected = Caller(scene)
        connected.send(1)
        broker = await accepted(scene)
        await broker.read_frame()
        connected.connection.close()
        assert connected.answers == [None]
        assert await broker.read_to_end() == b""

    assert play(run, story).problems == []


@LOOPS
@pytest.mark.parametrize(
    "sent", [response(7), response(1) * 2, b"\x7f\xff\xff\xff", b"\x00\x00\x00\x01\x00"], ids=range(4)
)
def test_a_broker_out_of_step_is_disconnected(run, sent):
    async def story(scene: Scene) -> None:
        caller = Caller(scene)
        caller.send(1)
        broker = await accepted(scene)
        await broker.read_frame()
        broker.write(sent)
        await scene.until(lambda: caller.connection.is_lost)
        assert caller.answers in ([None], [response(1)[4:]])

    assert play(run, story).problems == ["connection to broker closed"]


@LOOPS
def test_what_waits_is_bounded(run, monkeypatch):
    async def story(scene: Scene) -> None:
        caller = Caller(scene)
        for number in range(REQUESTS_MAX + 1):
            caller.send(number)
        assert caller.answers == [None]
        caller.connection.close()
        monkeypatch.setattr(upstream_connection, "REQUEST_BYTES_MAX", 1_000)
        caller = Caller(scene)
        caller.send(1, bytes(2_000))
        caller.send(2)
        assert caller.answers == [None]
        caller.connection.close()

    play(run, story)


@LOOPS
@pytest.mark.parametrize("is_trusted", [True, False])
def test_brokers_with_tls_are_checked(run, tmp_path, is_trusted):
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(server_identity().write(tmp_path / "broker.pem"))

    async def story(scene: Scene) -> None:
        broker = await asyncio.start_server(
            lambda *ends: scene.accepted.put_nowait(Peer(*ends)), "127.0.0.1", 0, ssl=server_tls
        )
        scene.servers.append(broker)
        scene.directory.upstreams[BROKER_ID] = Address("localhost", broker.sockets[0].getsockname()[1])
        client_tls = authority().client_context() if is_trusted else ssl.create_default_context()
        caller = Caller(scene, Upstreams(scene.directory, client_tls))
        sent = caller.send(1)
        if is_trusted:
            peer = await accepted(scene)
            assert await peer.read(len(sent)) == sent
            caller.connection.close()
        await scene.until(lambda: caller.answers)
        assert caller.answers == [None]

    lines = play(run, story)
    told = [line["reason"] for line in lines.of("broker cannot be reached; its client is disconnected")]
    assert len(told) == (0 if is_trusted else 1)
