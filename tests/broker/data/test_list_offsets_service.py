"""ListOffsets without a server: what a partition answers when its log is fine, damaged or unreadable."""

from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from coordinator.broker.data.list_offsets import EARLIEST, LATEST, MAX_TIMESTAMP, list_offsets
from coordinator.runtime.slices import at_once
from tests.broker.virtual_broker import START_MS, VirtualBroker, batch

NEWEST: Final = 11


@pytest.fixture
def broker() -> VirtualBroker:
    broker = VirtualBroker()
    broker.create_topic("orders", 2)
    broker.produce("orders", batch(b"a", b"b"))
    return broker


def answers(
    broker: VirtualBroker, *wanted: tuple[str, int, int], version: int = NEWEST
) -> list[tuple[str, list[ListOffsetsPartitionResponse]]]:
    """What each (topic, partition, timestamp) is answered, by topic."""
    topics = [
        ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=index, timestamp=timestamp)])
        for name, index, timestamp in wanted
    ]
    response = at_once(
        list_offsets(ListOffsetsRequest(replica_id=-1, topics=topics), version, broker.partitions, broker.load)
    )
    return [(topic.name, topic.partitions) for topic in response.topics]


def only(broker: VirtualBroker, timestamp: int, version: int = NEWEST) -> ListOffsetsPartitionResponse:
    (((_, (partition,))),) = answers(broker, ("orders", 0, timestamp), version=version)
    return partition


@pytest.mark.parametrize(
    ("timestamp", "offset", "found_ms"),
    [(LATEST, 2, -1), (EARLIEST, 0, -1), (MAX_TIMESTAMP, 0, START_MS), (START_MS, 0, START_MS), (START_MS + 1, -1, -1)],
)
def test_a_timestamp_stands_for_an_offset(broker, timestamp, offset, found_ms):
    answer = only(broker, timestamp)
    assert (answer.error_code, answer.offset, answer.timestamp) == (ErrorCode.NONE, offset, found_ms)


def test_a_timestamp_that_came_in_a_later_version_is_rejected(broker):
    assert only(broker, MAX_TIMESTAMP, version=6).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert only(broker, MAX_TIMESTAMP, version=7).error_code == ErrorCode.NONE


def test_partitions_of_a_topic_are_answered_together_and_one_that_is_named_twice_is_rejected(broker):
    wanted = (("orders", 0, LATEST), ("other", 0, LATEST), ("orders", 1, LATEST), ("orders", 0, EARLIEST))
    assert [
        (topic, [(partition.partition_index, partition.error_code) for partition in partitions])
        for topic, partitions in answers(broker, *wanted)
    ] == [
        ("orders", [(0, ErrorCode.INVALID_REQUEST), (1, ErrorCode.NONE)]),
        ("other", [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
    ]


def test_a_log_that_cannot_be_read_is_reported_only_where_it_has_to_be_read(broker):
    broker.fs.is_unreadable = True
    assert only(broker, START_MS).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (only(broker, LATEST).error_code, only(broker, LATEST).offset) == (ErrorCode.NONE, 2)
