"""A connection through the relay on real sockets, under both event loops."""

import asyncio
import socket
from typing import Any, cast

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.produce import ProduceRequest
from coordinator.cluster.relay import expected_responses, relayed_connection, upstreams
from coordinator.cluster.relay.directory import Address
from coordinator.cluster.relay.expected_responses import OUTSTANDING_MAX
from coordinator.cluster.relay.held_bytes import HeldBytes
from coordinator.cluster.relay.relayed_connection import RelayParts
from coordinator.cluster.relay.upstreams import WRITE_BUFFER_HIGH_BYTES, UpstreamUnreachable
from tests.cluster.relay.scripted import (
    BROKER_ID,
    FRAME_BYTES_MAX,
    LOOPS,
    NODE,
    OWNED,
    Peer,
    Scene,
    decoded,
    encoded,
    frame,
    play,
    request,
    response,
)

FETCH, LIST_OFFSETS, PRODUCE, HEARTBEAT, FIND_COORDINATOR, DESCRIBE_GROUPS = 1, 2, 0, 12, 10, 15
MIB = 1 << 20
STALLED_BYTES_MAX = 90 * MIB
"""More than is ever taken of what nobody reads."""
READ_BYTES = 1 << 18
"""The most that the event loops read at once."""


def describe(correlation_id: int, group_id: str = OWNED) -> bytes:
    return encoded(correlation_id, DescribeGroupsRequest(groups=[group_id]), 5)


def is_refused(received: bytes, correlation_id: int) -> bool:
    """Whether it is the answer of the relay to `describe`."""
    answer: DescribeGroupsResponse = decoded(received, DescribeGroupsResponse, 5, correlation_id)
    return answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR


def found(correlation_id: int, group_id: str) -> bytes:
    """A broker's response to FindCoordinator v4."""
    body = FindCoordinatorResponse(coordinators=[Coordinator(key=group_id, node_id=BROKER_ID, host="b", port=1)])
    return frame(correlation_id.to_bytes(4, "big") + b"\x00" + body.encode(4))


def find(correlation_id: int, group_id: str) -> bytes:
    return encoded(correlation_id, FindCoordinatorRequest(coordinator_keys=[group_id]), 4)


@LOOPS
def test_requests_and_responses_are_passed_on_untouched(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        requests = request(FETCH, 12, 1, b"body" * 1000) + request(HEARTBEAT, 4, 2) + request(999, 7, 3, b"unknown")
        client.write(requests)
        assert await broker.read(len(requests)) == requests
        responses = response(1, b"records" * 100_000) + response(2) + response(3, b"x")
        broker.write(responses)
        assert await client.read(len(responses)) == responses

    play(run, story)


@LOOPS
def test_what_is_sent_before_the_broker_is_connected_waits(run):
    async def story(scene: Scene) -> None:
        client = await scene.client()
        sent = request(FETCH, 12, 1)
        client.write(sent)
        broker = await scene.accepted.get()
        assert await broker.read(len(sent)) == sent
        broker.reset()

    play(run, story)


@LOOPS
def test_answers_of_the_relay_keep_their_place(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.write(
            request(FETCH, 12, 1)
            + describe(2)
            + describe(3)
            + request(FETCH, 12, 4)
            + describe(5)
            + describe(6, "other")
        )
        passed = request(FETCH, 12, 1) + request(FETCH, 12, 4) + describe(6, "other")
        assert await broker.read(len(passed)) == passed
        broker.write(response(1, b"one") + response(4, b"four")[:-1])
        assert await client.read_frame() == response(1, b"one")[4:]
        assert is_refused(await client.read_frame(), 2)
        assert is_refused(await client.read_frame(), 3)
        broker.write(response(4, b"four")[-1:] + response(6, b"six"))
        assert await client.read_frame() == response(4, b"four")[4:]
        assert is_refused(await client.read_frame(), 5)
        assert await client.read_frame() == response(6, b"six")[4:]

    play(run, story)


@LOOPS
def test_an_answer_of_the_relay_needs_no_broker_when_nothing_is_outstanding(run):
    async def story(scene: Scene) -> None:
        client, _ = await scene.pair()
        client.write(describe(1))
        assert is_refused(await client.read_frame(), 1)

    play(run, story)


@LOOPS
def test_produce_without_acks_has_no_place_among_the_responses(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        silent = encoded(1, ProduceRequest(acks=0), 9) + encoded(2, ProduceRequest(acks=0, transactional_id="t"), 3)
        sent = silent + encoded(3, ProduceRequest(acks=1), 9) + request(FETCH, 12, 4) + silent
        client.write(sent)
        assert await broker.read(len(sent)) == sent
        broker.write(response(3) + response(4))
        assert await client.read_frame() == response(3)[4:]
        assert await client.read_frame() == response(4)[4:]

    play(run, story)


@LOOPS
def test_every_split_of_both_streams_gives_the_same(run):
    sent = describe(1) + encoded(2, ProduceRequest(acks=-1), 9) + find(3, OWNED) + request(FETCH, 12, 4, b"x")
    upstream = sent[len(describe(1)) :]
    answers = response(2, b"\x00\x01\x00\x00\x00\x00\x00") + found(3, OWNED) + response(4, b"y")

    async def received(scene: Scene, sent_cut: int, answers_cut: int) -> list[bytes]:
        client, broker = await scene.pair()
        for piece in (sent[:sent_cut], sent[sent_cut:]):
            await client.send(piece)
            await asyncio.sleep(0)
        assert await broker.read(len(upstream)) == upstream
        for piece in (answers[:answers_cut], answers[answers_cut:]):
            await broker.send(piece)
            await asyncio.sleep(0)
        frames = [await client.read_frame() for _ in range(4)]
        client.reset()
        return frames

    async def story(scene: Scene) -> None:
        whole = await received(scene, len(sent), len(answers))
        found_node = decoded(whole[2], FindCoordinatorResponse, 4, 3).coordinators[0]
        assert (found_node.node_id, found_node.host, found_node.port) == NODE
        for cut in range(max(len(sent), len(answers))):
            assert await received(scene, min(cut, len(sent)), min(cut, len(answers))) == whole, cut

    play(run, story)


@LOOPS
@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"\xff\xff\xff\xff", "frame of -1 bytes"),
        (b"\x00\x00\x00\x07", "frame of 7 bytes"),
        ((FRAME_BYTES_MAX + 1).to_bytes(4, "big"), f"frame of {FRAME_BYTES_MAX + 1} bytes"),
        (b"GET / HTTP/1.1\r\n\r\n", "out of bounds"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "out of bounds"),
        (request(FETCH, 16, 1), "Fetch version 16 is not served"),
        (request(17, 0, 1), "SaslHandshake version 0 is not served"),
        (request(68, 0, 1), "ConsumerGroupHeartbeat version 0 is not served"),
        (request(88, 0, 1), "API 88 version 0 is not served"),
        (request(DESCRIBE_GROUPS, 5, 1, b"\x00\x7f"), "DescribeGroupsRequest"),
        (request(FIND_COORDINATOR, 4, 1, b"\x00\x00\x7f"), "FindCoordinatorRequest"),
        (request(FIND_COORDINATOR, 4, 1, b"\xff\xff"), "RequestHeader"),
        (request(PRODUCE, 9, 1, b"\x7f" * 300), "tagged fields"),
        (request(PRODUCE, 7, 1), "header is invalid"),
    ],
)
def test_what_is_not_kafkas_protocol_closes_the_connection_with_one_line(run, sent, reason):
    async def story(scene: Scene) -> None:
        other_client, other_broker = await scene.pair()
        client, broker = await scene.pair()
        before = request(FETCH, 12, 1)
        client.write(before + sent)
        assert await client.read_to_end() == b""
        assert (await broker.read_to_end()) in (before, b"")
        ((address, told),) = scene.rejected
        assert address == "127.0.0.1"
        assert reason in told
        other_client.write(before)
        assert await other_broker.read(len(before)) == before

    play(run, story)


