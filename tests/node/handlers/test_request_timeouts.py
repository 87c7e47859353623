"""Requests to the controller whose `timeout_ms` is over when they arrive; the answers are those of Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from _wire.messages.metadata import MetadataRequest
from tests.servers import RunningServer
from tests.wire_client import WireClient

INT32_MIN: Final = -(1 << 31)
TIMED_OUT: Final = (ErrorCode.REQUEST_TIMED_OUT, None)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireClient]:
    with RunningServer(tmp_path_factory.mktemp("timeouts")) as running, WireClient(running.bootstrap) as connected:
        connected.create_topic("orders")
        yield connected


def partition_counts(client: WireClient) -> dict[str, int]:
    topics = client.request(MetadataRequest(topics=None), 12).topics
    return {topic.name: len(topic.partitions) for topic in topics if not topic.is_internal}


def error(result: Any) -> tuple[int, str | None]:
    return result.error_code, result.error_message


@pytest.fixture(autouse=True)
def _nothing_changes(client: WireClient) -> Iterator[None]:
    yield
    counts = partition_counts(client)
    assert counts["orders"] == 1
    assert "new" not in counts


@pytest.mark.parametrize("timeout_ms", [0, -1, INT32_MIN])
def test_create_topics_lists_each_topic_as_often_as_the_request(client, timeout_ms):
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("new", "", "a", "a")]
    results = client.request(CreateTopicsRequest(topics=topics, timeout_ms=timeout_ms), 7).topics
    assert [(result.name, *error(result)) for result in results] == [
        (name, *TIMED_OUT) for name in ("new", "", "a", "a")
    ]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_delete_topics_names_topics_as_the_request_does(client, timeout_ms):
    request = DeleteTopicsRequest(topic_names=["orders", "unknown"], timeout_ms=timeout_ms)
    assert [(response.name, *error(response)) for response in client.request(request, 5).responses] == [
        ("orders", *TIMED_OUT),
        ("unknown", *TIMED_OUT),
    ]
    topic_id = b"an unknown topic"
    states = [DeleteTopicState(name="orders"), DeleteTopicState(name=None, topic_id=topic_id)]
    results = client.request(DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms), 6).responses
    assert [(result.name, result.topic_id, *error(result)) for result in results] == [
        ("orders", bytes(16), *TIMED_OUT),
        (None, topic_id, *TIMED_OUT),
    ]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_create_partitions_adds_none(client, timeout_ms):
    topics = [CreatePartitionsTopic(name=name, count=3) for name in ("orders", "unknown")]
    results = client.request(CreatePartitionsRequest(topics=topics, timeout_ms=timeout_ms), 3).results
    assert [(result.name, *error(result)) for result in results] == [("orders", *TIMED_OUT), ("unknown", *TIMED_OUT)]


@pytest.mark.parametrize("timeout_ms", [0, -1])
@pytest.mark.parametrize("version, top_level", [(0, ErrorCode.NONE), (2, ErrorCode.REQUEST_TIMED_OUT)])
def test_elect_leaders_does_not_look_at_the_partitions(client, version, top_level, timeout_ms):
    wanted = [TopicPartitions(topic="orders", partitions=[0, 9])]
    response = client.request(ElectLeadersRequest(topic_partitions=wanted, timeout_ms=timeout_ms), version)
    assert response.error_code == top_level
    (topic,) = response.replica_election_results
    assert [(each.partition_id, *error(each)) for each in topic.partition_result] == [(0, *TIMED_OUT), (9, *TIMED_OUT)]
    of_all = client.request(ElectLeadersRequest(topic_partitions=None, timeout_ms=timeout_ms), version)
    assert (of_all.error_code, of_all.replica_election_results) == (top_level, [])


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_reassignments_have_the_error_at_both_levels(client, timeout_ms):
    partitions = [ReassignablePartition(partition_index=0, replicas=[0])]
    topics = [ReassignableTopic(name="orders", partitions=partitions)]
    response = client.request(AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=timeout_ms), 1)
    assert error(response) == TIMED_OUT
    assert [error(partition) for partition in response.responses[0].partitions] == [TIMED_OUT]
    nothing = client.request(AlterPartitionReassignmentsRequest(topics=[], timeout_ms=timeout_ms), 1)
    assert error(nothing) == (ErrorCode.NONE, "")
