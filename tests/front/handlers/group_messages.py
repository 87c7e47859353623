"""Requests of the group APIs, and the responses that tests expect."""

from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsResponse
from _wire.messages.join_group import JoinGroupResponse
from _wire.messages.leave_group import MemberResponse
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

NOBODY: Final = "no-such-member"


def commit_request(group_id: str, offset: int = 7, topic: str = "orders") -> OffsetCommitRequest:
    """A commit of a consumer that assigns itself its partitions."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return OffsetCommitRequest(group_id=group_id, topics=topics)


def committed(error: ErrorCode, topic: str = "orders", topic_id: bytes = bytes(16)) -> OffsetCommitResponse:
    partition = OffsetCommitResponsePartition(partition_index=0, error_code=error)
    topics = [OffsetCommitResponseTopic(name=topic, topic_id=topic_id, partitions=[partition])]
    return OffsetCommitResponse(topics=topics)


def fetch_request(*groups: str) -> OffsetFetchRequest:
    """From version 8 on: all offsets of these groups."""
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None) for group in groups])


def fetch_request_of_one(group_id: str, topic: str = "orders") -> OffsetFetchRequest:
    """Before version 8."""
    topics = [OffsetFetchRequestTopic(name=topic, partition_indexes=[0])]
    return OffsetFetchRequest(group_id=group_id, topics=topics)


def delete_offsets_request(group_id: str) -> OffsetDeleteRequest:
    partition = OffsetDeleteRequestPartition(partition_index=0)
    return OffsetDeleteRequest(
        group_id=group_id, topics=[OffsetDeleteRequestTopic(name="orders", partitions=[partition])]
    )


def failed_join(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error, generation_id=-1, member_id=member_id, protocol_name=None)


def left(member_id: str, error: ErrorCode) -> MemberResponse:
    return MemberResponse(member_id=member_id, group_instance_id=None, error_code=error)


def fetched_before_v8(error: ErrorCode) -> OffsetFetchResponse:
    partition = OffsetFetchResponsePartition(partition_index=0, committed_offset=-1, metadata="", error_code=error)
    return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="orders", partitions=[partition])])


def committed_offsets(response: OffsetFetchResponse) -> list[tuple[str, list[int]]]:
    return [
        (group.group_id, [partition.committed_offset for topic in group.topics for partition in topic.partitions])
        for group in response.groups
    ]


def member_ids(response: DescribeGroupsResponse) -> dict[str, list[str]]:
    return {group.group_id: [member.member_id for member in group.members] for group in response.groups}
