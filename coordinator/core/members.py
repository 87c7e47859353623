"""What members of a running generation ask: SyncGroup, Heartbeat, LeaveGroup; and the session that runs out."""

from _wire.errors import NONE, ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import JoinGroupResponse
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.events import (
    Event,
    GenerationStable,
    MemberAssigned,
    MemberRemoved,
    MemberSynced,
    PendingMemberRemoved,
)
from coordinator.core.group import NO_GENERATION, NO_MEMBER_ID, Group, Member
from coordinator.core.states import DEAD, PREPARING_REBALANCE, STABLE


def check_member(group: Group, member_id: str, group_instance_id: str | None) -> ErrorCode:
    """Is it the group's member? Else UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID when another holds its instance id."""
    if group_instance_id is not None:
        holder = group.static_members.get(group_instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if holder != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def sync(group: Group, request: SyncGroupRequest, context: OperationContext, now_ms: int) -> Decision:
    """A member asks for its assignment; the leader brings everybody's."""
    error = _check_sync(group, request)
    if error is not NONE:
        return Decision(replies=(Reply(context.request_id, SyncGroupResponse(error_code=error)),))
    member = group.members[request.member_id]
    if group.state is STABLE:
        events: tuple[Event, ...] = ()
        if request.member_id in group.pending_sync:
            events = (MemberSynced(group.group_id, now_ms, request.member_id, None),)
        return Decision(events, (Reply(context.request_id, _assigned(group, member.assignment)),))
    synced = MemberSynced(group.group_id, now_ms, request.member_id, context.request_id)
    if request.member_id != group.leader:
        return Decision((synced,))
    return _assign(group, synced, {each.member_id: each.assignment for each in request.assignments}, now_ms)


def _check_sync(group: Group, request: SyncGroupRequest) -> ErrorCode:
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is not NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    for said, known in ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol_name)):
        if said is not None and known is not None and said != known:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return NONE


def _assign(group: Group, synced: MemberSynced, assignments: dict[str, bytes], now_ms: int) -> Decision:
    """The leader's SyncGroup: every member gets its part (none: empty bytes), and all that waited are answered."""
    events: list[Event] = [synced]
    replies, answered = [], []
    for member in group.members.values():
        assignment = assignments.get(member.member_id, b"")
        events.append(MemberAssigned(group.group_id, now_ms, member.member_id, assignment))
        request_id = synced.request_id if member.member_id == synced.member_id else member.awaiting_sync
        if request_id is not None:
            replies.append(Reply(request_id, _assigned(group, assignment)))
            answered.append(member.member_id)
    events.append(GenerationStable(group.group_id, now_ms, group.generation_id))
    return Decision(tuple(events), tuple(replies), renewed=tuple(answered))


def _assigned(group: Group, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=assignment
    )


def heartbeat(group: Group, request: HeartbeatRequest, context: OperationContext) -> Decision:
    """A member says that it lives. During a join phase it is told to rejoin, and does stay alive."""
    error = _check_heartbeat(group, request)
    renewed: tuple[str, ...] = ()
    if error is NONE:
        renewed = (request.member_id,)
        if group.state is PREPARING_REBALANCE:
            error = ErrorCode.REBALANCE_IN_PROGRESS
    return Decision(replies=(Reply(context.request_id, HeartbeatResponse(error_code=error)),), renewed=renewed)


def _check_heartbeat(group: Group, request: HeartbeatRequest) -> ErrorCode:
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is NONE and request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def leave(group: Group, request: LeaveGroupRequest, context: OperationContext, now_ms: int) -> Decision:
    """Members say goodbye, or an administrator says it for them (by instance id alone, KIP-345).

    Each member of a batch (v3) has its own error. They go together: one rebalance follows, not one each.
    """
    if group.state is DEAD:
        response = LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return Decision(replies=(Reply(context.request_id, response),))
    identities = request.members
    if context.api_version < 3:
        identities = [MemberIdentity(member_id=request.member_id)]
    events: list[Event] = []
    replies: list[Reply] = []
    answers: list[MemberResponse] = []
    gone: set[str] = set()
    for identity in identities:
        error, left = _find_leaving(group, identity, gone)
        if left is not None:
            gone.add(left)
            events.append(_goodbye(group, left, identity.reason or "", context, now_ms))
            replies += answers_to_removed(group.members.get(left))
        answers.append(
            MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=error)
        )
    response = LeaveGroupResponse(members=answers)
    if context.api_version < 3:
        response = LeaveGroupResponse(error_code=answers[0].error_code)
    return Decision(tuple(events), (*replies, Reply(context.request_id, response)))


def _find_leaving(group: Group, identity: MemberIdentity, gone: set[str]) -> tuple[ErrorCode, str | None]:
    """The member id behind an identity that wants to leave, or why it cannot."""
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if member_id == NO_MEMBER_ID and instance_id is not None:
        member_id = group.static_members.get(instance_id, NO_MEMBER_ID)
    elif member_id in group.pending_members and member_id not in gone:
        return NONE, member_id
    holder = None if instance_id is None else group.static_members.get(instance_id)
    if holder in gone or member_id == NO_MEMBER_ID:
        return ErrorCode.UNKNOWN_MEMBER_ID, None
    error = check_member(group, member_id, instance_id)
    if error is NONE and member_id in gone:
        error = ErrorCode.UNKNOWN_MEMBER_ID
    return error, member_id if error is NONE else None


def _goodbye(group: Group, member_id: str, reason: str, context: OperationContext, now_ms: int) -> Event:
    if member_id in group.members:
        return MemberRemoved(group.group_id, now_ms, member_id, Cause.MEMBER_LEFT, reason)
    who = (context.client_id, context.client_host)
    return PendingMemberRemoved(group.group_id, now_ms, member_id, Cause.MEMBER_LEFT, *who, reason)


def answers_to_removed(member: Member | None, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> list[Reply]:
    """The answers to what a member waits with when it is taken out of the group."""
    replies = []
    if member is not None and member.awaiting_join is not None:
        named = member.member_id if error is ErrorCode.FENCED_INSTANCE_ID else NO_MEMBER_ID
        response = JoinGroupResponse(error_code=error, generation_id=NO_GENERATION, member_id=named, protocol_name=None)
        replies.append(Reply(member.awaiting_join, response))
    if member is not None and member.awaiting_sync is not None:
        replies.append(Reply(member.awaiting_sync, SyncGroupResponse(error_code=error)))
    return replies


def expire_session(group: Group, member_id: str, now_ms: int) -> Decision:
    """A member or a reserved member id was silent for its whole session timeout.

    Who waits for a join or sync counts as alive, but for a new member: it knows no id to send heartbeats with, so its
    (longer) timeout is the only sign that its client is gone.
    """
    if member_id in group.pending_members:
        return Decision((PendingMemberRemoved(group.group_id, now_ms, member_id, Cause.SESSION_EXPIRED),))
    member = group.members.get(member_id)
    if member is None:
        return NOTHING
    waits = member.awaiting_join is not None or member.awaiting_sync is not None
    if waits and not member.is_new:
        return NOTHING
    removed = MemberRemoved(group.group_id, now_ms, member_id, Cause.SESSION_EXPIRED, "")
    return Decision((removed,), tuple(answers_to_removed(member)))
