"""A classic group with members becomes a consumer group, because a member of the consumer protocol joins it.

Counterpart in Kafka: `validateOnlineUpgrade`, `convertToConsumerGroup`, `ConsumerGroup.fromClassicGroup`.
"""

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_MAX_SIZE, GROUP_CONSUMER_MIGRATION_POLICY
from coordinator.core.classic.group import ClassicGroup, Member
from coordinator.core.classic.members import answers_to_removed
from coordinator.core.consumer.classic_protocol import read_assignment, read_subscription
from coordinator.core.consumer.conversion_events import GroupUpgraded
from coordinator.core.consumer.group import NEVER, ConsumerGroup
from coordinator.core.consumer.heartbeat import decide
from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.consumer.member import (
    ClassicMetadata,
    ClassicProtocol,
    MemberMetadata,
)
from coordinator.core.consumer.subscription import current_subscriptions
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.decision import Decision, OperationContext, Reply, Topics
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import GroupKind
from coordinator.core.sessions import SessionChange, SessionEnded, SessionHeard, SessionStarted

UPGRADE_POLICIES = frozenset({"bidirectional", "upgrade"})


def upgrade(
    kind: GroupKind, group: Group[ClassicGroup], request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision | Rejection:
    """The heartbeat of a member that joins a classic group with members; `kind` is the row of consumer groups."""
    classic = group.membership
    if context.config[GROUP_CONSUMER_MIGRATION_POLICY] not in UPGRADE_POLICIES:
        return _cannot(group, "the migration policy does not allow it")
    if classic.protocol_type != CONSUMER_PROTOCOL_TYPE or classic.protocol_name is None:
        return _cannot(group, "its members are no consumers")
    if len(classic.members) > context.config[GROUP_CONSUMER_MAX_SIZE]:
        return _cannot(group, "it has too many members")
    converted = consumer_group_of(classic, context.topics)
    if isinstance(converted, str):
        return _cannot(group, converted)
    decided = decide(converted, request, context)
    if isinstance(decided, Rejection):
        return decided
    upgraded = GroupUpgraded(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        kind=kind,
        member_id=request.member_id,
        epoch=converted.epoch,
        metadata_hash=converted.metadata_hash,
        members=tuple(
            (member.member_id, member.metadata, converted.targets[member.member_id])
            for member in converted.members.values()
        ),
    )
    replies: list[Reply] = []
    sessions: list[SessionChange] = [SessionEnded(member_id) for member_id in classic.pending_members]
    for member in classic.members.values():
        replies += answers_to_removed(member, ErrorCode.REBALANCE_IN_PROGRESS)
        timeout_ms = member.session_timeout_ms
        sessions.append(SessionStarted(member.member_id, member.group_instance_id, timeout_ms, timeout_ms))
        if member.synced_ms is not None:
            sessions.append(SessionHeard(member.member_id, member.synced_ms - context.environment.wall.step_ms))
    return Decision((upgraded, *decided.events), (*replies, *decided.replies), (*sessions, *decided.effects))


def _cannot(group: Group[ClassicGroup], why: str) -> Rejection:
    message = f"Cannot upgrade classic group {group.group_id} to a consumer group: {why}."
    return Rejection(ErrorCode.GROUP_ID_NOT_FOUND, message)


def consumer_group_of(classic: ClassicGroup, topics: Topics) -> ConsumerGroup | str:
    """The consumer group that has the members of a classic group; or why there is none."""
    group = ConsumerGroup(classic.group_id, epoch=classic.generation_id)
    group.set_target_epoch(classic.generation_id, NEVER)
    for member in classic.members.values():
        subscription = member.metadata_for(classic.protocol_name)
        metadata = _metadata_of(member, subscription, topics)
        if metadata is None:
            return f"the subscription of member {member.member_id} is not readable"
        target = read_assignment(member.assignment, topics)
        if isinstance(target, str):
            return f"the assignment of member {member.member_id} by {classic.protocol_name} {target}"
        if _is_owned(group, target):
            return f"member {member.member_id} was assigned a partition that another member has"
        group.add_classic_member(member.member_id, metadata, target)
    group.metadata_hash = current_subscriptions(group).hash_of_topics(topics)
    return group


def _is_owned(group: ConsumerGroup, target: TopicPartitions) -> bool:
    """Whether another member has one of the partitions: the assignor of a client may assign it twice."""
    return any(group.owner(topic_id, index) is not None for topic_id, indexes in target.items() for index in indexes)


def _metadata_of(member: Member, subscription: bytes, topics: Topics) -> MemberMetadata | None:
    read = read_subscription(subscription, topics)
    if read is None:
        return None
    protocols = tuple(ClassicProtocol(protocol.name, protocol.metadata) for protocol in member.protocols)
    return MemberMetadata(
        client_id=member.client_id,
        client_host=member.client_host,
        group_instance_id=member.group_instance_id,
        rack_id=read.rack_id,
        topics=read.topics,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicMetadata(member.session_timeout_ms, protocols),
    )
