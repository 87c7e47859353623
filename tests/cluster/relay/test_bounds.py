"""Slow and greedy peers are bounded, and none hurts others."""

import asyncio
from typing import Any, cast

from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from _wire.messages.produce import ProduceRequest
from coordinator.cluster.relay import expected_responses, relayed_connection
from coordinator.cluster.relay.expected_responses import OUTSTANDING_MAX
from coordinator.cluster.relay.held_bytes import HeldBytes
from coordinator.cluster.relay.relayed_connection import RelayParts
from coordinator.cluster.relay.upstreams import WRITE_BUFFER_HIGH_BYTES, UpstreamUnreachable
from tests.cluster.relay.scripted import (
    BROKER_ID,
    FRAME_BYTES_MAX,
    LOOPS,
    Scene,
    encoded,
    frame,
    play,
    request,
    response,
)
from tests.cluster.relay.traffic import (
    FETCH,
    HEARTBEAT,
    MIB,
    READ_BYTES,
    STALLED_BYTES_MAX,
    describe,
    is_refused,
    small_buffers,
    stall,
)


@LOOPS
def test_many_requests_may_be_outstanding_but_not_any_number(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        count = 3 * OUTSTANDING_MAX
        client.write(b"".join(request(HEARTBEAT, 4, number) for number in range(count)))
        one = len(request(HEARTBEAT, 4, 0))
        await broker.read(OUTSTANDING_MAX * one)
        (connection,) = scene.connections
        await scene.until(lambda: connection._requests.stream.is_stopped)
        assert len(connection._expected._queue) == OUTSTANDING_MAX
        for number in range(count):
            if number >= OUTSTANDING_MAX // 2:
                broker.write(response(number))
        await client.read_to_end()
        assert "correlation id 500" in scene.rejected[0][1]

    async def in_order(scene: Scene) -> None:
        client, broker = await scene.pair()
        count = 3 * OUTSTANDING_MAX
        client.write(b"".join(request(HEARTBEAT, 4, number) for number in range(count)))
        for number in range(count):
            assert await broker.read_frame() == request(HEARTBEAT, 4, number)[4:]
            broker.write(response(number))
        for number in range(count):
            assert await client.read_frame() == response(number)[4:]

    play(run, story)
    play(run, in_order)


@LOOPS
def test_answers_of_the_relay_that_wait_are_bounded(run, monkeypatch):
    monkeypatch.setattr(expected_responses, "OWN_BYTES_MAX", 1_000)

    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.write(request(FETCH, 12, 0) + b"".join(describe(number) for number in range(1, 200)))
        await broker.read_frame()
        (connection,) = scene.connections
        await scene.until(lambda: connection._requests.stream.is_stopped)
        assert 1_000 < connection._expected.own_bytes < 1_200
        broker.write(response(0))
        assert await client.read_frame() == response(0)[4:]
        for number in range(1, 200):
            assert is_refused(await client.read_frame(), number)

    play(run, story)


@LOOPS
def test_a_client_that_stops_reading_stops_its_broker_alone(run):
    async def story(scene: Scene) -> None:
        other_client, other_broker = await scene.pair()
        client, broker = await scene.pair()
        small_buffers(client)
        client.stop_reading()
        client.write(request(FETCH, 12, 1))
        await broker.read_frame()
        broker.write((100 * MIB + 4).to_bytes(4, "big") + (1).to_bytes(4, "big"))
        taken = await stall(scene, broker, bytes(READ_BYTES))
        connection = scene.connections[1]
        unsent_bytes = connection._client.get_write_buffer_size()
        assert unsent_bytes <= WRITE_BUFFER_HIGH_BYTES + READ_BYTES
        assert scene.held.sum_bytes == 0
        assert taken < 100 * MIB
        other_client.write(request(FETCH, 12, 7))
        await other_broker.read_frame()
        other_broker.write(response(7, bytes(MIB)))
        assert len(await other_client.read_frame()) == MIB + 4
        client.start_reading()
        broker.write(bytes(100 * MIB - taken))
        whole = await client.read(8 + 100 * MIB)
        assert len(whole) == 100 * MIB + 8

    play(run, story)


@LOOPS
def test_a_rewritten_response_that_a_client_does_not_read_is_counted(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        small_buffers(client)
        client.stop_reading()
        client.write(encoded(1, FindCoordinatorRequest(coordinator_keys=["other"] * 100_000), 4))
        await broker.read_frame()
        many = [Coordinator(key="other" * 20, node_id=BROKER_ID, host="b", port=1) for _ in range(100_000)]
        body = FindCoordinatorResponse(coordinators=many).encode(4)
        broker.write(frame((1).to_bytes(4, "big") + b"\x00" + body))
        (connection,) = scene.connections
        await scene.until(lambda: connection._is_client_full)
        assert scene.held.sum_bytes > 2 * MIB
        client.start_reading()
        assert len(await client.read_frame()) > 10 * MIB
        await scene.until(lambda: scene.held.sum_bytes == 0)

    play(run, story)


@LOOPS
def test_a_broker_that_stops_reading_stops_its_client_alone(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        small_buffers(broker)
        broker.stop_reading()
        body = bytes(FRAME_BYTES_MAX - 12)
        data = encoded(1, ProduceRequest(acks=0), 9)[4:] + body
        taken = await stall(scene, client, frame(data[:FRAME_BYTES_MAX]))
        (connection,) = scene.connections
        assert connection._upstream.get_write_buffer_size() <= WRITE_BUFFER_HIGH_BYTES + READ_BYTES
        assert 0 < taken < STALLED_BYTES_MAX
        broker.start_reading()
        for _ in range(taken // (FRAME_BYTES_MAX + 4)):
            assert len(await broker.read_frame()) == FRAME_BYTES_MAX

    play(run, story)


@LOOPS
def test_a_client_that_reads_no_answers_of_the_relay_is_read_no_further(run):
    async def story(scene: Scene) -> None:
        client, _ = await scene.pair()
        small_buffers(client)
        client.stop_reading()
        taken = await stall(scene, client, describe(1) * 10_000)
        assert taken < STALLED_BYTES_MAX
        (connection,) = scene.connections
        unsent_bytes = connection._client.get_write_buffer_size()
        assert unsent_bytes <= WRITE_BUFFER_HIGH_BYTES + 4 * READ_BYTES

    play(run, story)


@LOOPS
def test_who_holds_the_most_is_closed_when_all_together_hold_too_much(run):
    async def story(scene: Scene) -> None:
        scene.held = HeldBytes(100_000)
        parts = scene.parts
        scene.parts = RelayParts(
            parts.directory, parts.upstreams, parts.slices, scene.held, parts.on_rejected, parts.request_bytes_max
        )
        large, _ = await scene.pair()
        small, broker = await scene.pair()
        large.write(describe(1, "g" * 30_000)[:-1])
        await scene.until(lambda: scene.held.sum_bytes >= 30_000)
        small.write(describe(1, "g" * 20_000)[:-2])
        await scene.until(lambda: scene.held.sum_bytes >= 50_000)
        scene.held._most = 40_000
        small.write(describe(1, "g" * 20_000)[-2:-1])
        await scene.until(lambda: scene.rejected)
        small.write(describe(1, "g" * 20_000)[-1:])
        assert await large.read_to_end() == b""
        assert "too many bytes" in scene.rejected[0][1]
        assert len(await broker.read_frame()) > 20_000

    play(run, story)


@LOOPS
def test_a_client_is_not_read_before_its_broker_is_connected(run):
    async def story(scene: Scene) -> None:
        is_given_up = asyncio.Event()

        async def connect(*broker: object) -> None:
            await is_given_up.wait()
            raise UpstreamUnreachable

        cast(Any, scene.upstreams).connect = connect
        client = await scene.client()
        taken = await stall(scene, client, bytes(READ_BYTES))
        assert taken > 0
        assert scene.held.sum_bytes <= 2 * READ_BYTES
        assert taken < STALLED_BYTES_MAX
        is_given_up.set()

    play(run, story)


@LOOPS
def test_a_client_that_reads_nothing_for_long_is_closed(run, monkeypatch):
    monkeypatch.setattr(relayed_connection, "CLIENT_STALLED_SECONDS", 0.01)

    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.stop_reading()
        client.write(request(FETCH, 12, 1))
        await broker.read_frame()
        broker.write(response(1, bytes(32 * MIB)))
        await scene.until(lambda: scene.rejected)
        assert scene.rejected == [("127.0.0.1", "the client does not read its responses")]

    play(run, story)


@LOOPS
def test_a_broker_that_reads_nothing_for_long_is_given_up(run, monkeypatch):
    monkeypatch.setattr(relayed_connection, "BROKER_STALLED_SECONDS", 0.01)

    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        broker.stop_reading()
        client.write(encoded(1, ProduceRequest(acks=0, timeout_ms=1), 9) * 500_000)
        await scene.until(lambda: scene.rejected)
        assert scene.rejected == [("127.0.0.1", "broker 1 does not read its requests")]

    play(run, story)
