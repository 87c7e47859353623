"""The codec calls `pause` after many elements: nothing changes by it, and it may end the work."""

import gc
import sys
import tracemalloc

import pytest

from _wire.errors import MalformedMessage
from _wire.headers import decode_response_header, encode_response
from _wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from _wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from _wire.records import Record, build_batch, find_max_timestamp, find_timestamp
from _wire.release import Release

AT_FIRST, IN_STEP = 5_000, 500


class Pause:
    """Counts its calls; raises at the call of that number."""

    def __init__(self, fails_at=None):
        self.calls = 0
        self._fails_at = fails_at

    def __call__(self, held_bytes=None):
        self.calls += 1
        self.held_bytes = held_bytes
        if self.calls == self._fails_at:
            raise ZeroDivisionError


def names(count):
    return DescribeGroupsRequest(groups=[f"group-{number}" for number in range(count)])


def structs(count):
    return LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=str(number)) for number in range(count)])


def nested(count):
    """Three levels, of which each has one element: `count` elements together."""
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(producer_id=number, topics=[WritableTxnMarkerTopic(name="t", partition_indexes=[0])])
            for number in range(count // 3)
        ]
    )


def numbers(count):
    """Arrays of partition numbers are read in one piece each."""
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=list(range(99))) for _ in range(count // 100)]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])


MANY = pytest.mark.parametrize(
    ("make", "version"),
    [(names, 5), (structs, 5), (nested, 1), (numbers, 8)],
    ids=["names", "structs", "nested", "ints"],
)


@MANY
def test_a_message_is_the_same_with_pauses(make, version):
    message = make(12_000)
    data = message.encode(version)
    pause = Pause()
    assert type(message).decode(data, version, 0, True, -1, pause) == message
    assert pause.calls == pytest.approx((12_000 - AT_FIRST) / IN_STEP, abs=4)


@MANY
def test_a_message_of_few_elements_has_no_pause(make, version):
    message = make(AT_FIRST - 200)
    pause = Pause()
    type(message).decode(message.encode(version), version, 0, True, -1, pause)
    assert pause.calls == 0


@pytest.mark.parametrize("fails_at", [1, 7])
def test_a_pause_that_raises_ends_the_decoding_and_nothing_is_kept(fails_at):
    data = structs(20_000).encode(5)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                LeaveGroupRequest.decode(data, 5, 0, True, -1, Pause(fails_at))
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_what_is_malformed_after_a_pause_is_refused_as_without():
    data = structs(20_000).encode(5)[:-5]
    with pytest.raises(MalformedMessage) as without:
        LeaveGroupRequest.decode(data, 5)
    pause = Pause()
    with pytest.raises(MalformedMessage) as paused:
        LeaveGroupRequest.decode(data, 5, 0, True, -1, pause)
    assert str(paused.value) == str(without.value)
    assert pause.calls > 20


def test_a_response_is_the_same_with_pauses():
    response = LeaveGroupResponse(members=[MemberResponse(member_id=str(number)) for number in range(12_000)])
    pause = Pause()
    frame = encode_response(1, response, 5, None, pause)
    assert frame == encode_response(1, response, 5)
    assert pause.calls == (12_000 - AT_FIRST) // IN_STEP + 1
    _, body_start = decode_response_header(frame[4:], LeaveGroupResponse.API_KEY, 5)
    assert LeaveGroupResponse.decode(frame[4:], 5, body_start) == response


def test_a_pause_that_raises_ends_the_encoding():
    response = LeaveGroupResponse(members=[MemberResponse(member_id=str(number)) for number in range(12_000)])
    with pytest.raises(ZeroDivisionError):
        encode_response(1, response, 5, None, Pause(1))
    assert encode_response(1, response, 5) == encode_response(1, response, 5, None, Pause())


def test_a_response_may_change_while_it_is_paused():
    """Nobody does it. If somebody did, the response would be wrong, and nothing worse."""
    response = DescribeGroupsResponse(groups=[DescribedGroup(group_id=str(number)) for number in range(12_000)])
    assert encode_response(1, response, 5, None, lambda held_bytes: response.groups.clear())


def test_long_texts_are_pauses_too_and_what_the_buffer_holds_is_told():
    response = LeaveGroupResponse(members=[MemberResponse(member_id="m" * 30_000) for _ in range(400)])
    held: list[int] = []
    frame = encode_response(1, response, 5, None, held.append)
    assert frame == encode_response(1, response, 5)
    assert held[0] < 4 << 20
    assert sorted(held) == held
    assert held[-1] >= len(frame) and len(held) >= 4


# ---- search of a batch


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_search_by_time_finds_the_same_with_pauses(compression):
    records = [Record(offset=number, timestamp_ms=1_000 + (number == 11_000)) for number in range(12_000)]
    batch = build_batch(records, compression=compression)
    for search in (
        lambda *pause: find_timestamp(batch, 1_001, 0, *pause),
        lambda *pause: find_max_timestamp(batch, *pause),
    ):
        pause = Pause()
        assert search(pause) == search() == (11_000, 1_001, -1)
        assert pause.calls > 10


def test_another_batch_may_be_searched_during_a_pause():
    """What is decompressed for a search that pauses stays as it is."""
    batch = build_batch([Record(offset=n, timestamp_ms=1_000 + n // 11_000) for n in range(12_000)], compression="zstd")
    other = build_batch([Record(offset=n, timestamp_ms=7) for n in range(12_000)], compression="zstd")
    assert find_timestamp(batch, 1_001, 0, lambda: find_timestamp(other, 8)) == (11_000, 1_001, -1)


# ---- freeing


def test_messages_are_freed_in_steps():
    pause = Pause()
    messages: list[object] = [nested(12_000)]
    Release(pause).run(messages)
    assert messages == []
    assert pause.calls == (12_000 + 1) // IN_STEP


def test_freeing_leaves_what_others_hold():
    response = DescribeGroupsResponse(groups=[DescribedGroup(group_id=str(number)) for number in range(3)])
    held, of_response = response.groups[1], response.groups
    messages: list[object] = [response]
    del response
    Release(Pause()).run(messages)
    assert [each.group_id for each in of_response] == ["0", "1", "2"]
    assert held.group_id == "1"
    request = WriteTxnMarkersRequest(
        markers=[WritableTxnMarker(topics=[WritableTxnMarkerTopic(partition_indexes=[5])])]
    )
    topics = request.markers[0].topics
    Release(Pause()).run([request])
    assert request.markers[0].topics is topics
    messages, kept = [request], request.markers[0]
    del request, topics
    Release(Pause()).run(messages)
    assert kept.topics[0].partition_indexes == [5]
    alone = object()  # the count of what one name holds depends on the interpreter
    assert sys.getrefcount(kept) == sys.getrefcount(alone)


def test_freeing_goes_on_after_a_pause():
    messages: list[object] = [structs(2_000)]
    left: list[int] = []
    Release(lambda: left.append(len(messages))).run(messages)
    assert left == [0] * 4
