"""A heartbeat read in place says what the codec says, in every version, or declines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.errors import MalformedMessage
from _wire.headers import decode_request_header, encode_request, encode_response
from _wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from _wire.messages.streams_group_heartbeat import (
    Endpoint,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_ELEMENTS
from tests.wire import heartbeat_calls

LENGTH_BYTES = 4
IDS = st.text(max_size=40) | st.text("ab", min_size=120, max_size=140)
INSTANCE_IDS = st.none() | IDS
VERSIONS = st.integers(HeartbeatRequest.MIN_VERSION, HeartbeatRequest.MAX_VERSION)
WITH_INSTANCE_ID = 3


def frame_of(version, client_id="client", **fields):
    return encode_request(7, client_id, HeartbeatRequest(**fields), version)[LENGTH_BYTES:]


def fields_by_codec(frame):
    header, start = decode_request_header(frame)
    request = HeartbeatRequest.decode(frame, header.api_version, start, whole=False)
    instance_id = None if request.group_instance_id is None else request.group_instance_id.encode()
    who = request.group_id.encode(), request.generation_id, request.member_id.encode()
    return header.api_version, *who, instance_id


@given(VERSIONS, st.none() | IDS, IDS, st.integers(-(2**31), 2**31 - 1), IDS, INSTANCE_IDS)
def test_reads_what_the_codec_reads(version, client_id, group_id, generation_id, member_id, instance_id):
    named = {"group_instance_id": instance_id} if version >= WITH_INSTANCE_ID else {}
    frame = frame_of(version, client_id, group_id=group_id, generation_id=generation_id, member_id=member_id, **named)
    assert heartbeat_calls.read(frame) == fields_by_codec(frame)


@given(VERSIONS, st.integers(-(2**31), 2**31 - 1))
def test_answers_as_the_codec_does(version, correlation_id):
    frame = encode_request(correlation_id, "c", HeartbeatRequest(group_id="g", member_id="m"), version)[LENGTH_BYTES:]
    assert heartbeat_calls.answer(frame) == encode_response(correlation_id, HeartbeatResponse(), version)


@given(VERSIONS, st.data())
def test_declines_or_agrees_on_any_change_of_a_byte(version, data):
    frame = bytearray(frame_of(version, group_id="group", generation_id=3, member_id="member"))
    where = data.draw(st.integers(0, len(frame) - 1))
    frame[where] = data.draw(st.integers(0, 255))
    read = heartbeat_calls.read(bytes(frame))
    if read is not None and all(each is None or is_utf8(each) for each in (read[1], read[3], read[4])):
        try:
            assert read == fields_by_codec(bytes(frame))
        except MalformedMessage as problem:
            # The client's own id is not looked at: nobody asks for it.
            assert "client_id" in str(problem)


def is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(VERSIONS, st.data())
def test_declines_every_frame_cut_short(version, data):
    frame = frame_of(version, group_id="group", generation_id=3, member_id="member")
    assert heartbeat_calls.read(frame[: data.draw(st.integers(0, len(frame) - 1))]) is None


@given(VERSIONS, st.binary(min_size=1, max_size=20))
def test_ignores_bytes_after_the_last_field(version, trailing):
    frame = frame_of(version, group_id="group", generation_id=3, member_id="member")
    assert heartbeat_calls.read(frame + trailing) == heartbeat_calls.read(frame)
    assert heartbeat_calls.read(frame) is not None


def test_declines_tagged_fields():
    frame = frame_of(4, group_id="group", generation_id=3, member_id="member")
    assert heartbeat_calls.read(frame[:-1] + b"\x01\x00\x00") is None


def test_declines_other_requests_and_unknown_versions():
    frame = frame_of(4, group_id="group", member_id="member")
    assert heartbeat_calls.read(b"\x00\x0b" + frame[2:]) is None
    assert heartbeat_calls.read(frame[:2] + b"\x00\x05" + frame[4:]) is None
    assert heartbeat_calls.read(frame[:2] + b"\xff\xff" + frame[4:]) is None


def test_declines_strings_that_the_codec_has_to_judge():
    assert heartbeat_calls.read(frame_of(4, group_id="g" * (1 << 14), member_id="member")) is None
    assert heartbeat_calls.read(frame_of(4, group_id="g" * ((1 << 14) - 2), member_id="member")) is not None


CONSUMER_VERSIONS = st.integers(ConsumerGroupHeartbeatRequest.MIN_VERSION, ConsumerGroupHeartbeatRequest.MAX_VERSION)
EPOCHS = st.integers(-(2**31), 2**31 - 1)


def consumer_frame(version, client_id="client", **fields):
    return encode_request(7, client_id, ConsumerGroupHeartbeatRequest(**fields), version)[LENGTH_BYTES:]


def owned(*several):
    """The partitions of as many topics."""
    return [TopicPartitions(partitions=each) for each in several]


@given(CONSUMER_VERSIONS, IDS, IDS, EPOCHS, IDS, INSTANCE_IDS)
def test_reads_what_the_codec_reads_of_a_consumer(version, client_id, group_id, epoch, member_id, instance_id):
    frame = consumer_frame(
        version, client_id, group_id=group_id, member_id=member_id, member_epoch=epoch, instance_id=instance_id
    )
    instance = None if instance_id is None else instance_id.encode()
    expected = version, client_id.encode(), group_id.encode(), member_id.encode(), epoch, instance
    assert heartbeat_calls.read_consumer(frame) == expected
    assert heartbeat_calls.read(frame) is None


@given(CONSUMER_VERSIONS, EPOCHS, EPOCHS, st.text("ab", max_size=126))
def test_answers_a_consumer_as_the_codec_does(version, epoch, interval_ms, member_id):
    frame = consumer_frame(version, group_id="g", member_id=member_id, member_epoch=epoch)
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=interval_ms
    )
    assert heartbeat_calls.answer_consumer(frame, interval_ms) == encode_response(7, response, version)


@pytest.mark.parametrize(
    "said",
    [
        {"rack_id": "r"},
        {"rack_id": ""},
        {"rebalance_timeout_ms": 0},
        {"rebalance_timeout_ms": 30_000},
        {"subscribed_topic_names": []},
        {"subscribed_topic_names": ["t"]},
        {"subscribed_topic_regex": ""},
        {"server_assignor": "uniform"},
    ],
)
def test_declines_a_consumer_that_says_more_than_that_it_is_alive_and_what_it_owns(said):
    steady = {"group_id": "g", "member_id": "m", "member_epoch": 3}
    for version in (0, 1):
        assert heartbeat_calls.read_consumer(consumer_frame(version, **steady)) is not None
        if version or "subscribed_topic_regex" not in said:
            assert heartbeat_calls.read_consumer(consumer_frame(version, **steady, **said)) is None
            said_both = consumer_frame(version, **steady, **said, topic_partitions=owned([2, 1]))
            assert heartbeat_calls.read_consumer(said_both) is None


@given(CONSUMER_VERSIONS, st.none() | st.lists(st.lists(st.integers(-5, 2**31 - 1), max_size=20), max_size=5))
def test_what_a_consumer_owns_is_passed_over(version, counts):
    said = {"topic_partitions": None if counts is None else owned(*counts)}
    frame = consumer_frame(version, group_id="g", member_id="m", member_epoch=3, **said)
    assert heartbeat_calls.read_consumer(frame) == (version, b"client", b"g", b"m", 3, None)
    response = ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=3, heartbeat_interval_ms=500)
    assert heartbeat_calls.answer_consumer(frame, 500) == encode_response(7, response, version)


@pytest.mark.parametrize("counts", [(99,), (49, 49), (0,) * 100, (1,) * 50])
def test_as_many_partitions_as_any_request_may_have(counts):
    """The least that `socket.request.max.elements` can be."""
    assert sum(counts) + len(counts) == SOCKET_REQUEST_MAX_ELEMENTS.at_least == 100
    frame = consumer_frame(1, group_id="g", member_id="m", topic_partitions=owned(*map(range, counts)))
    assert heartbeat_calls.read_consumer(frame) is not None
    *first, last = counts
    frame = consumer_frame(1, group_id="g", member_id="m", topic_partitions=owned(*map(range, (*first, last + 1))))
    assert heartbeat_calls.read_consumer(frame) is None


def test_very_many_partitions_are_left_to_the_codec():
    for counts in ((127,), (128,), (20_000,), (0,) * 127, (0,) * 128, (0,) * 300):
        frame = consumer_frame(1, group_id="g", member_id="m", topic_partitions=owned(*map(range, counts)))
        assert heartbeat_calls.read_consumer(frame) is None


def test_partitions_with_tags_or_null_are_left_to_the_codec():
    frame = consumer_frame(1, group_id="g", member_id="m", topic_partitions=owned([7]))
    body = b"\x02" + bytes(16) + b"\x02" + (7).to_bytes(4, "big") + b"\0" + b"\0"
    assert frame.endswith(body)
    start = frame[: -len(body)]
    for changed in (
        b"\x02" + bytes(16) + b"\x02" + (7).to_bytes(4, "big") + b"\x01\x00\x00" + b"\0",
        b"\x02" + bytes(16) + b"\x00" + b"\0" + b"\0",
        body[:-1] + b"\x01\x00\x00",
    ):
        assert heartbeat_calls.read_consumer(start + body) is not None
        assert heartbeat_calls.read_consumer(start + changed) is None


@given(CONSUMER_VERSIONS, st.data())
def test_declines_or_agrees_on_any_change_of_a_byte_of_a_consumer(version, data):
    said = data.draw(st.sampled_from([None, [], owned([1, 2]), owned([0], [], [3, 4, 5])]))
    frame = bytearray(
        consumer_frame(version, group_id="group", member_epoch=3, member_id="member", topic_partitions=said)
    )
    where = data.draw(st.integers(0, len(frame) - 1))
    frame[where] = data.draw(st.integers(0, 255))
    read = heartbeat_calls.read_consumer(bytes(frame))
    if read is not None and all(is_utf8(each) for each in read[1:4]):
        header, start = decode_request_header(bytes(frame))
        request = ConsumerGroupHeartbeatRequest.decode(bytes(frame), header.api_version, start, whole=False)
        instance = None if request.instance_id is None else request.instance_id.encode()
        assert read == (
            header.api_version,
            (header.client_id or "").encode(),
            request.group_id.encode(),
            request.member_id.encode(),
            request.member_epoch,
            instance,
        )


@given(CONSUMER_VERSIONS, st.data())
def test_declines_every_frame_of_a_consumer_cut_short(version, data):
    said = data.draw(st.sampled_from([None, [], owned([1, 2]), owned([0], [], [3, 4, 5])]))
    frame = consumer_frame(version, group_id="group", member_epoch=3, member_id="member", topic_partitions=said)
    assert heartbeat_calls.read_consumer(frame[: data.draw(st.integers(0, len(frame) - 1))]) is None


def test_declines_a_consumer_without_a_client_id_or_with_tags():
    assert heartbeat_calls.read_consumer(consumer_frame(1, None, group_id="g", member_id="m")) is None
    frame = consumer_frame(1, group_id="g", member_id="m")
    assert heartbeat_calls.read_consumer(frame[:-1] + b"\x01\x00\x00") is None


SHARE_VERSION = 1


def share_frame(client_id="client", **fields):
    return encode_request(7, client_id, ShareGroupHeartbeatRequest(**fields), SHARE_VERSION)[LENGTH_BYTES:]


def test_the_only_version_of_share_groups_is_known():
    assert ShareGroupHeartbeatRequest.MIN_VERSION == ShareGroupHeartbeatRequest.MAX_VERSION == SHARE_VERSION


@given(IDS, IDS, EPOCHS, IDS)
def test_reads_what_the_codec_reads_of_a_share_group(client_id, group_id, epoch, member_id):
    frame = share_frame(client_id, group_id=group_id, member_id=member_id, member_epoch=epoch)
    expected = SHARE_VERSION, client_id.encode(), group_id.encode(), member_id.encode(), epoch
    assert heartbeat_calls.read_share(frame) == expected
    assert heartbeat_calls.read(frame) is None
    assert heartbeat_calls.read_consumer(frame) is None
    consumer = consumer_frame(1, client_id, group_id=group_id, member_id=member_id, member_epoch=epoch)
    assert heartbeat_calls.read_share(consumer) is None


@given(EPOCHS, EPOCHS, st.text("ab", max_size=126))
def test_answers_a_share_group_as_the_codec_does(epoch, interval_ms, member_id):
    frame = share_frame(group_id="g", member_id=member_id, member_epoch=epoch)
    response = ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=interval_ms)
    assert heartbeat_calls.answer_share(frame, interval_ms) == encode_response(7, response, SHARE_VERSION)


@pytest.mark.parametrize(
    "said", [{"rack_id": ""}, {"rack_id": "r"}, {"subscribed_topic_names": []}, {"subscribed_topic_names": ["t"]}]
)
def test_declines_a_member_of_a_share_group_that_says_more_than_that_it_is_alive(said):
    steady = {"group_id": "g", "member_id": "m", "member_epoch": 3}
    assert heartbeat_calls.read_share(share_frame(**steady)) is not None
    assert heartbeat_calls.read_share(share_frame(**steady, **said)) is None


@given(st.data())
def test_declines_every_frame_of_a_share_group_cut_short_and_other_versions(data):
    frame = share_frame(group_id="group", member_id="member", member_epoch=3)
    assert heartbeat_calls.read_share(frame[: data.draw(st.integers(0, len(frame) - 1))]) is None
    assert heartbeat_calls.read_share(frame[:2] + b"\x00\x00" + frame[4:]) is None
    assert heartbeat_calls.read_share(frame[:2] + b"\x00\x02" + frame[4:]) is None
    assert heartbeat_calls.read_share(frame[:-1] + b"\x01\x00\x00") is None


STREAMS_VERSION = 0


def streams_frame(client_id="client", **fields):
    return encode_request(7, client_id, StreamsGroupHeartbeatRequest(**fields), STREAMS_VERSION)[LENGTH_BYTES:]


def test_the_only_version_of_streams_groups_is_known():
    assert StreamsGroupHeartbeatRequest.MIN_VERSION == StreamsGroupHeartbeatRequest.MAX_VERSION == STREAMS_VERSION


@given(IDS, IDS, EPOCHS, IDS, EPOCHS)
def test_reads_what_the_codec_reads_of_a_streams_group(client_id, group_id, epoch, member_id, endpoints):
    who = {"group_id": group_id, "member_id": member_id, "member_epoch": epoch}
    frame = streams_frame(client_id, **who, endpoint_information_epoch=endpoints)
    expected = STREAMS_VERSION, client_id.encode(), group_id.encode(), member_id.encode(), epoch, endpoints
    assert heartbeat_calls.read_streams(frame) == expected
    assert heartbeat_calls.read(frame) is None
    assert heartbeat_calls.read_consumer(frame) is None
    assert heartbeat_calls.read_share(frame) is None
    assert heartbeat_calls.read_streams(consumer_frame(1, client_id, **who)) is None
    assert heartbeat_calls.read_streams(share_frame(client_id, **who)) is None


@given(EPOCHS, EPOCHS, st.text("ab", max_size=126), EPOCHS)
def test_answers_a_streams_group_as_the_codec_does(epoch, interval_ms, member_id, endpoints):
    frame = streams_frame(group_id="g", member_id=member_id, member_epoch=epoch, endpoint_information_epoch=endpoints)
    response = StreamsGroupHeartbeatResponse(
        member_id=member_id,
        member_epoch=epoch,
        heartbeat_interval_ms=interval_ms,
        status=[],
        endpoint_information_epoch=endpoints,
    )
    assert heartbeat_calls.answer_streams(frame, interval_ms) == encode_response(7, response, STREAMS_VERSION)


@pytest.mark.parametrize(
    "said",
    [
        {"instance_id": "i"},
        {"rack_id": ""},
        {"rebalance_timeout_ms": 0},
        {"topology": Topology()},
        {"active_tasks": []},
        {"standby_tasks": []},
        {"warmup_tasks": []},
        {"process_id": "p"},
        {"user_endpoint": Endpoint(host="h", port=1)},
        {"client_tags": []},
        {"task_offsets": []},
        {"task_end_offsets": []},
        {"shutdown_application": True},
    ],
)
def test_declines_a_member_of_a_streams_group_that_says_more_than_that_it_is_alive(said):
    steady = {"group_id": "g", "member_id": "m", "member_epoch": 3}
    assert heartbeat_calls.read_streams(streams_frame(**steady)) is not None
    assert heartbeat_calls.read_streams(streams_frame(**steady, **said)) is None


@given(st.data())
def test_declines_every_frame_of_a_streams_group_cut_short_and_other_versions(data):
    frame = streams_frame(group_id="group", member_id="member", member_epoch=3)
    assert heartbeat_calls.read_streams(frame[: data.draw(st.integers(0, len(frame) - 1))]) is None
    assert heartbeat_calls.read_streams(frame[:2] + b"\x00\x01" + frame[4:]) is None
    assert heartbeat_calls.read_streams(frame[:-1] + b"\x01\x00\x00") is None
