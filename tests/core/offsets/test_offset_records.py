from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _wire.embedded import decode_key, decode_value, encode_versioned, prefix_of
from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from _wire.messages.offset_fetch import OffsetFetchRequestTopics
from coordinator.core.offsets.records import (
    CommittedOffset,
    accept_offsets,
    are_partitions,
    find_offsets,
    is_metadata_too_long,
    is_offset_key,
    offset_records,
    offset_tombstones,
    read_offset_record,
)
from coordinator.core.topic_partition import TopicPartition

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
POSITIONS = st.builds(CommittedOffset, INT64, INT32, st.text(max_size=30), INT64, st.none() | st.integers(0, 2**63 - 1))


def asked(*partitions, topic="t"):
    return OffsetCommitRequestTopic(name=topic, topic_id=bytes(range(16)), partitions=list(partitions))


def partition(index=0, offset=1, **fields):
    return OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, **fields)


def test_a_position_says_what_it_was_made_of():
    position = CommittedOffset(42, 3, "m", 99, 100)
    assert repr(position) == (
        "CommittedOffset(offset=42, leader_epoch=3, metadata='m', commit_timestamp_ms=99, expire_timestamp_ms=100, "
        "topic_id=None)"
    )
    assert position == CommittedOffset(42, 3, "m", 99, 100)
    assert len({position, CommittedOffset(42, 3, "m", 99, 100), CommittedOffset(42, 3, "m", 99)}) == 2
    assert CommittedOffset(42, 3, "m", 99).expire_timestamp_ms is None
    assert position != (42, 3, "m", 99, 100)


def test_each_partition_is_taken_and_answered():
    taken, answered, _ = accept_offsets(
        [asked(partition(0, 7), partition(3, 8, committed_leader_epoch=5))], 99, None, 10, {}
    )
    assert taken == {"t": {0: CommittedOffset(7, -1, "", 99), 3: CommittedOffset(8, 5, "", 99)}}
    (topic,) = answered
    assert (topic.name, topic.topic_id) == ("t", bytes(range(16)))
    assert [(partition.partition_index, partition.error_code) for partition in topic.partitions] == [(0, 0), (3, 0)]


def test_of_two_for_a_partition_the_later_is_taken_and_both_are_answered():
    taken, answered, _ = accept_offsets(
        [asked(partition(0, 7), partition(0, 8)), asked(partition(0, 9))], 99, None, 10, {}
    )
    assert taken["t"][0].offset == 9
    assert [len(topic.partitions) for topic in answered] == [2, 1]


def test_an_offset_that_is_smaller_than_the_committed_one_goes_back():
    known = {"t": {0: CommittedOffset(7, -1, "", 1)}}
    for offset, goes_back in ((6, True), (7, False), (8, False)):
        assert accept_offsets([asked(partition(0, offset))], 99, None, 10, known)[2] is goes_back
    assert accept_offsets([asked(partition(1, 0)), asked(partition(0, 0), topic="u")], 99, None, 10, known)[2] is False
    assert accept_offsets([asked(partition(0, 6), partition(1, 9))], 99, None, 10, known)[2] is True
    assert accept_offsets([asked(partition(0, 6), partition(0, 9))], 99, None, 10, known)[2] is True


