"""Reassignments and elections, as a client sees them; what is answered was recorded from Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from _wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from _wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
INVALID = ErrorCode.INVALID_REPLICA_ASSIGNMENT


def no_such_broker(node_id: int) -> str:
    return f"The manual partition assignment includes broker {node_id}, but no such broker is registered."


@pytest.fixture(scope="module")
def client() -> Iterator[ConfigClient]:
    with client_of({"ta": 3, "tb": 1}) as connected:
        yield connected


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("topic", "index", "replicas", "error", "message"),
    [
        ("ta", 0, [1], ErrorCode.NONE, None),
        ("ta", 0, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None),
        ("ta", 0, [], INVALID, "The manual partition assignment includes an empty replica list."),
        ("ta", 0, [2], INVALID, no_such_broker(2)),
        (
            "ta",
            0,
            [1, 2],
            INVALID,
            no_such_broker(2),
        ),
        (
            "ta",
            0,
            [-1],
            INVALID,
            no_such_broker(-1),
        ),
        ("ta", 0, [1, 1], INVALID, "The manual partition assignment includes the broker 1 more than once."),
        ("ta", 9, [1], UNKNOWN, "Unable to find partition ta:9."),
        ("ta", -1, [1], UNKNOWN, "Unable to find partition ta:-1."),
        ("nope", 0, None, UNKNOWN, "Unable to find a topic named nope."),
    ],
)
def test_a_partition_stays_where_it_is(client, version, topic, index, replicas, error, message):
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    topics = [ReassignableTopic(name=topic, partitions=[partition])]
    response = client.request(AlterPartitionReassignmentsRequest(topics=topics), version)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    (result,) = response.responses[0].partitions
    assert (result.partition_index, result.error_code, result.error_message) == (index, error, message)


def test_no_topic_to_move_is_no_error(client):
    response = client.request(AlterPartitionReassignmentsRequest(), 1)
    assert (response.error_code, response.error_message, response.responses) == (ErrorCode.NONE, "", [])


@pytest.mark.parametrize("topics", [None, [], [ListPartitionReassignmentsTopics(name="ta", partition_indexes=[0, 9])]])
def test_no_partition_is_being_moved(client, topics):
    response = client.request(ListPartitionReassignmentsRequest(topics=topics), 0)
    assert (response.error_code, response.error_message, response.topics) == (ErrorCode.NONE, None, [])


def elected(response: Any) -> list[tuple[str, int, int, str]]:
    return [
        (topic.topic, each.partition_id, each.error_code, each.error_message)
        for topic in response.replica_election_results
        for each in topic.partition_result
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("election_type", [0, 1])
def test_each_leader_is_the_right_one_already(client, version, election_type):
    asked = [("ta", [0, 9, 0]), ("nope", [0]), ("tb", [])]
    topics = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in asked]
    response = client.request(ElectLeadersRequest(election_type=election_type, topic_partitions=topics), version)
    not_needed = "Leader election not needed for topic partition."
    assert response.error_code == ErrorCode.NONE
    assert elected(response) == [
        ("ta", 0, ErrorCode.ELECTION_NOT_NEEDED, not_needed),
        ("ta", 9, UNKNOWN, "No such partition as ta-9"),
        ("ta", 0, ErrorCode.ELECTION_NOT_NEEDED, not_needed),
        ("nope", 0, UNKNOWN, "No such topic as nope"),
    ]


def test_an_election_of_all_names_the_topics_and_no_partition(client):
    response = client.request(ElectLeadersRequest(election_type=0, topic_partitions=None), 2)
    assert {replica_election_result.topic for replica_election_result in response.replica_election_results} >= {
        "ta",
        "tb",
    }
    assert elected(response) == []


def test_an_unknown_type_of_election_is_an_error(client):
    topics = [TopicPartitions(topic="ta", partitions=[0])]
    response = client.request(ElectLeadersRequest(election_type=7, topic_partitions=topics), 2)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert [error for _, _, error, _ in elected(response)] == [ErrorCode.INVALID_REQUEST]
