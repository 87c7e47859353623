"""Limits of what one request, one address or all topics together may have: over real sockets."""

from pathlib import Path

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from _wire.messages.sync_group import SyncGroupRequest
from _wire.records import build_batch
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, join_request

ELEMENTS_MAX = 2_000
SETTINGS = QUICK_GROUPS | {
    "socket.request.max.elements": str(ELEMENTS_MAX),
    "max.broker.partitions": "1000",
    "max.groups.per.ip": "6",
    "max.pending.members.per.ip": "3",
    "max.transactional.ids.per.ip": "2",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.num.partitions": "4",
    "auto.create.topics.enable": "true",
}


@pytest.fixture
def server(tmp_path):
    with RunningServer(tmp_path, SETTINGS) as running:
        yield running


@pytest.fixture
def client(server):
    with WireClient(server.bootstrap) as connected:
        yield connected


def commit_request(group_id, topic="orders"):
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    return OffsetCommitRequest(group_id=group_id, topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)])


# ---- elements of a request


def test_a_request_may_have_so_many_elements(client):
    names = [f"g{number}" for number in range(ELEMENTS_MAX)]
    assert [group.group_id for group in client.request(DescribeGroupsRequest(groups=names), 5).groups] == names


def test_one_element_more_closes_the_connection_with_one_line(server, client):
    client.send(DescribeGroupsRequest(groups=["g"] * (ELEMENTS_MAX + 1)), 5)
    assert client.is_closed_by_peer()
    wait_for(lambda: "more elements in all arrays together than allowed" in server.log.read_text(), 5, "the line")
    with WireClient(server.bootstrap) as another:
        assert another.request(ApiVersionsRequest(), 0).error_code == 0


def test_elements_of_arrays_within_arrays_count_together(client):
    partitions = [OffsetCommitRequestPartition(partition_index=0)] * 2
    topics = [OffsetCommitRequestTopic(name="t", partitions=partitions)] * (ELEMENTS_MAX // 3 + 1)
    client.send(OffsetCommitRequest(group_id="g", topics=topics), 8)
    assert client.is_closed_by_peer()


# ---- requests about many groups


def test_many_groups_are_answered_in_their_order_as_often_as_they_are_named(client):
    client.create_topic("orders")
    assert client.request(commit_request("known"), 8).topics[0].partitions[0].error_code == 0
    names = ["known", *(f"g{number}" for number in range(1_300)), "known", "g7"]
    described = client.request(DescribeGroupsRequest(groups=names), 5).groups
    assert [(group.group_id, group.group_state) for group in described] == [
        (name, "Empty" if name == "known" else "Dead") for name in names
    ]
    asked = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    fetched = client.request(OffsetFetchRequest(groups=asked), 8).groups
    assert [(group.group_id, len(group.topics)) for group in fetched] == [(name, name == "known") for name in names]


# ---- partitions of all topics


def test_topics_may_have_so_many_partitions_together(client):
    room = 1_000 - 2 * 4
    topics = [
        CreatableTopic(name=f"t{count}", num_partitions=count, replication_factor=1) for count in (room - 5, 6, 5)
    ]
    results = client.request(CreateTopicsRequest(topics=topics), 7).topics
    assert [result.error_code for result in results] == [0, ErrorCode.POLICY_VIOLATION, 0]
    assert "max.broker.partitions is 1000" in results[1].error_message
    more = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t5", count=6)], timeout_ms=30_000)
    assert client.request(more, 3).results[0].error_code == ErrorCode.POLICY_VIOLATION
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="automatic")], allow_auto_topic_creation=True)
    for _ in range(2):
        assert client.request(asked, 9).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    client.request(DeleteTopicsRequest(topics=[DeleteTopicState(name="t5")], timeout_ms=30_000), 6)
    client.request(asked, 9)
    assert client.request(asked, 9).topics[0].error_code == 0


def test_topics_that_collide_within_one_request_are_not_both_created(client):
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("a.b", "a_b")]
    results = client.request(CreateTopicsRequest(topics=topics), 7).topics
    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


# ---- groups and pending members of an address


def test_the_clients_of_an_address_may_create_so_many_groups(client):
    client.create_topic("orders")
    for number in range(5):
        assert client.request(commit_request(f"g{number}"), 8).topics[0].partitions[0].error_code == 0
    assert client.request(join_request("joined", instance_id="one"), 5).error_code == 0
    refused = client.request(join_request("too-many", instance_id="one"), 5)
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    answer = client.request(commit_request("too-many"), 8).topics[0].partitions[0]
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert client.request(commit_request("g0"), 8).topics[0].partitions[0].error_code == 0


