"""SyncGroup, Heartbeat, LeaveGroup, and the expiry of sessions.

Counterpart in Kafka: `GroupMetadataManager.classicGroupSync`, `classicGroupHeartbeat`, `classicGroupLeave`.
"""

from typing import Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import JoinGroupResponse
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from coordinator.core.causes import Cause
from coordinator.core.classic.events import (
    AssignmentRejected,
    GenerationStable,
    MemberAssigned,
    MemberRemoved,
    MemberSynced,
    PendingMemberRemoved,
)
from coordinator.core.classic.group import NO_GENERATION, NO_MEMBER_ID, ClassicGroup, Member
from coordinator.core.classic.leaving import Leaving
from coordinator.core.classic.requests import reason_of
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply, replying
from coordinator.core.event import Event
from coordinator.core.groups.clients_after_load import client_seen, quiet
from coordinator.core.groups.connection_at_removal import (
    connection_at_leave,
    connection_at_removal,
    heard_until,
    note_rejected,
)
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import rejecting
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.groups.states import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE
from coordinator.core.operation import Answer
from coordinator.core.sessions import SessionChange, SessionEnded, SessionHeard, SessionRenewed, SessionStarted

SYNC_NAMES_PROTOCOL_VERSION: Final = 5
"""From this version on SyncGroup names the protocol that it is for (KIP-559)."""
LEAVE_BATCH_VERSION: Final = 3
"""From this version on LeaveGroup names several members (KIP-345)."""


def check_member(group: ClassicGroup, member_id: str, group_instance_id: str | None) -> ErrorCode:
    """NONE for a member; else UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if another member has its instance id."""
    if group_instance_id is not None:
        holder = group.static_members.get(group_instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if holder != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def sync_error(request: SyncGroupRequest, error: ErrorCode, api_version: int) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)


