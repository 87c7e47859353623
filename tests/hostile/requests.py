"""Attacks with single requests: huge lists, doubles, and work that costs far more than asking for it."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.list_transactions import ListTransactionsRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from _wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from _wire.records import Record, build_batch
from coordinator.client.wire import ClientError
from tests.hostile.attack import Attack
from tests.hostile.target import Target
from tests.waiting import wait_for

NAMES: Final = 200_000
PARTITIONS: Final = 199_000
"""With the one topic that they are of, they are fewer than socket.request.max.elements allows."""
TOPICS: Final = 95_000
"""Likewise of topics with a partition each."""


def _ask(target: Target, request: Any, version: int) -> None:
    """Send one request, and wait until it is answered or the connection is closed."""
    with target.client() as client:
        try:
            client.request(request, version)
        except ClientError:
            return


def _names(scale: float) -> list[str]:
    return [f"n{number}" for number in range(int(NAMES * scale))]


def _describe_groups(target: Target, scale: float) -> Iterator[None]:
    yield
    _ask(target, DescribeGroupsRequest(groups=_names(scale)), 5)


def _describe_one_group_doubled(target: Target, scale: float) -> Iterator[None]:
    members = 50
    clients = [target.client() for _ in range(members)]
    for number, client in enumerate(clients):
        metadata = bytes(10_000)
        protocols = [JoinGroupRequestProtocol(name="range", metadata=metadata)]
        client.send(
            JoinGroupRequest(
                group_id="fat",
                session_timeout_ms=60_000,
                rebalance_timeout_ms=60_000,
                group_instance_id=f"m{number}",
                protocol_type="consumer",
                protocols=protocols,
            ),
            5,
        )
    yield
    _ask(target, DescribeGroupsRequest(groups=["fat"] * int(NAMES * scale)), 5)
    for client in clients:
        client.socket.close()


def _describe_metadata_doubled(target: Target, scale: float) -> Iterator[None]:
    """A request of some bytes asks for a megabyte with each name."""
    with target.client() as client:
        protocols = [JoinGroupRequestProtocol(name="range", metadata=bytes(1_000_000))]
        joined = client.request(
            JoinGroupRequest(
                group_id="heavy",
                session_timeout_ms=60_000,
                rebalance_timeout_ms=60_000,
                group_instance_id="one",
                protocol_type="consumer",
                protocols=protocols,
            ),
            5,
        )
        client.request(SyncGroupRequest(group_id="heavy", generation_id=1, member_id=joined.member_id), 3)
    yield
    _ask(target, DescribeGroupsRequest(groups=["heavy"] * int(10_000 * scale)), 5)


def _delete_groups(target: Target, scale: float) -> Iterator[None]:
    yield
    _ask(target, DeleteGroupsRequest(groups_names=_names(scale)), 2)


def _offset_fetch(target: Target, scale: float) -> Iterator[None]:
    yield
    _ask(target, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name) for name in _names(scale)]), 8)


def _offset_fetch_partitions(target: Target, scale: float) -> Iterator[None]:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=list(range(int(5 * NAMES * scale))))]
    yield
    _ask(target, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)]), 8)


def _offset_commit(target: Target, scale: float) -> Iterator[None]:
    partitions = [OffsetCommitRequestPartition(partition_index=index) for index in range(int(PARTITIONS * scale))]
    request = OffsetCommitRequest(
        group_id="many", topics=[OffsetCommitRequestTopic(name="victim", partitions=partitions)]
    )
    yield
    _ask(target, request, 8)


def _offset_commit_existing(target: Target, scale: float) -> Iterator[None]:
    count = int(10_000 * scale)
    with target.client() as client:
        client.create_topic("wide", count)
    partitions = [OffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in range(count)]
    request = OffsetCommitRequest(
        group_id="many", topics=[OffsetCommitRequestTopic(name="wide", partitions=partitions)]
    )
    yield
    _ask(target, request, 8)


def topic_ids(scale: float) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(1, int(TOPICS * scale) + 1)]


def _offset_commit_by_ids(target: Target, scale: float) -> Iterator[None]:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions) for topic_id in topic_ids(scale)]
    yield
    _ask(target, OffsetCommitRequest(group_id="many", topics=topics), 10)


def _offset_commit_topics(target: Target, scale: float) -> Iterator[None]:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [OffsetCommitRequestTopic(name=f"n{each}", partitions=partitions) for each in range(int(TOPICS * scale))]
    yield
    _ask(target, OffsetCommitRequest(group_id="many", topics=topics), 9)


def _offset_fetch_by_ids(target: Target, scale: float) -> Iterator[None]:
    topics = [OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0]) for topic_id in topic_ids(scale)]
    yield
    _ask(target, OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="victim", topics=topics)]), 10)


def _offset_delete(target: Target, scale: float) -> Iterator[None]:
    partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in range(int(PARTITIONS * scale))]
    yield
    _ask(
        target,
        OffsetDeleteRequest(group_id="victim", topics=[OffsetDeleteRequestTopic(name="t", partitions=partitions)]),
        0,
    )


def _metadata_unknown(target: Target, scale: float) -> Iterator[None]:
    topics = [MetadataRequestTopic(name=f"auto-{number}") for number in range(int(2_000 * scale))]
    yield
    _ask(target, MetadataRequest(topics=topics, allow_auto_topic_creation=True), 12)


def _metadata_missing(target: Target, scale: float) -> Iterator[None]:
    topics = [MetadataRequestTopic(name=name) for name in _names(scale)]
    yield
    _ask(target, MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)


def _metadata_doubled(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        client.create_topic("broad", int(10_000 * scale))
    yield
    _ask(target, MetadataRequest(topics=[MetadataRequestTopic(name="broad")] * 50), 12)


def _find_coordinator(target: Target, scale: float) -> Iterator[None]:
    yield
    _ask(target, FindCoordinatorRequest(key_type=0, coordinator_keys=_names(scale)), 4)


def _join_protocols(target: Target, scale: float) -> Iterator[None]:
    protocols = [JoinGroupRequestProtocol(name=f"p{number}") for number in range(int(300_000 * scale))]
    request = JoinGroupRequest(
        group_id="static",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        group_instance_id="one",
        protocol_type="consumer",
        protocols=protocols,
    )
    yield
    _ask(target, request, 5)
    _ask(target, request, 5)


def _sync_assignments(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        member_id = client.join_alone("synced")
    assignments = [SyncGroupRequestAssignment(member_id=name, assignment=b"") for name in _names(scale)]
    yield
    _ask(target, SyncGroupRequest(group_id="synced", generation_id=1, member_id=member_id, assignments=assignments), 3)


def _leave_members(target: Target, scale: float) -> Iterator[None]:
    with target.client() as client:
        client.join_alone("left")
    members = [MemberIdentity(member_id=name) for name in _names(scale)]
    yield
    _ask(target, LeaveGroupRequest(group_id="left", members=members), 5)


def _list_groups(target: Target, scale: float) -> Iterator[None]:
    """Groups with committed offsets, made one by one."""
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [OffsetCommitRequestTopic(name="victim", partitions=partitions)]
    with target.client() as client:
        for start in range(0, int(50_000 * scale), 500):
            sent = [
                client.send(OffsetCommitRequest(group_id=f"listed-{start + number}", topics=topics), 8)
                for number in range(500)
            ]
            for each in sent:
                client.receive(each)
    yield
    _ask(target, ListGroupsRequest(), 4)


def _list_offsets_by_time(target: Target, scale: float) -> Iterator[None]:
    """Each lookup has to go through a batch of records that compress to nearly nothing."""
    count = int(1_300_000 * scale)
    records = [Record(offset=number, timestamp_ms=1_000) for number in range(count)]
    records.append(Record(offset=count, timestamp_ms=1_001))
    batch = build_batch(records, compression="zstd")
    with target.client() as client:
        client.create_topic("dense", 20)
        for index in range(20):
            assert client.produce("dense", batch, partition=index).error_code == 0
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=1_001) for index in range(20)]
    at_end = [ListOffsetsPartition(partition_index=index, timestamp=-3) for index in range(20)]
    yield
    _ask(target, ListOffsetsRequest(topics=[ListOffsetsTopic(name="dense", partitions=wanted)]), 7)
    _ask(target, ListOffsetsRequest(topics=[ListOffsetsTopic(name="dense", partitions=at_end)]), 7)


STARTING: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


def _list_transactions(target: Target, scale: float) -> Iterator[None]:
    """A pattern that takes as long as RE2 can take, for transactional ids of 30,000 characters, if they are allowed."""
    _ask(target, FindCoordinatorRequest(key_type=1, coordinator_keys=["any"]), 4)
    with target.client() as client:

        def is_known(name: str) -> bool:
            request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1_000)
            return client.request(request, 4).error_code not in STARTING

        for number in range(8):
            for length in (int(30_000 * scale), 400):
                name = f"{number}-{length}-".ljust(length, "a")
                wait_for(partial(is_known, name), 30, "the coordinator")
    yield
    for pattern in ("(.*a.{20}){8}c", "[ab]*[ab]*a.{200}", "(.{0,99}){9}c", "(a+)+b"):
        _ask(target, ListTransactionsRequest(transactional_id_pattern=pattern), 2)


def _list_offsets_doubled(target: Target, scale: float) -> Iterator[None]:
    wanted = [ListOffsetsPartition(partition_index=0, timestamp=-1) for _ in range(int(PARTITIONS * scale))]
    yield
    _ask(target, ListOffsetsRequest(topics=[ListOffsetsTopic(name="victim", partitions=wanted)]), 7)


def _list_offsets_missing(target: Target, scale: float) -> Iterator[None]:
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(int(PARTITIONS * scale))]
    yield
    _ask(target, ListOffsetsRequest(topics=[ListOffsetsTopic(name="victim", partitions=wanted)]), 7)


def _leader_epochs(target: Target, scale: float) -> Iterator[None]:
    wanted = [OffsetForLeaderPartition(partition=index) for index in range(int(PARTITIONS * scale))]
    yield
    _ask(target, OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="victim", partitions=wanted)]), 4)


def _fetch_missing(target: Target, scale: float) -> Iterator[None]:
    wanted = [FetchPartition(partition=index, partition_max_bytes=1) for index in range(int(PARTITIONS * scale))]
    yield
    _ask(target, FetchRequest(topics=[FetchTopic(topic="victim", partitions=wanted)], max_bytes=1 << 20), 12)


def _produce_empty(target: Target, scale: float) -> Iterator[None]:
    data = [PartitionProduceData(index=index, records=b"") for index in range(int(PARTITIONS * scale))]
    yield
    _ask(target, ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="victim", partition_data=data)]), 9)


def _produce_bomb(target: Target, scale: float) -> Iterator[None]:
    """A batch of less than message.max.bytes that is 256 MiB when decompressed."""
    batch = build_batch([(None, bytes(int((256 << 20) * scale)), [])], timestamp_ms=1, compression="zstd")
    yield
    with target.client() as client:
        client.produce("victim", batch)


def _create_topics(target: Target, scale: float) -> Iterator[None]:
    topics = [
        CreatableTopic(name=f"made-{number}", num_partitions=1, replication_factor=1)
        for number in range(int(2_000 * scale))
    ]
    yield
    _ask(target, CreateTopicsRequest(topics=topics, timeout_ms=5_000), 7)


def _create_partitions_without_end(target: Target, scale: float) -> Iterator[None]:
    topics = [
        CreatableTopic(name=f"huge-{number}", num_partitions=10_000, replication_factor=1)
        for number in range(int(100 * scale))
    ]
    yield
    _ask(target, CreateTopicsRequest(topics=topics, timeout_ms=5_000), 7)
    _ask(target, MetadataRequest(topics=None), 12)


def _delete_topic(target: Target, scale: float) -> Iterator[None]:
    count = int(10_000 * scale)
    batch = build_batch([(None, b"x", [])], timestamp_ms=1)
    with target.client() as client:
        client.create_topic("wide-and-used", count)
        for index in range(count):
            client.produce("wide-and-used", batch, partition=index)
    yield
    _ask(target, DeleteTopicsRequest(topics=[DeleteTopicState(name="wide-and-used")], timeout_ms=5_000), 6)


def _delete_missing(target: Target, scale: float) -> Iterator[None]:
    yield
    _ask(target, DeleteTopicsRequest(topic_names=_names(scale), timeout_ms=5_000), 5)


ATTACKS: Final = (
    Attack("DescribeGroups of 200,000 names", _describe_groups),
    Attack("DescribeGroups of one large group 200,000 times", _describe_one_group_doubled),
    Attack("DescribeGroups of a megabyte of metadata 10,000 times", _describe_metadata_doubled),
    Attack("DeleteGroups of 200,000 names", _delete_groups),
    Attack("ListGroups with 50,000 groups", _list_groups),
    Attack("OffsetFetch of 200,000 groups", _offset_fetch),
    Attack("OffsetFetch of 1,000,000 partitions", _offset_fetch_partitions),
    Attack("OffsetCommit of 199,000 partitions that do not exist", _offset_commit),
    Attack("OffsetCommit of 10,000 partitions", _offset_commit_existing),
    Attack("OffsetCommit by 95,000 unknown topic ids", _offset_commit_by_ids),
    Attack("OffsetCommit of 95,000 topics that do not exist", _offset_commit_topics),
    Attack("OffsetFetch by 95,000 unknown topic ids", _offset_fetch_by_ids),
    Attack("OffsetDelete of 199,000 partitions", _offset_delete),
    Attack("FindCoordinator of 200,000 keys", _find_coordinator),
    Attack("JoinGroup of a static member with 300,000 protocols, twice", _join_protocols),
    Attack("SyncGroup with 200,000 assignments", _sync_assignments),
    Attack("LeaveGroup of 200,000 members", _leave_members),
    Attack("Metadata of 2,000 unknown topics, created automatically", _metadata_unknown),
    Attack("Metadata of 200,000 topics that do not exist", _metadata_missing),
    Attack("Metadata of one topic of 10,000 partitions, 50 times", _metadata_doubled),
    Attack("ListOffsets by time in 20 batches of 1,300,000 records", _list_offsets_by_time),
    Attack("ListTransactions with hostile patterns, ids of 30,000 characters", _list_transactions),
    Attack("ListOffsets of one partition 199,000 times", _list_offsets_doubled),
    Attack("ListOffsets of 199,000 partitions", _list_offsets_missing),
    Attack("OffsetForLeaderEpoch of 199,000 partitions", _leader_epochs),
    Attack("Fetch of 199,000 partitions", _fetch_missing),
    Attack("Produce to 199,000 partitions without records", _produce_empty),
    Attack("Produce of a batch that decompresses to 256 MiB", _produce_bomb),
    Attack("CreateTopics of 2,000 topics", _create_topics),
    Attack("CreateTopics of 1,000,000 partitions, Metadata of all", _create_partitions_without_end),
    Attack("DeleteTopics of 10,000 partitions with records", _delete_topic),
    Attack("DeleteTopics of 200,000 names", _delete_missing),
)
