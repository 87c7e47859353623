"""Requests with values that no client should send; `python -m tests.differential.requests` found what Kafka answers."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from _wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from _wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from coordinator.broker.data.fetch import READ_FIRST_BYTES_MAX
from tests.broker.virtual_broker import batch
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient
from tests.wire_client import fetch_request

TOPIC: Final = "orders"
INT8_MIN, INT8_MAX, INT32_MIN, INT32_MAX = -(1 << 7), (1 << 7) - 1, -(1 << 31), (1 << 31) - 1
UNKNOWN_ISOLATION_LEVELS: Final = [-1, 2, INT8_MIN, INT8_MAX]


@pytest.fixture(scope="module")
def client() -> Iterator[ConfigClient]:
    with client_of({TOPIC: 1}) as connected:
        assert connected.produce(TOPIC, batch(b"a")).error_code == ErrorCode.NONE
        yield connected


def fetched(client: ConfigClient, version: int, request: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(request.topics[0].partitions[0], name, value)
    return client.request(request, version)


@pytest.mark.parametrize("isolation_level", UNKNOWN_ISOLATION_LEVELS)
def test_fetch_with_an_unknown_isolation_level_reads_nothing(client, isolation_level):
    request = fetch_request(TOPIC, max_wait_ms=1000)
    request.isolation_level = isolation_level
    (partition,) = fetched(client, 6, request).responses[0].partitions
    assert (partition.error_code, partition.records or b"") == (ErrorCode.UNKNOWN_SERVER_ERROR, b"")
    by_id = fetched(client, 16, request)
    assert (by_id.error_code, by_id.responses) == (ErrorCode.UNKNOWN_SERVER_ERROR, [])


@pytest.mark.parametrize("isolation_level", UNKNOWN_ISOLATION_LEVELS)
def test_list_offsets_with_an_unknown_isolation_level_finds_nothing(client, isolation_level):
    wanted = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    response = client.request(ListOffsetsRequest(isolation_level=isolation_level, topics=[wanted]), 5)
    (partition,) = response.topics[0].partitions
    assert (partition.error_code, partition.offset) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1)


@pytest.mark.parametrize("min_bytes", [1, READ_FIRST_BYTES_MAX + 1])
@pytest.mark.parametrize("max_bytes, of_partition", [(-1, 1000), (INT32_MIN, 1000), (1000, -1), (1000, INT32_MIN)])
def test_fetch_with_a_negative_limit_fails_at_once(client, max_bytes, of_partition, min_bytes):
    request = fetch_request(TOPIC, max_bytes=max_bytes, min_bytes=min_bytes, max_wait_ms=INT32_MAX)
    (partition,) = fetched(client, 11, request, partition_max_bytes=of_partition).responses[0].partitions
    assert (partition.error_code, partition.high_watermark) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1)
    assert partition.aborted_transactions is None


@pytest.mark.parametrize(
    "epoch, error",
    [(-1, ErrorCode.NONE), (0, ErrorCode.NONE), (1, ErrorCode.OFFSET_OUT_OF_RANGE), (INT32_MAX, 1)],
)
def test_fetch_after_a_record_of_an_epoch_that_does_not_exist_is_out_of_range(client, epoch, error):
    (partition,) = fetched(client, 12, fetch_request(TOPIC), last_fetched_epoch=epoch).responses[0].partitions
    assert partition.error_code == error


def test_a_topic_that_is_named_twice_is_in_a_log_directory_once(client):
    asked = [DescribableLogDirTopic(topic=TOPIC, partitions=[0])] * 2
    (directory,) = client.request(DescribeLogDirsRequest(topics=asked), 4).results
    assert [(topic.name, len(topic.partitions)) for topic in directory.topics] == [(TOPIC, 1)]


@pytest.mark.parametrize(
    "name, error",
    [
        *(("", ErrorCode.INVALID_TOPIC_EXCEPTION), ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION)),
        *(("x" * 300, ErrorCode.INVALID_TOPIC_EXCEPTION), ("unknown", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)),
    ],
)
def test_producers_of_a_topic_that_cannot_exist(client, name, error):
    request = DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=[0])])
    assert client.request(request, 0).topics[0].partitions[0].error_code == error


@pytest.mark.parametrize("election_type", [-1, 2, INT8_MIN, INT8_MAX])
def test_an_unknown_election_type_is_refused_with_a_message(client, election_type):
    wanted = [TopicPartitions(topic=TOPIC, partitions=[0])]
    response = client.request(ElectLeadersRequest(election_type=election_type, topic_partitions=wanted), 2)
    (partition,) = response.replica_election_results[0].partition_result
    assert response.error_code == partition.error_code == ErrorCode.INVALID_REQUEST
    assert str(election_type) in partition.error_message
