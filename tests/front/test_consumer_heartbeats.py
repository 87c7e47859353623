"""Heartbeats of consumers over the wire: those that sessions answer, and what a change of the topics does to them."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from _wire.errors import NONE
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

_NAMES = (f"consumer-heartbeats-{number}" for number in count(1))
SECONDS = 20


@pytest.fixture
def name(server: RunningServer) -> str:
    """The name of a group, and of a topic with two partitions."""
    name = next(_NAMES)
    with WireClient(server.bootstrap) as client:
        client.create_topic(name, 2)
    return name


@pytest.fixture
def client(server: RunningServer) -> Iterator[WireClient]:
    with WireClient(server.bootstrap, "consumer") as client:
        yield client


def heartbeat(client: WireClient, group_id: str, epoch: int, **said: Any) -> Any:
    answer = client.request(
        ConsumerGroupHeartbeatRequest(group_id=group_id, member_id="m" * 22, member_epoch=epoch, **said), 1
    )
    assert answer.error_code == NONE
    return answer


def join(client: WireClient, name: str) -> int:
    joined = heartbeat(client, name, 0, subscribed_topic_names=[name], rebalance_timeout_ms=30_000, topic_partitions=[])
    epoch: int = joined.member_epoch
    return epoch


def test_each_steady_heartbeat_is_answered_the_same_and_once(client: WireClient, name: str):
    epoch = join(client, name)
    answers = [heartbeat(client, name, epoch) for _ in range(50)]
    assert {(answer.member_id, answer.member_epoch, answer.heartbeat_interval_ms) for answer in answers} == {
        ("m" * 22, epoch, 5_000)
    }
    assert all(answer.assignment is None and answer.error_message is None for answer in answers)


def test_a_member_hears_of_a_topic_that_has_grown(client: WireClient, name: str):
    epoch = join(client, name)
    for _ in range(5):
        heartbeat(client, name, epoch)
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=3, assignments=None)], timeout_ms=10_000
    )
    assert [result.error_code for result in client.request(grown, 3).results] == [NONE]

    def assigned() -> list[int] | None:
        answer = heartbeat(client, name, epoch)
        return None if answer.assignment is None else list(answer.assignment.topic_partitions[0].partitions)

    assert wait_for(assigned, SECONDS, "the new assignment") == [0, 1, 2]


def test_a_member_gets_the_topics_that_match_its_regular_expression(client: WireClient, name: str):
    said = {
        "subscribed_topic_regex": f"{name[:-1]}[{name[-1]}]",
        "rebalance_timeout_ms": 30_000,
        "topic_partitions": [],
    }
    epoch = heartbeat(client, f"matching-{name}", 0, **said).member_epoch

    def assigned() -> list[int] | None:
        answer = heartbeat(client, f"matching-{name}", epoch)
        return None if answer.assignment is None else list(answer.assignment.topic_partitions[0].partitions)

    assert wait_for(assigned, SECONDS, "the topics that match") == [0, 1]
