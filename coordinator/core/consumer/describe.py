"""ConsumerGroupDescribe: a consumer group as an administrator sees it.

Counterpart in Kafka: `GroupMetadataManager.consumerGroupDescribe`, `ConsumerGroup.asDescribedGroup`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from _wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
    Member,
    TopicPartitions,
)
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_ASSIGNORS
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import ConsumerMember
from coordinator.core.consumer.settings import settings_of
from coordinator.core.decision import OperationContext, Topics
from coordinator.core.groups.descriptions import Descriptions

CLASSIC_MEMBER = 0
CONSUMER_MEMBER = 1
MEMBER_BYTES = 600
"""About what a described member takes, without what it subscribes to and owns."""
NAME_BYTES = 64
"""Of a name in a subscription when it is encoded."""
TOPIC_BYTES = 250
"""Of a topic in an assignment, with the list of its partitions."""


def described_bytes(group: ConsumerGroup) -> int:
    """About what the description of the members takes in memory, or when it is encoded."""
    return sum(
        MEMBER_BYTES
        + NAME_BYTES * len(member.metadata.topics)
        + TOPIC_BYTES
        * (len(member.current.assigned) + len(member.current.pending) + len(group.target(member.member_id)))
        for member in group.members.values()
    )


def _described(group: ConsumerGroup, context: OperationContext) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.protocol_name or context.config[GROUP_CONSUMER_ASSIGNORS][0],
        members=[_member(group, member, context.topics) for member in group.members.values()],
    )


def _member(group: ConsumerGroup, member: ConsumerMember, topics: Topics) -> Member:
    metadata, current = member.metadata, member.current
    return Member(
        member_id=member.member_id,
        instance_id=metadata.group_instance_id,
        rack_id=metadata.rack_id,
        member_epoch=current.epoch,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.topics,
        subscribed_topic_regex=metadata.pattern,
        assignment=Assignment(topic_partitions=_partitions((current.assigned, current.pending), topics)),
        target_assignment=Assignment(topic_partitions=_partitions((group.target(member.member_id),), topics)),
        member_type=CLASSIC_MEMBER if member.is_classic else CONSUMER_MEMBER,
    )


def _partitions(several: Iterable[Mapping[bytes, Iterable[int]]], topics: Topics) -> list[TopicPartitions]:
    """The partitions by topic; those of deleted topics are left out."""
    found: dict[bytes, list[int]] = {}
    for partitions in several:
        for topic_id, indexes in partitions.items():
            found.setdefault(topic_id, []).extend(indexes)
    described: list[Any] = []
    for topic_id, indexes in found.items():
        name = topics.topic_name(topic_id)
        if name is not None:
            described.append(TopicPartitions(topic_id=topic_id, topic_name=name, partitions=sorted(indexes)))
    return described


DESCRIPTIONS: Final = Descriptions(
    "a consumer group",
    (ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup),
    _described,
    lambda environment: settings_of(environment).is_enabled(),
)
