"""The requests and responses that are measured, as bodies that every codec can read."""

from collections.abc import Sequence
from dataclasses import dataclass

from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from _wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from _wire.structs import Message

MEMBERS = 100
TOPICS = 10
PARTITIONS = 10
GROUP = "payments-consumers"
METADATA = bytes(range(64))
ASSIGNMENT = bytes(range(48))


@dataclass(frozen=True, slots=True)
class Pair:
    """What a server does for one request: decode the one, encode the other."""

    name: str
    version: int
    request: Message
    response: Message


def member_id(number: int) -> str:
    return f"consumer-{number:03d}-0f0e0d0c-0b0a-4908-8706-{number:012d}"


def pairs() -> Sequence[Pair]:
    """The pairs, in the order they are reported."""
    return (
        Pair("Heartbeat v4", 4, _heartbeat(), HeartbeatResponse()),
        Pair("JoinGroup v7, leader of 100", 7, _join(), _joined(leads=True)),
        Pair("JoinGroup v7, follower", 7, _join(), _joined(leads=False)),
        Pair("SyncGroup v5, leader of 100", 5, _sync(), _synced()),
        Pair("OffsetCommit v8, 10x10", 8, _commit(), _committed()),
        Pair("OffsetFetch v8, 10x10", 8, _fetch(), _fetched()),
        Pair("Metadata v12, 50x10", 12, _metadata(), _described()),
    )


def _heartbeat() -> HeartbeatRequest:
    return HeartbeatRequest(group_id=GROUP, generation_id=7, member_id=member_id(1))


def _join() -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        member_id=member_id(0),
        protocol_type="consumer",
        protocols=[
            JoinGroupRequestProtocol(name="range", metadata=METADATA),
            JoinGroupRequestProtocol(name="cooperative-sticky", metadata=METADATA),
        ],
    )


def _joined(leads: bool) -> JoinGroupResponse:
    members = [JoinGroupResponseMember(member_id=member_id(n), metadata=METADATA) for n in range(MEMBERS)]
    return JoinGroupResponse(
        generation_id=7,
        protocol_type="consumer",
        protocol_name="range",
        leader=member_id(0),
        member_id=member_id(0 if leads else 1),
        members=members if leads else [],
    )


def _sync() -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GROUP,
        generation_id=7,
        member_id=member_id(0),
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=member_id(n), assignment=ASSIGNMENT) for n in range(MEMBERS)],
    )


def _synced() -> SyncGroupResponse:
    return SyncGroupResponse(protocol_type="consumer", protocol_name="range", assignment=ASSIGNMENT)


def _commit() -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=n, committed_offset=1_000_000 + n, committed_leader_epoch=3, committed_metadata=""
        )
        for n in range(PARTITIONS)
    ]
    topics = [OffsetCommitRequestTopic(name=f"orders-{n:03d}", partitions=partitions) for n in range(TOPICS)]
    return OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=7, member_id=member_id(1), topics=topics)


def _committed() -> OffsetCommitResponse:
    partitions = [OffsetCommitResponsePartition(partition_index=n) for n in range(PARTITIONS)]
    return OffsetCommitResponse(
        topics=[OffsetCommitResponseTopic(name=f"orders-{n:03d}", partitions=partitions) for n in range(TOPICS)]
    )


def _fetch() -> OffsetFetchRequest:
    topics = [
        OffsetFetchRequestTopics(name=f"orders-{n:03d}", partition_indexes=list(range(PARTITIONS)))
        for n in range(TOPICS)
    ]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)], require_stable=True)


def _fetched() -> OffsetFetchResponse:
    partitions = [
        OffsetFetchResponsePartitions(partition_index=n, committed_offset=1_000_000 + n, committed_leader_epoch=3)
        for n in range(PARTITIONS)
    ]
    topics = [OffsetFetchResponseTopics(name=f"orders-{n:03d}", partitions=partitions) for n in range(TOPICS)]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=GROUP, topics=topics)])


def _metadata() -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=f"orders-{n:03d}") for n in range(50)])


def _described() -> MetadataResponse:
    partitions = [
        MetadataResponsePartition(
            partition_index=n, leader_id=1, leader_epoch=3, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3]
        )
        for n in range(10)
    ]
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=n, host=f"broker-{n}.example.org", port=9092) for n in (1, 2, 3)],
        cluster_id="FKLQEUsNQDC2FuWjqXhduA",
        controller_id=1,
        topics=[
            MetadataResponseTopic(name=f"orders-{n:03d}", topic_id=bytes(range(16)), partitions=partitions)
            for n in range(50)
        ],
    )
