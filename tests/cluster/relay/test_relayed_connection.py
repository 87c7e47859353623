"""What passes through the relay on real sockets, under both event loops."""

import asyncio

import pytest

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from _wire.messages.find_coordinator import FindCoordinatorResponse
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.produce import ProduceRequest
from tests.cluster.relay.scripted import (
    FRAME_BYTES_MAX,
    LOOPS,
    NODE,
    OWNED,
    Scene,
    decoded,
    encoded,
    play,
    request,
    response,
)
from tests.cluster.relay.traffic import (
    DESCRIBE_GROUPS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    PRODUCE,
    describe,
    find,
    found,
    is_refused,
)


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
        (request(FETCH, 19, 1), "Fetch version 19 is not served"),
        (request(17, 0, 1), "SaslHandshake version 0 is not served"),
        (request(76, 0, 1), "ShareGroupHeartbeat version 0 is not served"),
        (request(83, 0, 1), "InitializeShareGroupState version 0 is not served"),
        (request(80, 0, 1), "API 80 version 0 is not served"),
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
@pytest.mark.parametrize("version", [0, 1])
def test_heartbeats_of_consumer_groups_pass_unless_a_node_owns_the_group(run, version):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        others = encoded(6, ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=0), version)
        client.write(others)
        assert await broker.read(len(others)) == others
        broker.write(response(6))
        assert await client.read_frame() == response(6)[4:]
        client.write(encoded(7, ConsumerGroupHeartbeatRequest(group_id=OWNED, member_id="m", member_epoch=0), version))
        answer = decoded(await client.read_frame(), ConsumerGroupHeartbeatResponse, version, 7)
        assert answer.error_code == ErrorCode.NOT_COORDINATOR

    play(run, story)


@LOOPS
def test_heartbeats_are_not_inspected(run):
    async def story(scene: Scene) -> None:
        client, broker = await scene.pair()
        sent = encoded(1, HeartbeatRequest(group_id=OWNED), 4)
        client.write(sent)
        assert await broker.read(len(sent)) == sent

    play(run, story)
