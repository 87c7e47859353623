"""Members of the classic protocol in a consumer group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

Their generation is their member epoch; the coordinator assigns partitions to them, and none of them is a leader.

Counterpart in Kafka: `classicGroupJoinToConsumerGroup`, `classicGroupSyncToConsumerGroup`,
`classicGroupHeartbeatToConsumerGroup`, `classicGroupLeaveToConsumerGroup`.
"""

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from coordinator.core.causes import Cause
from coordinator.core.classic.members import LEAVE_BATCH_VERSION
from coordinator.core.classic.requests import reason_of
from coordinator.core.consumer.classic_protocol import assignment_bytes
from coordinator.core.consumer.deadlines import Deadline
from coordinator.core.consumer.events import ClassicMemberAwaited, ClassicMemberSynced
from coordinator.core.consumer.failed_work import reason_to_report
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.identification import static_member
from coordinator.core.consumer.leaving import Departure, remove
from coordinator.core.consumer.leaving_members import members_that_leave
from coordinator.core.consumer.member import ConsumerMember, MemberState
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.event import Event
from coordinator.core.groups.clients_after_load import client_seen, quiet
from coordinator.core.groups.connection_at_removal import note_rejected
from coordinator.core.groups.group import Group
from coordinator.core.sessions import SessionRenewed


def find_member(group: ConsumerGroup, member_id: str, group_instance_id: str | None) -> ConsumerMember | ErrorCode:
    """The member of that id, which has to be the holder of the instance id if one is named."""
    if group_instance_id is None:
        return group.members.get(member_id) or ErrorCode.UNKNOWN_MEMBER_ID
    holder = static_member(group, group_instance_id)
    if holder is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return holder if holder.member_id == member_id else ErrorCode.FENCED_INSTANCE_ID


def _find_classic(
    group: ConsumerGroup, member_id: str, group_instance_id: str | None, generation_id: int
) -> ConsumerMember | ErrorCode:
    member = find_member(group, member_id, group_instance_id)
    if isinstance(member, ErrorCode):
        return member
    if not member.is_classic:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if generation_id == member.current.epoch else ErrorCode.ILLEGAL_GENERATION


def heartbeat(group: Group[ConsumerGroup], request: HeartbeatRequest, context: OperationContext) -> Decision:
    """Renew the session of a member. It has to join again when it has another target, or partitions to give up."""
    consumer = group.membership
    member = _find_classic(consumer, request.member_id, request.group_instance_id, request.generation_id)
    is_its_own = not isinstance(member, ErrorCode) or member is ErrorCode.ILLEGAL_GENERATION
    seen = client_seen(consumer.group_id, consumer.members, request.member_id, context) if is_its_own else ()
    if isinstance(member, ErrorCode):
        note_rejected(request.member_id, member, context)
        return quiet(replying(context, HeartbeatResponse(error_code=member), *seen))
    renewed = (SessionRenewed(member.member_id, _session_timeout_ms(member)),)
    current = member.current
    has_to_join = (
        current.epoch < consumer.target_epoch
        or current.state is MemberState.UNREVOKED_PARTITIONS
        or (current.state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(consumer, member))
        or _waits_for_failed_work(consumer, member)
    )
    if not has_to_join:
        return quiet(replying(context, HeartbeatResponse(), *seen, effects=renewed))
    response = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    return replying(context, response, *seen, *_await_join(consumer, member, context), effects=renewed)


def _session_timeout_ms(member: ConsumerMember) -> int:
    assert member.metadata.classic is not None
    return member.metadata.classic.session_timeout_ms


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether another member still has a partition of the member's target."""
    return any(
        group.owner(topic_id, index) not in (None, member.member_id)
        for topic_id, indexes in group.target(member.member_id).items()
        for index in indexes
    )


def _waits_for_failed_work(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether it has nothing, as the target that it waits for was not stored: that is told when it joins again."""
    is_reported = reason_to_report(group, member.metadata, group.epoch) is not None
    return is_reported and not group.target(member.member_id)


def _await_join(group: ConsumerGroup, member: ConsumerMember, context: OperationContext) -> tuple[Event, ...]:
    """The member has its rebalance timeout to join again, from the first time on that it is told to."""
    if (member.member_id, Deadline.JOIN) in group.deadlines.by_key:
        return ()
    awaited = ClassicMemberAwaited(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member.member_id,
        awaited=Deadline.JOIN,
        deadline_ms=context.now_ms + max(member.metadata.rebalance_timeout_ms, 0),
    )
    return (awaited,)


def sync(group: Group[ConsumerGroup], request: SyncGroupRequest, context: OperationContext) -> Decision:
    """The assignment of a member. The assignments in the request are ignored."""
    consumer = group.membership
    member = _find_classic(consumer, request.member_id, request.group_instance_id, request.generation_id)
    if isinstance(member, ErrorCode):
        return replying(context, SyncGroupResponse(error_code=member))
    assert member.metadata.classic is not None
    protocol = member.metadata.classic.protocols[0]
    named = request.protocol_type, request.protocol_name
    if named[0] not in (None, CONSUMER_PROTOCOL_TYPE) or named[1] not in (None, protocol.name):
        return replying(context, SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    current = member.current
    if consumer.target_epoch > current.epoch and current.state is not MemberState.UNREVOKED_PARTITIONS:
        rejoin = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        return replying(context, rejoin, *_await_join(consumer, member, context))
    response = SyncGroupResponse(
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignment=assignment_bytes(current.assigned, protocol.metadata, context.topics),
    )
    synced = ClassicMemberSynced(group_id=group.group_id, at_ms=context.wall_ms, member_id=member.member_id)
    renewed = (SessionRenewed(member.member_id, _session_timeout_ms(member)),)
    return replying(context, response, synced, effects=renewed)


def leave(group: Group[ConsumerGroup], request: LeaveGroupRequest, context: OperationContext) -> Decision:
    """Members leave, or an administrator removes them; those of the consumer protocol too."""
    is_batch = context.api_version >= LEAVE_BATCH_VERSION
    identities = request.members if is_batch else [MemberIdentity(member_id=request.member_id)]
    consumer = group.membership
    gone, answers = members_that_leave(consumer.members, consumer.static_members, identities)
    departures = [_departure(consumer.members[member_id], reason, context) for member_id, reason in gone.items()]
    response = LeaveGroupResponse(members=answers)
    if not is_batch:
        response = LeaveGroupResponse(error_code=answers[0].error_code)
    decision = remove(consumer, departures, context)
    assert context.request_id is not None
    return msgspec.structs.replace(decision, replies=(Reply(context.request_id, response),))


def _departure(member: ConsumerMember, reason: str | None, context: OperationContext) -> Departure:
    requester = context.requester
    is_own = (requester.client_id, requester.client_host) == (member.client_id, member.client_host)
    return Departure(member, Cause.MEMBER_LEFT, reason_of(reason), None if is_own else requester)
