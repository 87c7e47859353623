"""The ids of topics in the records of committed offsets, as Apache Kafka 4.3.1 writes them."""

from _wire.embedded import prefix_of
from _wire.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from coordinator.core.offsets.records import CommittedOffset, accept_offsets, offset_records, read_offset_record

TOPIC_ID = bytes(range(16))
WITH_ID = (
    b"\x00\x04"  # the version of the value
    b"\x00\x00\x00\x00\x00\x00\x00\x0a"  # offset
    b"\xff\xff\xff\xff"  # leader epoch
    b"\x02m"  # metadata
    b"\x00\x00\x00\x00\x00\x00\x00\x63"  # commit timestamp
    b"\x01\x00\x10" + TOPIC_ID  # one tagged field, 0, of 16 bytes
)


def value_of(committed: CommittedOffset) -> bytes:
    ((_, value),) = offset_records("g", {"t": {0: committed}})
    assert value is not None
    return value


def test_a_value_ends_with_the_id_of_its_topic() -> None:
    assert value_of(CommittedOffset(10, -1, "m", 99, topic_id=TOPIC_ID)) == WITH_ID


def test_an_id_that_is_not_known_is_left_out() -> None:
    assert value_of(CommittedOffset(10, -1, "m", 99)) == WITH_ID[:-19] + b"\x00"


def test_an_offset_that_expires_is_of_the_version_that_says_so() -> None:
    assert prefix_of(value_of(CommittedOffset(10, -1, "m", 99, 100, TOPIC_ID))) == 1


def test_what_was_written_is_read_with_its_id() -> None:
    ((key, value),) = offset_records("g", {"t": {0: CommittedOffset(10, -1, "m" * 200, 99, topic_id=TOPIC_ID)}})
    *_, found = read_offset_record(key, value)
    assert found is not None
    assert (found.offset, found.metadata, found.topic_id) == (10, "m" * 200, TOPIC_ID)


def test_an_older_value_has_no_id() -> None:
    ((key, _),) = offset_records("g", {"t": {0: CommittedOffset(10, -1, "m", 99)}})
    older = b"\x00\x03" + WITH_ID[2:14] + b"\x00\x01m" + WITH_ID[16:24]
    *_, found = read_offset_record(key, older)
    assert found is not None
    assert (found.offset, found.metadata, found.commit_timestamp_ms, found.topic_id) == (10, "m", 99, None)


def test_offsets_of_another_topic_of_the_same_name_are_not_equal() -> None:
    assert CommittedOffset(10, -1, "m", 99, topic_id=TOPIC_ID) != CommittedOffset(10, -1, "m", 99)
    assert CommittedOffset(10, -1, "m", 99, topic_id=TOPIC_ID) == CommittedOffset(10, -1, "m", 99, topic_id=TOPIC_ID)


def test_an_offset_that_expires_is_kept_without_the_id_that_its_record_has_no_room_for() -> None:
    topic = OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition()])
    for expire_timestamp_ms, topic_id in ((None, TOPIC_ID), (100, None)):
        accepted, *_ = accept_offsets([topic], 99, expire_timestamp_ms, 4096, {}, lambda name: TOPIC_ID)
        assert accepted["t"][0].topic_id == topic_id
