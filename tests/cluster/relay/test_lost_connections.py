"""Both sides of a connection end with each other, at whatever point one is lost."""

import asyncio
import socket
from typing import Any, cast

import pytest

from _wire.messages.find_coordinator import FindCoordinatorResponse
from _wire.messages.produce import ProduceRequest
from coordinator.cluster.relay import relayed_connection, upstreams
from coordinator.cluster.relay.directory import Address
from tests.cluster.relay.scripted import (
    BROKER_ID,
    LOOPS,
    NODE,
    OWNED,
    Peer,
    Scene,
    decoded,
    encoded,
    play,
    request,
    response,
)
from tests.cluster.relay.traffic import (
    FETCH,
    MIB,
    describe,
    find,
    found,
    is_refused,
    stall,
)


@LOOPS
def test_a_broker_that_cannot_be_reached_closes_its_clients_and_is_logged_once(run):
    async def story(scene: Scene) -> None:
        unused = socket.socket()
        unused.bind(("127.0.0.1", 0))
        scene.directory.upstreams[BROKER_ID] = Address("127.0.0.1", unused.getsockname()[1])
        for _ in range(5):
            client = await scene.client()
            assert await client.read_to_end() == b""
        unused.close()
        del scene.directory.upstreams[BROKER_ID]
        assert await (await scene.client()).read_to_end() == b""

    lines = play(run, story)
    (line,) = lines.of("broker cannot be reached; its client is disconnected")
    assert line["broker"] == BROKER_ID
    assert lines.problems == ["broker cannot be reached; its client is disconnected"]


@LOOPS
def test_a_broker_that_does_not_answer_is_given_up(run, monkeypatch):
    monkeypatch.setattr(upstreams, "CONNECT_SECONDS", 0)

    async def story(scene: Scene) -> None:
        client = await scene.client()
        client.write(request(FETCH, 12, 1))
        assert await client.read_to_end() == b""

    (line,) = play(run, story).of("broker cannot be reached; its client is disconnected")
    assert "does not answer within 0 s" in line["reason"]


@LOOPS
@pytest.mark.parametrize("is_reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        request(FETCH, 12, 1)[:3],
        request(FETCH, 12, 1)[:10],
        request(FETCH, 12, 1),
        request(FETCH, 12, 1) + describe(2),
        find(1, OWNED)[:20],
        find(1, OWNED),
        encoded(1, ProduceRequest(acks=0), 9)[:15],
    ],
    ids=["nothing", "length", "head", "request", "own answer waits", "collected part", "to rewrite", "no acks"],
)
def test_the_loss_of_either_side_ends_the_other_one(run, sent, is_reset):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        await client.send(sent)
        (connection,) = scene.connections
        await scene.until(lambda: connection._upstream is not None)
        end = Peer.reset if is_reset else Peer.close
        end(client)
        await broker.read_to_end()
        broker.reset()
        await scene.until(lambda: len(scene.lost) == 1)
        client, broker = await scene.pair()
        await client.send(sent)
        end(broker)
        await client.read_to_end()
        client.reset()
        await scene.until(lambda: len(scene.lost) == 2)

    assert play(run, story).problems == []


@LOOPS
def test_what_a_broker_sent_before_it_closed_is_delivered(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.write(request(FETCH, 12, 1) + describe(2))
        await broker.read_frame()
        await broker.send(response(1, bytes(MIB)))
        broker.close()
        assert len(await client.read_frame()) == MIB + 4
        assert is_refused(await client.read_frame(), 2)
        assert await client.read_to_end() == b""

    play(run, story)


@LOOPS
def test_a_response_that_is_being_rewritten_is_delivered_after_its_broker_closed(run):
    async def story(scene: Scene) -> None:
        scene.directory.answers_later = True
        client, broker = await scene.pair()
        client.write(find(1, OWNED) + request(FETCH, 12, 2))
        await broker.read_frame()
        await broker.send(found(1, OWNED) + response(2))
        await scene.until(lambda: scene.directory.asked)
        broker.reset()
        (connection,) = scene.connections
        # Nothing is read from the broker meanwhile: its end is noticed by what is written to it.
        while connection._upstream is not None:
            await client.send(request(FETCH, 12, 3))
            await asyncio.sleep(0)
        scene.directory.answer_all()
        (coordinator,) = decoded(await client.read_frame(), FindCoordinatorResponse, 4, 1).coordinators
        assert coordinator.node_id == NODE.node_id
        assert await client.read_frame() == response(2)[4:]
        await client.read_to_end()
        assert connection in scene.lost or not connection._expected._queue

    play(run, story)


@LOOPS
def test_a_client_that_goes_while_the_directory_is_asked_leaves_nothing(run):
    async def story(scene: Scene) -> None:
        scene.directory.answers_later = True
        client, _ = await scene.pair()
        client.write(describe(1))
        await scene.until(lambda: scene.directory.asked)
        assert scene.held.sum_bytes > 0
        scene.parts.held.hold(scene.connections[0], 1)
        client.reset()
        scene.connections[0].close()
        await scene.until(lambda: scene.lost)
        scene.directory.answer_all()

    assert play(run, story).problems == []


@LOOPS
def test_a_half_closed_client_still_gets_its_responses(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.write(request(FETCH, 12, 1))
        client.writer.write_eof()
        assert await broker.read_to_end() == request(FETCH, 12, 1)
        broker.write(response(1))
        broker.close()
        assert await client.read_to_end() == response(1)

    play(run, story)


@LOOPS
def test_the_end_of_a_client_follows_what_it_sent_before_its_broker_was_connected(run):
    async def story(scene: Scene) -> None:
        is_to_connect, connect = asyncio.Event(), scene.upstreams.connect

        async def later(*broker: Any) -> None:
            await is_to_connect.wait()
            await connect(*broker)

        cast(Any, scene.upstreams).connect = later
        sent = describe(1, "other") + request(FETCH, 12, 2)
        client = await scene.client()
        client.write(sent)
        client.writer.write_eof()
        await scene.until(lambda: scene.held.sum_bytes)
        is_to_connect.set()
        broker = await scene.accepted.get()
        assert await broker.read_to_end() == sent
        broker.close()

    play(run, story)


@LOOPS
def test_a_probe_ends_before_its_broker_is_connected(run):
    async def story(scene: Scene) -> None:
        async def never(*broker: Any) -> None:
            await asyncio.Event().wait()

        cast(Any, scene.upstreams).connect = never
        (await scene.client()).close()
        await scene.until(lambda: scene.lost)

    play(run, story)


@LOOPS
def test_a_client_that_does_not_read_its_last_responses_has_a_time_for_it(run, monkeypatch):
    monkeypatch.setattr(relayed_connection, "LINGER_SECONDS", 0)

    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.stop_reading()
        client.write(request(FETCH, 12, 1))
        await broker.read_frame()
        await stall(scene, broker, response(1, bytes(16 * MIB)))
        (connection,) = scene.connections
        assert connection._is_client_full
        connection.close()
        await scene.until(lambda: scene.lost)

    play(run, story)


@LOOPS
def test_a_defect_of_the_directory_is_logged_and_closes_one_connection(run):
    async def story(scene: Scene) -> None:
        client, _ = await scene.pair()
        scene.directory.owners = cast(Any, None)
        client.write(describe(1))
        assert await client.read_to_end() == b""

    assert play(run, story).problems == ["unhandled exception in the relay"]
