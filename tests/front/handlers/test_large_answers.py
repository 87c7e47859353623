"""Large answers about groups, which are built in turns, are those that would be built at once."""

from collections.abc import Iterator
from typing import Any

import pytest

from _wire.headers import encode_request
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from _wire.messages.sync_group import SyncGroupRequest
from coordinator.front.handlers import groups, large_answers
from coordinator.front.handlers.large_answers import LargeAnswers
from tests.hostile.in_process import InProcessServer, Peer
from tests.wire_client import join_request

SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}
GROUPS = 30


@pytest.fixture
def server() -> Iterator[InProcessServer]:
    with InProcessServer(SETTINGS) as running:
        yield running


@pytest.fixture
def client(server: InProcessServer) -> Peer:
    """One in front of which there are a topic, groups with an offset, a classic group and a consumer group."""
    made = Peer(server)
    topic = CreatableTopic(name="t", num_partitions=2, replication_factor=1)
    made.request(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7)
    partitions = [OffsetCommitRequestPartition(partition_index=1, committed_offset=7, committed_metadata="text")]
    topics = [OffsetCommitRequestTopic(name="t", partitions=partitions)]
    for number in range(GROUPS):
        made.request(OffsetCommitRequest(group_id=f"g{number}", topics=topics), 8)
    become_stable(made, "classic", b"metadata")
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id="consumer",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    assert made.request(heartbeat, 1).error_code == 0
    return made


def become_stable(client: Peer, group_id: str, metadata: bytes) -> None:
    joined = client.request(join_request(group_id, instance_id="one", metadata=metadata), 5)
    request = SyncGroupRequest(group_id=group_id, generation_id=joined.generation_id, member_id=joined.member_id)
    assert client.request(request, 3).error_code == 0


NAMES = [*(f"g{number}" for number in range(GROUPS)), "classic", "consumer", "unknown", "g1", ""]
REQUESTS: dict[str, tuple[Any, int]] = {
    "DescribeGroups": (lambda: DescribeGroupsRequest(groups=NAMES, include_authorized_operations=True), 6),
    "DescribeGroups of one": (lambda: DescribeGroupsRequest(groups=["classic"]), 5),
    "ConsumerGroupDescribe": (lambda: ConsumerGroupDescribeRequest(group_ids=NAMES), 1),
    "ConsumerGroupDescribe of one": (lambda: ConsumerGroupDescribeRequest(group_ids=["consumer"]), 1),
    "ListGroups": (ListGroupsRequest, 5),
    "ListGroups with a filter": (lambda: ListGroupsRequest(types_filter=["consumer"]), 5),
    "OffsetFetch": (
        lambda: OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None) for name in NAMES]),
        8,
    ),
    "OffsetFetch of one": (lambda: OffsetFetchRequest(group_id="g1", topics=None), 7),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_they_are_those_that_are_built_at_once(client: Peer, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    make, version = REQUESTS[name]
    at_once = client.request(make(), version)
    monkeypatch.setattr(groups, "MUCH_BYTES", 0)
    monkeypatch.setattr(groups, "GROUPS_LISTED_AT_ONCE", 0)
    monkeypatch.setattr(large_answers, "PORTION_BYTES", 1_500)
    assert client.request(make(), version) == at_once


def test_offsets_of_very_many_topic_ids_are_answered(client: Peer) -> None:
    ids = [number.to_bytes(16, "big") for number in range(1, 5_000)]
    topics = [OffsetFetchRequestTopics(topic_id=id_, partition_indexes=[0]) for id_ in ids]
    groups = [OffsetFetchRequestGroup(group_id="g1", topics=topics)]
    answered = client.request(OffsetFetchRequest(groups=groups), 10)
    assert [topic.topic_id for topic in answered.groups[0].topics] == ids


def test_an_answer_about_many_groups_that_is_too_large_closes_its_connection(
    server: InProcessServer, client: Peer
) -> None:
    become_stable(client, "heavy", bytes(900_000))
    assert client.request(DescribeGroupsRequest(groups=["heavy"] * 15), 5) is not None
    assert client.request(DescribeGroupsRequest(groups=["heavy"] * 150), 5) is None
    assert any("DescribeGroups is larger than socket.request.max.bytes" in str(line) for line in server.log.lines)


def test_an_answer_that_would_be_much_larger_while_it_is_built_is_not_begun(
    server: InProcessServer, client: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(LargeAnswers, "_enqueue", lambda *arguments: asked.append(arguments))
    become_stable(client, "heavy", bytes(900_000))
    assert client.request(DescribeGroupsRequest(groups=["heavy"] * 400), 5) is None
    assert not asked
    assert any("would take more memory than 3 times" in str(line) for line in server.log.lines)


def test_answers_are_not_built_while_others_are(
    server: InProcessServer, client: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten clients ask for 18 MB each: when the first is answered, not much of the last ones has been built."""
    become_stable(client, "heavy", bytes(900_000))
    asked: list[str] = []
    enqueue = LargeAnswers._enqueue

    def counted(self: LargeAnswers, many: Any, one: tuple[str, Any], context: Any) -> None:
        asked.append(one[0])
        enqueue(self, many, one, context)

    monkeypatch.setattr(LargeAnswers, "_enqueue", counted)
    clients = [Peer(server) for _ in range(10)]
    for each in clients:
        each.send(encode_request(7, "client", DescribeGroupsRequest(groups=["heavy"] * 20), 5))
    server.turn_until(lambda: any(each.is_answered for each in clients))
    assert len(asked) <= 5 * 20
    server.turn_until(lambda: all(each.is_answered for each in clients))
    assert len(asked) == 10 * 20


def test_clients_that_go_away_meanwhile_leave_nothing(server: InProcessServer, client: Peer) -> None:
    become_stable(client, "heavy", bytes(900_000))
    others = [Peer(server, reads=False) for _ in range(5)]
    for other in others:
        other.send(encode_request(7, "client", DescribeGroupsRequest(groups=["heavy"] * 50), 5))
    server.turn()
    for other in others:
        other.leave()
    answered = client.request(DescribeGroupsRequest(groups=["heavy"] * 50), 5)
    assert len(answered.groups) == 50
