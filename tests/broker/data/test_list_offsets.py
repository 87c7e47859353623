"""ListOffsets and OffsetForLeaderEpoch: where a log begins, ends, or passes a point in time."""

from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from _wire.records import Record, build_batch
from tests.wire_client import WireClient

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
NOTHING: Final = (ErrorCode.NONE, -1, -1)


def ask(client: WireClient, topic: str, timestamp: int, version: int = 11, partition: int = 0) -> Any:
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
    return client.request(request, version).topics[0].partitions[0]


def found(client: WireClient, topic: str, timestamp: int, version: int = 11) -> tuple[ErrorCode, int, int]:
    answer = ask(client, topic, timestamp, version)
    return ErrorCode(answer.error_code), answer.offset, answer.timestamp


@pytest.fixture
def timed(client: WireClient, topic: str) -> str:
    """A topic whose records have the times 1000, 3000, 2000 | 4000."""
    client.create_topic(topic)
    for times in ((1000, 3000, 2000), (4000,)):
        records = [
            Record(offset=index, timestamp_ms=time, key=None, value=b"v", headers=[])
            for index, time in enumerate(times)
        ]
        assert client.produce(topic, build_batch(records)).error_code == 0
    return topic


@pytest.mark.parametrize(
    ("timestamp", "offset", "time"),
    [
        (LATEST, 4, -1),
        (EARLIEST, 0, -1),
        (EARLIEST_LOCAL, 0, -1),
        (MAX_TIMESTAMP, 3, 4000),
        (0, 0, 1000),
        (1000, 0, 1000),
        (1001, 1, 3000),
        (3000, 1, 3000),
        (3001, 3, 4000),
        (4001, -1, -1),
    ],
)
def test_offsets_by_time(client, timed, timestamp, offset, time):
    assert found(client, timed, timestamp) == (ErrorCode.NONE, offset, time)


@pytest.mark.parametrize(
    ("timestamp", "first_version"),
    [(LATEST, 1), (EARLIEST, 1), (MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (-5, 9), (-6, 11)],
)
def test_timestamps_of_later_versions_are_rejected(client, timed, timestamp, first_version):
    for version in range(1, 12):
        known = ErrorCode.NONE if version >= first_version else ErrorCode.UNSUPPORTED_VERSION
        assert found(client, timed, timestamp, version)[0] == known
    assert found(client, timed, -7) == (ErrorCode.UNSUPPORTED_VERSION, -1, -1)


@pytest.mark.parametrize("version", range(1, 12))
def test_every_version_returns_offset_and_time(client, timed, version):
    assert found(client, timed, 1001, version) == (ErrorCode.NONE, 1, 3000)


def test_the_leader_epoch_comes_with_an_offset(client, timed):
    assert ask(client, timed, LATEST).leader_epoch == 0
    assert ask(client, timed, 5000).leader_epoch == -1


def test_version_0_has_a_list_of_offsets(client, timed):
    assert ask(client, timed, LATEST, 0).old_style_offsets == [4]
    assert ask(client, timed, EARLIEST, 0).old_style_offsets == [0]
    assert ask(client, timed, 5000, 0).old_style_offsets == []


def test_an_empty_log_begins_and_ends_at_zero(client, topic):
    client.create_topic(topic)
    assert found(client, topic, EARLIEST) == found(client, topic, LATEST) == (ErrorCode.NONE, 0, -1)
    assert found(client, topic, MAX_TIMESTAMP) == found(client, topic, 0) == NOTHING


@pytest.mark.parametrize("partition", [-1, 1])
def test_an_unknown_partition_is_reported(client, timed, partition):
    for topic in (timed, "no-such-topic"):
        answer = ask(client, topic, LATEST, partition=partition)
        assert (answer.error_code, answer.offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


@pytest.mark.parametrize(
    ("epoch", "answer"), [(0, (ErrorCode.NONE, 0, 4)), (1, (ErrorCode.NONE, -1, -1)), (-1, (ErrorCode.NONE, -1, -1))]
)
def test_the_only_epoch_ends_at_the_log_end_offset(client, timed, epoch, answer):
    wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=timed, partitions=[wanted])])
    result = client.request(request, 4).topics[0].partitions[0]
    assert (result.error_code, result.leader_epoch, result.end_offset) == answer


def test_the_epoch_of_an_unknown_partition(client):
    wanted = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="no-such-topic", partitions=[wanted])])
    (result,) = client.request(request, 4).topics[0].partitions
    assert (result.error_code, result.end_offset) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
