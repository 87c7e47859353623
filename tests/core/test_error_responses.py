"""The responses that have one error for every partition, of all APIs that have such responses."""

from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from coordinator.core.error_responses import ErrorForEachPartition
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets import transactional as transactional_offsets
from coordinator.node.handlers import data

ID: Final = bytes(range(16))
ERROR: Final = ErrorCode.NOT_COORDINATOR

BY_TOPIC_ID: Final = [
    (
        offset_commit.request_error,
        OffsetCommitRequest(
            topics=[
                OffsetCommitRequestTopic(
                    name="t",
                    topic_id=ID,
                    partitions=[OffsetCommitRequestPartition(partition_index=each) for each in (0, 3)],
                )
            ]
        ),
    ),
    (
        data.PRODUCE_ERROR,
        ProduceRequest(
            topic_data=[
                TopicProduceData(
                    name="t", topic_id=ID, partition_data=[PartitionProduceData(index=each) for each in (0, 3)]
                )
            ]
        ),
    ),
    (
        data.FETCH_ERROR,
        FetchRequest(
            topics=[FetchTopic(topic="t", topic_id=ID, partitions=[FetchPartition(partition=each) for each in (0, 3)])]
        ),
    ),
]
BY_NAME: Final = [
    (
        transactional_offsets.error_response,
        TxnOffsetCommitRequest(
            topics=[
                TxnOffsetCommitRequestTopic(
                    name="t", partitions=[TxnOffsetCommitRequestPartition(partition_index=each) for each in (0, 3)]
                )
            ]
        ),
    ),
    (
        data.LIST_OFFSETS_ERROR,
        ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=each) for each in (0, 3)])
            ]
        ),
    ),
    (
        data.EPOCH_ERROR,
        OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    topic="t", partitions=[OffsetForLeaderPartition(partition=each) for each in (0, 3)]
                )
            ]
        ),
    ),
]


def first_of(entry: Any, *names: str) -> Any:
    """The first of these fields that the entry has: each API calls them otherwise."""
    return next(getattr(entry, name) for name in names if name in type(entry).FIELDS)


@pytest.mark.parametrize(
    ("make", "request_"), [*BY_TOPIC_ID, *BY_NAME], ids=lambda each: getattr(type(each), "NAME", "error")
)
def test_every_partition_of_a_request_gets_the_error(make: ErrorForEachPartition, request_: Any) -> None:
    response = make(request_, ERROR, 0)
    (topic,) = first_of(response, "topics", "responses")
    assert first_of(topic, "name", "topic") == "t"
    if (make, request_) in BY_TOPIC_ID:
        assert topic.topic_id == ID
    partitions = first_of(topic, "partitions", "partition_responses")
    indexes = [first_of(partition, "partition_index", "index", "partition") for partition in partitions]
    assert (indexes, {partition.error_code for partition in partitions}) == ([0, 3], {ERROR})


def test_a_response_with_an_error_of_its_own_gets_it_too() -> None:
    assert data.FETCH_ERROR(FetchRequest(), ERROR, 16).error_code == ERROR


def test_what_names_nothing_is_answered_with_nothing() -> None:
    assert offset_commit.request_error(OffsetCommitRequest(), ERROR, 0).topics == []


def test_a_rejected_produce_and_fetch_have_no_offsets() -> None:
    (_, produce), (_, fetch) = BY_TOPIC_ID[1:]
    (appended, *_) = data.PRODUCE_ERROR(produce, ERROR, 9).responses[0].partition_responses
    assert (appended.base_offset, appended.error_message) == (-1, None)
    (fetched, *_) = data.FETCH_ERROR(fetch, ERROR, 12).responses[0].partitions
    assert (fetched.high_watermark, fetched.log_start_offset) == (-1, -1)
