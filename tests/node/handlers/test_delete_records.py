"""DeleteRecords, as a client sees it; what it answers was recorded from Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.records import build_batch, parse_records
from coordinator.log.data_dirs.checkpoints import CheckpointWriter
from coordinator.testing import Coordinator
from tests.node.handlers.test_configs import ConfigClient
from tests.servers import RunningServer

EARLIEST, MAX_TIMESTAMP = -2, -3


class DeletingClient(ConfigClient):
    def delete_records(self, topic: str, *wanted: tuple[int, int], version: int = 2) -> Any:
        partitions = [DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in wanted]
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=partitions)], timeout_ms=5000)
        return [
            (partition.partition_index, partition.low_watermark, partition.error_code)
            for result in self.request(request, version).topics
            for partition in result.partitions
        ]

    def fetch_from(self, topic: str, offset: int) -> Any:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[FetchTopic(topic=topic, partitions=[partition])],
        )
        return self.request(request, 11).responses[0].partitions[0]

    def offset(self, topic: str, timestamp: int) -> int:
        partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=-1)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
        (result,) = self.request(request, 7).topics[0].partitions
        assert result.error_code == 0
        return int(result.offset)

    def fill(self, topic: str) -> None:
        """Ten records with the timestamps 1000 to 1009, one batch each."""
        for number in range(10):
            records = build_batch([(b"k", str(number).encode(), ())], timestamp_ms=1000 + number)
            assert self.produce(topic, records).error_code == 0


@pytest.fixture
def client() -> Iterator[DeletingClient]:
    with Coordinator() as server, DeletingClient(server.bootstrap) as connected:
        connected.create_topic("t", 2)
        connected.fill("t")
        yield connected


@pytest.mark.parametrize("version", range(3))
def test_records_before_an_offset_are_deleted(client, version):
    assert client.delete_records("t", (0, 3), version=version) == [(0, 3, ErrorCode.NONE)]
    assert client.offset("t", EARLIEST) == 3


@pytest.mark.parametrize(
    ("wanted", "low_watermark", "error"),
    [
        ((0, 3), 3, ErrorCode.NONE),
        ((0, 1), 3, ErrorCode.NONE),
        ((0, 10), 10, ErrorCode.NONE),
        ((0, -1), 10, ErrorCode.NONE),
        ((0, 11), -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        ((0, -2), -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        ((1, 0), 0, ErrorCode.NONE),
        ((1, -1), 0, ErrorCode.NONE),
        ((9, 1), -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_each_offset_has_its_answer(client, wanted, low_watermark, error):
    client.delete_records("t", (0, 3))
    assert client.delete_records("t", wanted) == [(wanted[0], low_watermark, error)]


def test_of_a_partition_that_is_listed_twice_the_last_entry_counts(client):
    assert client.delete_records("t", (0, 9), (0, 5)) == [(0, 5, ErrorCode.NONE)]
    assert client.delete_records("t") == []


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("compacted", ErrorCode.POLICY_VIOLATION),
        ("__consumer_offsets", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("__group_audit", ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_of_some_topics_nothing_can_be_deleted(client, topic, error):
    client.create("compacted", cleanup_policy="compact")
    assert client.delete_records(topic, (0, 0)) == [(0, -1, error)]


@pytest.mark.parametrize("policy", ["compact,delete", ""])
def test_other_policies_allow_it(client, policy):
    client.create("other", cleanup_policy=policy)
    client.fill("other")
    assert client.delete_records("other", (0, 5)) == [(0, 5, ErrorCode.NONE)]


def test_a_fetch_below_the_start_is_out_of_range(client):
    client.delete_records("t", (0, 3))
    below = client.fetch_from("t", 2)
    assert below.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    fetched = client.fetch_from("t", 3)
    assert (fetched.error_code, fetched.log_start_offset, fetched.high_watermark) == (ErrorCode.NONE, 3, 10)
    assert next(iter(parse_records(fetched.records))).value == b"3"


def test_timestamps_of_deleted_records_are_not_found(client):
    client.delete_records("t", (0, 3))
    assert client.offset("t", 1000) == 3
    assert client.offset("t", MAX_TIMESTAMP) == 9
    client.delete_records("t", (0, -1))
    assert client.offset("t", 1000) == -1
    assert client.offset("t", MAX_TIMESTAMP) == -1


def test_what_cannot_be_stored_is_answered_with_an_error(client, monkeypatch):
    def fail(*arguments: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(CheckpointWriter, "_write", fail)
    assert client.delete_records("t", (0, 3), (1, 0)) == [
        (0, -1, ErrorCode.KAFKA_STORAGE_ERROR),
        (1, 0, ErrorCode.NONE),
    ]
    monkeypatch.undo()


@pytest.mark.parametrize("clean", [False, True])
def test_deleted_records_stay_deleted_after_a_restart(tmp_path, clean):
    with RunningServer(tmp_path) as server:
        with DeletingClient(server.bootstrap) as client:
            client.create_topic("t", 2)
            client.fill("t")
            assert client.delete_records("t", (0, 3)) == [(0, 3, ErrorCode.NONE)]
        if clean:
            server.stop()
        else:
            server.kill()
        server.start()
        with DeletingClient(server.bootstrap) as client:
            assert client.offset("t", EARLIEST) == 3
            assert client.fetch_from("t", 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert client.delete_records("t", (0, -1)) == [(0, 10, ErrorCode.NONE)]