def prepare_sync(request: SyncGroupRequest, context: OperationContext) -> SyncGroupRequest | Answer:
    """Reject what Kafka rejects before it checks whether it coordinates the group."""
    unnamed = request.protocol_type is None or request.protocol_name is None
    if context.api_version >= SYNC_NAMES_PROTOCOL_VERSION and unnamed:
        return Answer(SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
    if not request.group_id:
        return Answer(SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
    return request


def sync(group: Group[ClassicGroup] | None, request: SyncGroupRequest, context: OperationContext) -> Decision:
    """A member requests its assignment; the leader's request contains those of all members."""
    error = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _check_sync(group.membership, request)
    if error is not NONE or group is None:
        # The member asked for an assignment that a rebalance has overtaken: it lives.
        lives = group is not None and error is ErrorCode.REBALANCE_IN_PROGRESS
        heard = sign_of_life(request.group_id, request.member_id, context) if lives else ()
        rejected = replying(context, SyncGroupResponse(error_code=error), effects=heard)
        return rejecting(group, "SyncGroup", request, error, rejected, context)
    classic = group.membership
    member = classic.members[request.member_id]
    if classic.state is STABLE:
        response = _assigned(classic, member.assignment)
        # Nobody waits for the SyncGroup of one that took the place of a static member.
        if request.member_id in classic.pending_sync or member.synced_ms is None:
            return replying(context, response, _synced(classic, request, context, None))
        return replying(context, response)
    synced = _synced(classic, request, context, context.request_id)
    if request.member_id != classic.leader:
        return Decision((synced,))
    return _assign(classic, synced, {assignment.member_id: assignment.assignment for assignment in request.assignments})


def _synced(
    group: ClassicGroup, request: SyncGroupRequest, context: OperationContext, request_id: int | None
) -> MemberSynced:
    return MemberSynced(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=request.member_id,
        request_id=request_id,
        client_connection=context.client_connection,
    )


def reject_assignment(
    group: Group[ClassicGroup] | None, request: SyncGroupRequest, context: OperationContext
) -> Decision:
    """The leader's assignment is too large for a record: all waiting members get an error, and the group rebalances."""
    error = SyncGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    if group is None or group.membership.state is not COMPLETING_REBALANCE:
        return replying(context, error)
    assert context.request_id is not None
    replies = [Reply(context.request_id, error)]
    renewed: list[SessionChange] = []
    for member in group.membership.members.values():
        if member.awaiting_sync is not None:
            replies.append(Reply(member.awaiting_sync, error))
        is_sender = member.member_id == request.member_id
        if member.awaiting_sync is not None or is_sender:
            renewed.append(SessionRenewed(member.member_id, member.session_timeout_ms, is_answer=not is_sender))
    rejected = AssignmentRejected(group_id=group.group_id, at_ms=context.wall_ms, member_id=request.member_id)
    return Decision((rejected,), tuple(replies), tuple(renewed))


def _check_sync(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is not NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    for named, existing in ((request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol_name)):
        if named is not None and existing is not None and named != existing:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return NONE


def _assign(group: ClassicGroup, synced: MemberSynced, assignments: dict[str, bytes]) -> Decision:
    """The leader's SyncGroup: every member gets its assignment (none: empty bytes), and all that wait are answered."""
    events: list[Event] = [synced]
    replies: list[Reply] = []
    renewed: list[SessionChange] = []
    at_ms = synced.at_ms
    for member in group.members.values():
        assignment = assignments.get(member.member_id, b"")
        assigned = MemberAssigned(
            group_id=group.group_id, at_ms=at_ms, member_id=member.member_id, assignment=assignment
        )
        events.append(assigned)
        is_answer = member.member_id != synced.member_id
        request_id = member.awaiting_sync if is_answer else synced.request_id
        if request_id is not None:
            replies.append(Reply(request_id, _assigned(group, assignment)))
            renewed.append(SessionRenewed(member.member_id, member.session_timeout_ms, is_answer))
    events.append(GenerationStable(group_id=group.group_id, at_ms=at_ms, generation_id=group.generation_id))
    return Decision(tuple(events), tuple(replies), tuple(renewed))


def _assigned(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=assignment
    )


def heartbeat_error(request: HeartbeatRequest, error: ErrorCode, api_version: int) -> HeartbeatResponse:
    """While groups are loaded every member counts as alive: loading gives it a new session."""
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        error = NONE
    return HeartbeatResponse(error_code=error)


def prepare_heartbeat(request: HeartbeatRequest, context: OperationContext) -> HeartbeatRequest | Answer:
    return request if request.group_id else Answer(HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID))


AUDITED_HEARTBEAT_ERRORS: Final = frozenset({ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID})
"""A fenced instance id, and a member that was removed and lives: its client asks again under its old member id."""


def heartbeat(group: Group[ClassicGroup] | None, request: HeartbeatRequest, context: OperationContext) -> Decision:
    """Renew the session of a member. During a join phase the response tells it to rejoin."""
    if group is None:
        return replying(context, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
    classic = group.membership
    error = check_member(classic, request.member_id, request.group_instance_id)
    seen: tuple[Event, ...] = ()
    if error is NONE:
        seen = client_seen(group.group_id, classic.members, request.member_id, context)
        if request.generation_id != classic.generation_id:
            error = ErrorCode.ILLEGAL_GENERATION
    if error is not NONE:
        note_rejected(request.member_id, error, context)
        decision = quiet(replying(context, HeartbeatResponse(error_code=error), *seen))
        if error in AUDITED_HEARTBEAT_ERRORS:
            return rejecting(group, "Heartbeat", request, error, decision, context)
        return decision
    if classic.state is PREPARING_REBALANCE:
        error = ErrorCode.REBALANCE_IN_PROGRESS
    decision = replying(
        context, HeartbeatResponse(error_code=error), *seen, effects=renewal(classic, request.member_id)
    )
    return quiet(decision)


def renewal(group: ClassicGroup, member_id: str) -> tuple[SessionRenewed, ...]:
    """The renewal of a member's session; none for an unknown member id."""
    member = group.members.get(member_id)
    return () if member is None else (SessionRenewed(member_id, member.session_timeout_ms),)


def sign_of_life(group_id: str, member_id: str, context: OperationContext) -> tuple[SessionHeard, ...]:
    """A request came that renews no session; nothing if the session is over, and so it waited in a pause."""
    is_over = context.environment.sessions.is_over(group_id, member_id, context.now_ms)
    return () if is_over else (SessionHeard(member_id),)


def renewal_by_commit(group: ClassicGroup, member_id: str) -> tuple[SessionRenewed, ...]:
    """As `renewal`: a commit says nothing of the connection by which its member sends heartbeats."""
    member = group.members.get(member_id)
    return () if member is None else (SessionRenewed(member_id, member.session_timeout_ms, shows_client=False),)


def leave_error(request: LeaveGroupRequest, error: ErrorCode, api_version: int) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error)


def prepare_leave(request: LeaveGroupRequest, context: OperationContext) -> LeaveGroupRequest | Answer:
    return request if request.group_id else Answer(LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))


def leave(group: Group[ClassicGroup] | None, request: LeaveGroupRequest, context: OperationContext) -> Decision:
    """Members leave, or an administrator removes them (by instance id alone, KIP-345).

    Each member of a batch (v3) has its own error. They leave together: one rebalance follows, not one each.
    """
    identities = request.members
    if context.api_version < LEAVE_BATCH_VERSION:
        identities = [MemberIdentity(member_id=request.member_id)]
    classic = ClassicGroup(request.group_id) if group is None else group.membership
    events: list[Event] = []
    replies: list[Reply] = []
    leaving = Leaving(classic.members, classic.pending_members, classic.static_members)
    leaving.leave(identities)
    for left, reason in leaving.gone.items():
        events.append(_departure(classic, left, reason_of(reason), context))
        replies += answers_to_removed(classic.members.get(left))
    response = LeaveGroupResponse(members=leaving.answers)
    if context.api_version < LEAVE_BATCH_VERSION:
        response = LeaveGroupResponse(error_code=leaving.answers[0].error_code)
    decision = replying(context, response)
    return Decision(
        tuple(events), (*replies, *decision.replies), tuple(SessionEnded(member_id) for member_id in leaving.gone)
    )


def _departure(group: ClassicGroup, member_id: str, reason: str, context: OperationContext) -> Event:
    if (member := group.members.get(member_id)) is not None:
        is_its_own = context.requester == member.client
        return MemberRemoved(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            member_id=member_id,
            cause=Cause.MEMBER_LEFT,
            reason=reason,
            last_heard_ms=last_heard_ms(group.group_id, member, context) if is_its_own else None,
            requested_by=None if is_its_own else context.requester,
            connection=connection_at_leave(context),
        )
    return PendingMemberRemoved(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member_id,
        cause=Cause.MEMBER_LEFT,
        client_id=context.client_id,
        client_host=context.client_host,
        reason=reason,
    )


def answers_to_removed(member: Member | None, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> list[Reply]:
    """The responses to the requests that a member waits with when it is removed."""
    replies = []
    if member is not None and member.awaiting_join is not None:
        named = NO_MEMBER_ID if error is ErrorCode.UNKNOWN_MEMBER_ID else member.member_id
        response = JoinGroupResponse(error_code=error, generation_id=NO_GENERATION, member_id=named, protocol_name=None)
        replies.append(Reply(member.awaiting_join, response))
    if member is not None and member.awaiting_sync is not None:
        replies.append(Reply(member.awaiting_sync, SyncGroupResponse(error_code=error)))
    return replies


def expire_session(group: Group[ClassicGroup] | None, request: SessionExpired, context: OperationContext) -> Decision:
    """Remove a member, or a pending member id, that was silent for its whole session timeout.

    With another cause it is removed whether it was silent or not. A member that waits for a join or sync counts as
    alive, except a new one: it knows no id to send heartbeats with, so its (longer) timeout is the only sign that its
    client is gone.
    """
    member_id, is_timeout = request.member_id, request.cause is Cause.SESSION_EXPIRED
    if group is None:
        return NOTHING
    # A request of the same batch, or one that was read meanwhile, may have renewed the session.
    if is_timeout and not context.environment.sessions.is_over(group.group_id, member_id, context.now_ms):
        return NOTHING
    ended: tuple[SessionChange, ...] = (SessionEnded(member_id),)
    if member_id in group.membership.pending_members:
        expired = PendingMemberRemoved(
            group_id=group.group_id, at_ms=context.wall_ms, member_id=member_id, cause=request.cause
        )
        return Decision((expired,), effects=ended)
    member = group.membership.members.get(member_id)
    if member is None:
        return NOTHING
    waits = member.awaiting_join is not None or member.awaiting_sync is not None
    if is_timeout and waits and not member.is_new:
        return NOTHING
    removed = removal(group.membership, member, request.cause, context, request.reason)
    return Decision((removed,), tuple(answers_to_removed(member)), ended)


def remove_pending_member(group: Group[ClassicGroup] | None, member_id: str, context: OperationContext) -> Decision:
    """Remove a member id that no member has joined with yet: its client's address has too many of them."""
    if group is None or member_id not in group.membership.pending_members:
        return NOTHING
    cause = Cause.TOO_MANY_PENDING_MEMBERS
    removed = PendingMemberRemoved(group_id=group.group_id, at_ms=context.wall_ms, member_id=member_id, cause=cause)
    return Decision((removed,), effects=(SessionEnded(member_id),))


def removal(
    group: ClassicGroup, member: Member, cause: Cause, context: OperationContext, reason: str = ""
) -> MemberRemoved:
    """The removal of a member that did not go by itself, with what is known of why it is silent."""
    connection = connection_at_removal(group.group_id, member, context)
    wall = context.environment.wall
    heard_ms = heard_until(_last_heard_before_removal(group.group_id, member, context), connection)
    paused_ms = None
    if heard_ms is not None:
        paused_ms = context.environment.pauses.within(heard_ms - wall.step_ms, context.now_ms)
    return MemberRemoved(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member.member_id,
        cause=cause,
        reason=reason,
        last_heard_ms=heard_ms,
        coordinator_paused_ms=paused_ms,
        connection=connection,
    )


def last_heard_ms(group_id: str, member: Member, context: OperationContext) -> int | None:
    """When the member's last request came, in wall-clock milliseconds; None: not since its group was loaded."""
    return _later(_renewed_ms(group_id, member, context), member.synced_ms)


def _last_heard_before_removal(group_id: str, member: Member, context: OperationContext) -> int | None:
    """As `last_heard_ms`, without a SyncGroup that waited while the coordinator stood still, and renewed no session."""
    renewed_ms = _renewed_ms(group_id, member, context)
    waited = renewed_ms is not None and member.synced_ms == context.wall_ms
    return renewed_ms if waited else last_heard_ms(group_id, member, context)


def _renewed_ms(group_id: str, member: Member, context: OperationContext) -> int | None:
    renewed_ms = context.environment.sessions.last_renewed_ms(group_id, member.member_id)
    heard_ms = None if renewed_ms is None else context.environment.wall.at(renewed_ms)
    return _later(heard_ms, member.joined_ms)


def _later(one_ms: int | None, other_ms: int | None) -> int | None:
    """The later of two times; None: neither of them is known."""
    return other_ms or None if not one_ms or (other_ms and other_ms > one_ms) else one_ms


def sessions_of_loaded_group(group: ClassicGroup, environment: object) -> list[SessionStarted]:
    """Every member of a loaded group gets a fresh session."""
    return [
        SessionStarted(
            member.member_id,
            member.group_instance_id,
            member.session_timeout_ms,
            member.session_timeout_ms,
            awaits_client=True,
        )
        for member in group.members.values()
    ]