@LOOPS
@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (response(2), "correlation id 2"),
        (response(1) + response(1), "correlation id 1"),
        (b"\x00\x00\x00\x03", "frame of 3 bytes"),
        (response(9) * 1000, "correlation id 9"),
    ],
)
def test_a_broker_that_answers_out_of_step_is_disconnected(run, sent, reason):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.write(request(FETCH, 12, 1))
        await broker.read_frame()
        broker.write(sent)
        await client.read_to_end()
        ((_, told),) = scene.rejected
        assert reason in told

    play(run, story)


@LOOPS
def test_a_response_that_cannot_be_decoded_closes_the_connection(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        client.write(find(1, OWNED))
        await broker.read_frame()
        broker.write(response(1, b"\x00\x00"))
        assert await client.read_to_end() == b""
        ((_, told),) = scene.rejected
        assert "FindCoordinatorResponse" in told

    assert play(run, story).problems == []


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


async def stall(scene: Scene, writer: Peer, data: bytes) -> int:
    """Write until nobody takes more; how many bytes were taken."""
    writer.writer.transport.set_write_buffer_limits(high=0)
    taken, before = 0, -1
    while taken != before and taken < STALLED_BYTES_MAX:
        before = taken
        for _ in range(1_000):
            if writer.writer.transport.get_write_buffer_size() == 0:
                writer.write(data)
                taken += len(data)
            await asyncio.sleep(0)
    return taken


def small_buffers(peer: Peer) -> None:
    """Little of what a peer does not read is in the system."""
    sock = peer.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 14)


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
def test_requests_and_responses_wait_for_the_directory_in_their_order(run):
    async def story(scene: Scene) -> None:
        scene.directory.answers_later = True
        client, broker = await scene.pair()
        client.write(describe(1) + request(FETCH, 12, 2))
        await scene.until(lambda: scene.directory.asked)
        scene.directory.answer_all()
        assert is_refused(await client.read_frame(), 1)
        assert await broker.read_frame() == request(FETCH, 12, 2)[4:]
        client.write(find(3, OWNED) + request(FETCH, 12, 4))
        await broker.read_frame()
        broker.write(response(2) + found(3, OWNED) + response(4))
        assert await client.read_frame() == response(2)[4:]
        await scene.until(lambda: scene.directory.asked)
        scene.directory.answer_all()
        assert decoded(await client.read_frame(), FindCoordinatorResponse, 4, 3).coordinators[0].node_id == NODE.node_id
        assert await client.read_frame() == response(4)[4:]

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


@LOOPS
def test_a_defect_of_the_directory_is_logged_and_closes_one_connection(run):
    async def story(scene: Scene) -> None:
        client, _ = await scene.pair()
        scene.directory.owners = cast(Any, None)
        client.write(describe(1))
        assert await client.read_to_end() == b""

    assert play(run, story).problems == ["unhandled exception in the relay"]


@LOOPS
def test_heartbeats_are_not_inspected(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        sent = encoded(1, HeartbeatRequest(group_id=OWNED), 4)
        client.write(sent)
        assert await broker.read(len(sent)) == sent

    play(run, story)
