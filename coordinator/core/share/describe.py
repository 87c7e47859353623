"""ShareGroupDescribe: a share group as an administrator sees it.

Counterpart in Kafka: `GroupMetadataManager.shareGroupDescribe`, `ShareGroup.asDescribedGroup`.
"""

from typing import Any, Final

from _wire.messages.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from coordinator.core.consumer import topic_partitions
from coordinator.core.decision import OperationContext, Topics
from coordinator.core.groups.descriptions import Descriptions
from coordinator.core.share.assignors import simple
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import ShareMember
from coordinator.core.share.settings import share_settings_of

MEMBER_BYTES: Final = 600
"""About what a described member takes, without what it subscribes to and reads."""
NAME_BYTES: Final = 64
"""Of a name in a subscription when it is encoded."""
TOPIC_BYTES: Final = 250
"""Of a topic in an assignment, with the list of its partitions."""


def described_bytes(group: ShareGroup) -> int:
    """About what the description of the members takes in memory, or when it is encoded."""
    return sum(
        MEMBER_BYTES + NAME_BYTES * len(member.metadata.topics) + TOPIC_BYTES * len(member.current.partitions)
        for member in group.members.values()
    )


def _described(group: ShareGroup, context: OperationContext) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=simple.NAME,
        members=[_member(member, context.topics) for member in group.members.values()],
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


DESCRIPTIONS: Final = Descriptions(
    "a share group",
    (ShareGroupDescribeRequest, ShareGroupDescribeResponse, DescribedGroup),
    _described,
    lambda environment: share_settings_of(environment).is_enabled(),
)