def test_the_oldest_pending_member_of_an_address_becomes_unknown(client):
    ids = [client.request(join_request(f"g{number}"), 9).member_id for number in range(4)]
    answers = [client.request(join_request("g0", ids[0]), 9), client.request(join_request("g1", ids[1]), 9)]
    assert [answer.error_code for answer in answers] == [ErrorCode.UNKNOWN_MEMBER_ID, 0]


def test_the_clients_of_an_address_may_have_so_many_transactional_ids(client):
    client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["t0"]), 4)

    def initialize(name):
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        return client.request(request, 4).error_code

    wait_for(lambda: initialize("t0") == 0, 10, "the transaction coordinator")
    answers = [initialize(name) for name in ("t1", "t2", "t0")]
    assert answers == [0, ErrorCode.POLICY_VIOLATION, 0]


# ---- topics that are deleted


def test_a_topic_that_is_created_again_while_its_records_are_deleted_is_empty(client):
    batch = build_batch([(None, b"old", [])], timestamp_ms=0)
    client.create_topic("again", 300)
    for partition in range(300):
        client.produce("again", batch, partition=partition)
    client.send(DeleteTopicsRequest(topics=[DeleteTopicState(name="again")], timeout_ms=30_000), 6)
    create = CreateTopicsRequest(topics=[CreatableTopic(name="again", num_partitions=300, replication_factor=1)])
    frame, sent = client.frame(create, 7)
    client.socket.sendall(frame)
    client.read_frame()
    assert client.receive(sent).topics[0].error_code == 0
    for partition in range(300):
        fetched = client.request(fetch_request("again", partition=partition), 11).responses[0].partitions[0]
        assert (fetched.error_code, fetched.high_watermark, fetched.records) == (0, 0, b"")


def test_a_topic_with_the_longest_name_is_deleted(server, client):
    name = "n" * 249
    client.create_topic(name, 2)
    client.produce(name, build_batch([(None, b"x", [])], timestamp_ms=0), partition=1)
    answer = client.request(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=30_000), 6).responses[
        0
    ]
    assert answer.error_code == 0
    wait_for(lambda: not list(server.data.glob("n*")), 5, "the folders to be removed")


def test_the_folder_of_a_partition_that_no_topic_has_is_set_aside(server, client):
    client.create_topic("lost")
    client.produce("lost", build_batch([(None, b"old", [])], timestamp_ms=0))
    server.stop()
    (server.data / "lost-0").rename(server.data / "stray-0")
    server.start()
    assert [path.name[-6:] for path in _folders(server.data, "stray")] == ["-stray"]
    wait_for(lambda: "set aside a partition that no topic has" in server.log.read_text(), 5, "the line")
    with WireClient(server.bootstrap) as again:
        again.create_topic("stray")
        assert again.request(fetch_request("stray"), 11).responses[0].partitions[0].high_watermark == 0


def _folders(data: Path, name: str) -> list[Path]:
    return [path for path in data.iterdir() if path.name.startswith(name)]


def test_a_member_that_has_joined_is_not_given_up(server, client):
    member_id = client.request(join_request("joined"), 9).member_id
    assert client.request(join_request("joined", member_id), 9).error_code == 0
    for _ in range(5):
        assert client.request(join_request("other"), 9).error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert client.heartbeat_error("joined", member_id) in (0, ErrorCode.REBALANCE_IN_PROGRESS)
    assert client.heartbeat_error("joined", "nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    server.stop()
    assert "invariant violated" not in server.log.read_text()


def test_a_response_about_many_groups_is_no_larger_than_a_request_may_be(tmp_path):
    with RunningServer(tmp_path, SETTINGS | {"socket.request.max.bytes": "30000"}) as server:
        with WireClient(server.bootstrap) as client:
            joined = client.request(join_request("fat", instance_id="one", metadata=bytes(1_000)), 5)
            client.request(SyncGroupRequest(group_id="fat", generation_id=1, member_id=joined.member_id), 3)
            described = client.request(DescribeGroupsRequest(groups=["fat"] * 10), 5)
            assert [len(group.members[0].member_metadata) for group in described.groups] == [1_000] * 10
            client.send(DescribeGroupsRequest(groups=["fat"] * 200), 5)
            assert client.is_closed_by_peer()
        line = "the response to DescribeGroups is larger than socket.request.max.bytes"
        wait_for(lambda: line in server.log.read_text(), 5, "the line about it")