@pytest.mark.parametrize("character", ["x", "é", "群", "\N{GRINNING FACE}"], ids=["ASCII", "Latin", "BMP", "astral"])
def test_metadata_counts_in_utf_16_code_units_and_one_that_is_metadata_too_long_is_refused_by_itself(character):
    fitting = character * (20 // len(character.encode("utf-16-le")))
    at_most, too_long = partition(0, committed_metadata=fitting), partition(1, committed_metadata=fitting + "x")
    taken, answered, _ = accept_offsets([asked(at_most, too_long), asked(too_long, topic="u")], 99, None, 10, {})
    assert {topic: list(positions) for topic, positions in taken.items()} == {"t": [0]}
    errors = [[ErrorCode(partition.error_code) for partition in topic.partitions] for topic in answered]
    assert errors == [[ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE], [ErrorCode.OFFSET_METADATA_TOO_LARGE]]


@given(st.text(st.characters(exclude_categories=())), st.integers(0, 20))
def test_the_length_of_metadata_is_that_of_a_java_string(text, units_max):
    assert is_metadata_too_long(text, units_max) == (len(text.encode("utf-16-le", "surrogatepass")) // 2 > units_max)


def test_null_metadata_is_empty_and_times_are_those_of_the_request_where_it_has_them():
    asked_for = partition(0, 7, committed_metadata=None, commit_timestamp=55)
    taken, _, _ = accept_offsets([asked(asked_for)], 99, 1000, 10, {})
    assert taken["t"][0] == CommittedOffset(7, -1, "", 55, 1000)


@given(st.dictionaries(st.text(max_size=8), st.dictionaries(INT32, POSITIONS, max_size=3), max_size=3))
def test_records_say_what_they_are_made_of(positions):
    read: dict[str, dict[int, tuple[Any, ...]]] = {}
    for key, value in offset_records("group", positions):
        known: Any = decode_key(key)
        assert value is not None
        said: Any = decode_value(known, value)
        assert (prefix_of(key), known.group) == (1, "group")
        expires = said.expire_timestamp if prefix_of(value) == 1 else None
        leader_epoch = said.leader_epoch if prefix_of(value) == 4 else -1
        read.setdefault(known.topic, {})[known.partition] = (
            said.offset,
            leader_epoch,
            said.metadata,
            said.commit_timestamp,
            expires,
        )
    assert read == {
        topic: {
            index: (
                each.offset,
                each.leader_epoch if each.expire_timestamp_ms is None else -1,
                each.metadata,
                each.commit_timestamp_ms,
                each.expire_timestamp_ms,
            )
            for index, each in of_topic.items()
        }
        for topic, of_topic in positions.items()
        if of_topic
    }


@given(st.text(max_size=8), INT32, POSITIONS)
def test_a_record_is_read_as_it_was_written(topic, index, position):
    (record,) = offset_records("group", {topic: {index: position}})
    *named, found = read_offset_record(*record)
    assert named == ["group", topic, index]
    # The value with an expire timestamp has no leader epoch.
    leader_epoch = position.leader_epoch if position.expire_timestamp_ms is None else -1
    times = position.commit_timestamp_ms, position.expire_timestamp_ms
    assert found == CommittedOffset(position.offset, leader_epoch, position.metadata, *times)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, CommittedOffset(7, -1, "m", 99)),
        (1, CommittedOffset(7, -1, "m", 99, 100)),
        (2, CommittedOffset(7, -1, "m", 99)),
        (3, CommittedOffset(7, 5, "m", 99)),
        (4, CommittedOffset(7, 5, "m", 99)),
    ],
)
def test_every_version_of_a_record_is_read(version, expected):
    key = OffsetCommitKey(group="group", topic="t", partition=2)
    value = OffsetCommitValue(offset=7, leader_epoch=5, metadata="m", commit_timestamp=99, expire_timestamp=100)
    if version != 1:
        value.expire_timestamp = -1
    if version < 3:
        value.leader_epoch = -1
    record = encode_versioned(key, min(version, 1)), encode_versioned(value, version)
    assert read_offset_record(*record) == ("group", "t", 2, expected)


def test_an_expire_timestamp_of_minus_one_is_none():
    key = encode_versioned(OffsetCommitKey(group="group", topic="t"), 1)
    value = encode_versioned(OffsetCommitValue(offset=7, commit_timestamp=99, expire_timestamp=-1), 1)
    read = read_offset_record(key, value)[3]
    assert read is not None and read.expire_timestamp_ms is None


def test_a_tombstone_names_the_partition():
    (first, second) = offset_tombstones("group", [TopicPartition("t", 2), TopicPartition("u", 0)])
    assert read_offset_record(*first) == ("group", "t", 2, None)
    assert read_offset_record(*second) == ("group", "u", 0, None)
    (written,) = offset_records("group", {"t": {2: CommittedOffset(7, 5, "m", 99)}})
    assert first[0] == written[0], "compaction removes the offset only for the same key"


@pytest.mark.parametrize(("key_type", "expected"), [(-1, False), (0, True), (1, True), (2, False), (3, False)])
def test_the_type_of_a_key_says_whether_it_is_an_offsets(key_type, expected):
    assert is_offset_key(key_type.to_bytes(2, "big", signed=True) + b"rest") == expected


def test_a_key_without_a_type_is_malformed():
    with pytest.raises(MalformedMessage):
        is_offset_key(b"\0")


def test_what_is_not_committed_is_found_as_no_offset():
    asked = [OffsetFetchRequestTopics(name="t", partition_indexes=[0, 3])]
    (topic,) = find_offsets({"t": {3: CommittedOffset(7, 2, "m", 99)}}, asked)
    assert (topic.name, topic.topic_id) == ("t", bytes(16))
    assert [
        (
            partition.partition_index,
            partition.committed_offset,
            partition.committed_leader_epoch,
            partition.metadata,
            partition.error_code,
        )
        for partition in topic.partitions
    ] == [(0, -1, -1, "", 0), (3, 7, 2, "m", 0)]


def test_partitions_of_a_topic():
    assert are_partitions([partition(0), partition(2)], 3)
    assert not are_partitions([partition(3)], 3)
    assert not are_partitions([partition(-1)], 3)
    assert are_partitions([], 0)
