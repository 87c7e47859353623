"""Consumer groups of KIP-848 at nodes in front of a real Kafka."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tests.cluster.consumer_member import ConsumerMember, fetched, settle
from tests.cluster.running import RunningNodes
from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.simulation.consumers import subscription
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

pytestmark = pytest.mark.realtime

TOPIC: Final = "orders"
PARTITIONS: Final = 4
SECONDS: Final = 30
NODES: Final = 2
KAFKA_SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


class Front:
    """Nodes in front of a Kafka that adopt all groups but those that begin with `stays-`."""

    def __init__(self, kafka: RunningKafka, nodes: RunningNodes) -> None:
        self.kafka = kafka
        self.nodes = nodes

    def member(self, group_id: str, *topics: str, pattern: str | None = None) -> ConsumerMember:
        return ConsumerMember(self.nodes.bootstrap, group_id, *topics, pattern=pattern)

    def at_cluster(self, group_id: str, *topics: str) -> ConsumerMember:
        """A member that goes to the brokers directly."""
        return ConsumerMember(self.kafka.bootstrap, group_id, *topics)


class TransactionalProducer:
    """A transaction at the cluster, by way of the nodes, with offsets of a member of a group."""

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._id = transactional_id
        self._client: WireClient | None = None
        self._bootstrap = bootstrap
        wait_for(self._begins, SECONDS, "a producer id", every_ms=100)

    def _begins(self) -> bool:
        with WireClient(self._bootstrap) as client:
            found = client.request(FindCoordinatorRequest(key=self._id, key_type=1), 2)
        if found.error_code:
            return False
        self._client = WireClient(f"{found.host}:{found.port}")
        asked = InitProducerIdRequest(transactional_id=self._id, transaction_timeout_ms=60_000)
        self._producer = self._client.request(asked, 4)
        return not self._producer.error_code

    @property
    def _identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self._id,
            "producer_id": self._producer.producer_id,
            "producer_epoch": self._producer.producer_epoch,
        }

    def commit_offset(self, member: ConsumerMember, topic: str, partition: int, offset: int, epoch: int) -> ErrorCode:
        assert self._client is not None
        added = self._client.request(AddOffsetsToTxnRequest(group_id=member.group_id, **self._identity), 3)
        assert added.error_code == 0
        committed = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            group_id=member.group_id,
            generation_id=epoch,
            member_id=member.member_id,
            topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[committed])],
            **self._identity,
        )
        return ErrorCode(member.ask(request, 3).topics[0].partitions[0].error_code)

    def end(self) -> None:
        assert self._client is not None
        assert self._client.request(EndTxnRequest(committed=True, **self._identity), 3).error_code == 0
        self._client.__exit__()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    folder: Path = tmp_path_factory.mktemp("front")
    try:
        kafka = RunningKafka(folder, KAFKA_SETTINGS, threads={})
    except KafkaMissing as missing:
        pytest.skip(str(missing))
    with kafka, RunningNodes(folder, kafka.bootstrap, NODES, {"cluster.adopt": "owned-*,held-*"}) as nodes:
        with WireClient(kafka.bootstrap) as client:
            client.create_topic(TOPIC, PARTITIONS)
        yield Front(kafka, nodes)


def test_members_share_the_partitions_and_commit_by_their_epoch(front: Front):
    first, second = (front.member("owned-shared", TOPIC) for _ in range(2))
    settle(first)
    assert first.partitions == [0, 1, 2, 3]
    settle(first, second)
    assert sorted(first.partitions + second.partitions) == [0, 1, 2, 3]
    mine = first.partitions[0]
    assert first.commit(TOPIC, mine, 7) is ErrorCode.NONE
    assert first.commit(TOPIC, mine, 9, epoch=first.epoch + 1) is ErrorCode.STALE_MEMBER_EPOCH
    assert first.fetch(TOPIC, mine) == 7
    assert first.fetch(TOPIC, mine, epoch=first.epoch + 1) is ErrorCode.STALE_MEMBER_EPOCH
    with WireClient(front.kafka.bootstrap) as client:
        assert fetched(client, "owned-shared", TOPIC, mine) == 7
    first.leave()
    settle(second)
    assert second.partitions == [0, 1, 2, 3]
    second.leave()


def test_a_member_that_goes_around_the_nodes_is_refused_by_the_sentinel(front: Front):
    """With any group.consumer.migration.policy: docs/decisions/052."""
    inside, outside = front.member("owned-split", TOPIC), front.at_cluster("owned-split", TOPIC)
    settle(inside)
    assert outside.go_on() is ErrorCode.GROUP_ID_NOT_FOUND
    outside.epoch = inside.epoch
    assert outside.commit(TOPIC, 0, 99) is ErrorCode.UNKNOWN_MEMBER_ID
    assert inside.commit(TOPIC, 0, 5) is ErrorCode.NONE
    assert inside.fetch(TOPIC, 0) == 5
    inside.leave()
    outside.close()


def test_a_group_that_is_not_adopted_is_coordinated_by_the_cluster(front: Front):
    inside, outside = front.member("stays-there", TOPIC), front.at_cluster("stays-there", TOPIC)
    settle(inside)
    settle(inside, outside)
    with WireClient(front.nodes.nodes[0].bootstrap) as node:
        inside._connection, broker = node, inside._connection
        assert inside.heartbeat().error_code == ErrorCode.NOT_COORDINATOR
        inside._connection = broker
    inside.leave()
    outside.leave()


def test_a_group_is_taken_in_when_its_members_at_the_cluster_have_left(front: Front):
    """As a KIP-848 group with members takes a sentinel for one that converts it, and fails: UNKNOWN_SERVER_ERROR."""
    outside = front.at_cluster("held-there", TOPIC)
    settle(outside)
    assert outside.commit(TOPIC, 2, 11) is ErrorCode.NONE
    inside = front.member("held-there", TOPIC)
    assert inside.go_on() is ErrorCode.NONE
    assert inside.coordinator not in {node.bootstrap for node in front.nodes.nodes}
    inside.leave()
    outside.leave()
    later = front.member("held-there", TOPIC)
    settle(later)
    assert later.coordinator in {node.bootstrap for node in front.nodes.nodes}
    assert later.fetch(TOPIC, 2) == 11
    later.leave()


def test_a_regular_expression_finds_topics_of_the_cluster(front: Front):
    with WireClient(front.kafka.bootstrap) as client:
        client.create_topic("matched-1", 2)
    member = front.member("owned-pattern", pattern="matched-.*")
    settle(member, partitions=2)
    assert member.partitions == [0, 1]
    with WireClient(front.kafka.bootstrap) as client:
        client.create_topic("matched-2", 3)
    wait_for(lambda: member.go_on() is ErrorCode.NONE and len(member.owned) == 2, 90, "the new topic", every_ms=500)
    assert member.partitions == [0, 0, 1, 1, 2]
    member.leave()


def test_a_transaction_commits_offsets_by_the_epoch_of_a_member(front: Front):
    member = front.member("owned-transaction", TOPIC)
    settle(member)
    producer = TransactionalProducer(front.nodes.bootstrap, "consumer-to-producer")
    refused = producer.commit_offset(member, TOPIC, 1, 5, epoch=member.epoch + 1)
    assert refused is ErrorCode.ILLEGAL_GENERATION
    assert producer.commit_offset(member, TOPIC, 1, 6, epoch=member.epoch) is ErrorCode.NONE
    producer.end()
    wait_for(lambda: member.fetch(TOPIC, 1) == 6, SECONDS, "the commit of the transaction")
    member.leave()


def test_groups_are_listed_and_described_by_their_type(front: Front):
    member = front.member("owned-described", TOPIC)
    settle(member)
    listed = {group.group_id: group for group in member.ask(ListGroupsRequest(types_filter=["Consumer"]), 5).groups}
    assert listed["owned-described"].group_type == "consumer"
    (described,) = member.ask(ConsumerGroupDescribeRequest(group_ids=["owned-described"]), 1).groups
    assert (described.error_code, described.group_state, described.group_epoch) == (0, "Stable", member.epoch)
    (of_member,) = described.members
    (assigned,) = of_member.assignment.topic_partitions
    assert (assigned.topic_name, list(assigned.partitions)) == (TOPIC, [0, 1, 2, 3])
    (unknown,) = member.ask(DescribeGroupsRequest(groups=["owned-described"]), 6).groups
    assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    member.leave()


def test_a_classic_member_joins_a_consumer_group_and_is_left_in_a_classic_one(front: Front):
    member = front.member("owned-migrated", TOPIC)
    settle(member)
    classic = join_request("owned-migrated", metadata=subscription((TOPIC,)))
    joined = member.ask(classic, 4)
    assert joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
    classic.member_id = joined.member_id
    joined = member.ask(classic, 4)
    assert (joined.error_code, joined.protocol_name) == (0, "range")
    (described,) = member.ask(ConsumerGroupDescribeRequest(group_ids=["owned-migrated"]), 1).groups
    assert sorted(each.member_type for each in described.members) == [0, 1]
    member.epoch = -1
    assert member.heartbeat().error_code == ErrorCode.NONE
    (left,) = member.ask(DescribeGroupsRequest(groups=["owned-migrated"]), 6).groups
    assert (left.error_code, [each.member_id for each in left.members]) == (0, [classic.member_id])
    member.close()


def test_a_member_keeps_its_epoch_and_its_partitions_when_another_node_takes_the_group_over(front: Front):
    """The state is in the log at the cluster, and so are the topics that it names: none of them counts as gone."""
    members = [front.member(f"owned-taken-{number}", TOPIC) for number in range(4)]
    for member in members:
        settle(member)
        assert member.commit(TOPIC, 0, 3) is ErrorCode.NONE
    before = [(member.epoch, member.partitions) for member in members]
    (killed,) = (node for node in front.nodes.nodes if node.bootstrap == members[0].coordinator)
    killed.kill()
    try:
        for member in members:
            assert member.go_on() is ErrorCode.NONE
            assert member.coordinator != killed.bootstrap
        for member in members:
            assert member.go_on() is ErrorCode.NONE
            assert member.commit(TOPIC, 1, 4) is ErrorCode.NONE
        assert [(member.epoch, member.partitions) for member in members] == before
    finally:
        killed.start()
        front.nodes.wait_until_served()
    for member in members:
        member.leave()
