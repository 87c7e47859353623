"""ShareGroupDescribe: a share group as an administrator sees it.

Counterpart in Kafka: `GroupMetadataManager.shareGroupDescribe`, `ShareGroup.asDescribedGroup`.
"""

from collections.abc import Iterable
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from coordinator.core.consumer import topic_partitions
from coordinator.core.decision import Decision, OperationContext, Topics, replying
from coordinator.core.groups.admin import ALL_OPERATIONS
from coordinator.core.groups.group import Group
from coordinator.core.operation import Answer
from coordinator.core.share.assignors import simple
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import ShareMember
from coordinator.core.share.settings import share_settings_of

MEMBERS_PER_OPERATION: Final = 10
"""To describe so many members takes as long as another operation."""
MEMBER_BYTES: Final = 600
"""About what a described member takes, without what it subscribes to and reads."""
NAME_BYTES: Final = 64
"""Of a name in a subscription when it is encoded."""
TOPIC_BYTES: Final = 250
"""Of a topic in an assignment, with the list of its partitions."""


def prepare(request: ShareGroupDescribeRequest, context: OperationContext) -> ShareGroupDescribeRequest | Answer:
    """Reject everything while share groups are switched off."""
    if not share_settings_of(context.environment).is_enabled():
        return Answer(error_response(request, ErrorCode.UNSUPPORTED_VERSION, context.api_version))
    return request


def per_group(request: ShareGroupDescribeRequest) -> Iterable[tuple[str, ShareGroupDescribeRequest]]:
    """Split a request: group id and the request for that group alone."""
    with_operations = request.include_authorized_operations
    for group_id in request.group_ids:
        yield group_id, ShareGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=with_operations)


def merge(responses: Iterable[ShareGroupDescribeResponse]) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(groups=[group for response in responses for group in response.groups])


def error_response(
    request: ShareGroupDescribeRequest, error: ErrorCode, api_version: int
) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=[DescribedGroup(group_id=group_id, error_code=error) for group_id in request.group_ids]
    )


def describe(
    group: Group[ShareGroup] | None, request: ShareGroupDescribeRequest, context: OperationContext
) -> Decision:
    """The one group that the request asks for."""
    (group_id,) = request.group_ids
    if not group_id:
        return replying(context, error_response(request, ErrorCode.INVALID_GROUP_ID, context.api_version))
    if group is None:
        return _not_described(group_id, "not found", context)
    described = _described(group.membership, context.topics)
    if request.include_authorized_operations:
        described.authorized_operations = ALL_OPERATIONS
    response = ShareGroupDescribeResponse(groups=[described])
    return replying(context, response, weight=len(described.members) // MEMBERS_PER_OPERATION)


def describe_other_kind(group: Group[Any], request: ShareGroupDescribeRequest, context: OperationContext) -> Decision:
    """A group that is no share group."""
    return _not_described(group.group_id, "is not a share group", context)


def _not_described(group_id: str, why: str, context: OperationContext) -> Decision:
    missing = DescribedGroup(
        group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=f"Group {group_id} {why}."
    )
    return replying(context, ShareGroupDescribeResponse(groups=[missing]))


def described_bytes(group: ShareGroup) -> int:
    """About what the description of the members takes in memory, or when it is encoded."""
    return sum(
        MEMBER_BYTES + NAME_BYTES * len(member.metadata.topics) + TOPIC_BYTES * len(member.current.partitions)
        for member in group.members.values()
    )


def _described(group: ShareGroup, topics: Topics) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=simple.NAME,
        members=[_member(member, topics) for member in group.members.values()],
    )


def _member(member: ShareMember, topics: Topics) -> Member:
    metadata, current = member.metadata, member.current
    return Member(
        member_id=member.member_id,
        rack_id=metadata.rack_id,
        member_epoch=current.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.topics,
        assignment=Assignment(topic_partitions=_partitions(current.partitions, topics)),
    )


def _partitions(partitions: topic_partitions.TopicPartitions, topics: Topics) -> list[TopicPartitions]:
    """The partitions by topic; those of deleted topics are left out."""
    described: list[Any] = []
    for topic_id, indexes in partitions.items():
        name = topics.topic_name(topic_id)
        if name is not None:
            described.append(TopicPartitions(topic_id=topic_id, topic_name=name, partitions=indexes))
    return described
