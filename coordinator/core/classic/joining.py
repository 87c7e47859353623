"""JoinGroup: members join the next generation, or get the current one again.

Counterpart in Kafka: `GroupMetadataManager.classicGroupJoin` and what it calls.
"""

from typing import Any, Final

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from coordinator.config.group_keys import GROUP_MAX_SESSION_TIMEOUT_MS, GROUP_MAX_SIZE, GROUP_MIN_SESSION_TIMEOUT_MS
from coordinator.core.causes import Cause
from coordinator.core.classic import static_members
from coordinator.core.classic.events import (
    MemberJoined,
    MemberRejoined,
    MemberRemoved,
    PendingMemberAdded,
    PendingMemberRemoved,
    StaticMemberReplaced,
)
from coordinator.core.classic.group import NO_GENERATION, NO_MEMBER_ID, ClassicGroup, Member, Protocol
from coordinator.core.classic.members import check_member, last_heard_ms, sign_of_life
from coordinator.core.classic.rebalance import members_with_metadata
from coordinator.core.classic.requests import protocols_of, reason_of, rebalance_timeout_ms
from coordinator.core.classic.subscriptions import is_another_subscription
from coordinator.core.consumer_protocol import revokes
from coordinator.core.decision import NOTHING, Decision, OperationContext, replying
from coordinator.core.event import Event
from coordinator.core.groups.connection_at_removal import heard_before, rejected_as
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import rejecting
from coordinator.core.groups.requests import JoinAsInstance
from coordinator.core.groups.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from coordinator.core.operation import Answer
from coordinator.core.sessions import SessionEnded, SessionStarted

MEMBER_ID_REQUIRED_VERSION: Final = 4
"""From this version on a new dynamic member first learns its id (KIP-394)."""

MEMBER_ID_BYTES_MAX: Final = 2**15 - 1
"""The longest string of the protocol and of the stored records (an int16 length)."""

NEW_GROUP_OPERATIONS: Final = 5
"""To create a group with its first member takes as long as so many other operations."""

PARTITIONS_READ_MAX: Final = 10_000
"""Of a leader that owns more, it is not found out whether it rejoins because the generation took some of them."""

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1000
"""How long a member may wait for its first generation (Kafka's `classicGroupNewMemberJoinTimeoutMs`).

It counts from the JoinGroup. A member that sends a heartbeat or a commit meanwhile has shown that it knows its id, and
its session timeout counts from then on.
"""


def error_response(request: JoinGroupRequest, error: ErrorCode, api_version: int) -> JoinGroupResponse:
    return _rejection(error, request.member_id)


def _rejection(error: ErrorCode, member_id: str) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error, generation_id=NO_GENERATION, member_id=member_id, protocol_type=None, protocol_name=None
    )


def _reject(context: OperationContext, error: ErrorCode, member_id: str) -> Decision:
    return replying(context, _rejection(error, member_id))


def prepare(request: JoinGroupRequest, context: OperationContext) -> JoinGroupRequest | Answer:
    """Reject what Kafka 4.3 rejects before it checks whether it coordinates the group."""
    if not request.group_id:
        return Answer(_rejection(ErrorCode.INVALID_GROUP_ID, request.member_id))
    config = context.config
    shortest, longest = config[GROUP_MIN_SESSION_TIMEOUT_MS], config[GROUP_MAX_SESSION_TIMEOUT_MS]
    if not shortest <= request.session_timeout_ms <= longest:
        error = ErrorCode.INVALID_SESSION_TIMEOUT
        return Answer(_rejection(error, request.member_id), error)
    return request


def join(group: Group[ClassicGroup] | None, request: JoinGroupRequest, context: OperationContext) -> Decision:
    """A member joins the next generation.

    The order of the checks is Kafka's: whether group and member id fit, size, protocols. A first join creates the group
    even when the member is then rejected, as on Kafka.
    """
    is_new = request.member_id == NO_MEMBER_ID
    if group is None:
        if not is_new:
            return _reject(context, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
        if not context.environment.may_create_group(context.client_host):
            return _reject(context, ErrorCode.POLICY_VIOLATION, request.member_id)
        decision = _join(ClassicGroup(request.group_id), request, context)
        created = GroupCreated(group_id=request.group_id, at_ms=context.wall_ms, client_host=context.client_host)
        return Decision((created, *decision.events), decision.replies, decision.effects, weight=NEW_GROUP_OPERATIONS)
    decision = _join(group.membership, request, context)
    for reply in decision.replies:
        if reply.request_id == context.request_id and isinstance(reply.response, JoinGroupResponse):
            error = ErrorCode(reply.response.error_code)
            is_full = error is ErrorCode.GROUP_MAX_SIZE_REACHED
            injected = is_full and _why_full(group.membership, request.member_id, context) is Cause.FAULT
            return rejecting(group, "JoinGroup", request, error, decision, context, injected=injected)
    return decision


def reject_other_kind(group: Group[Any], request: JoinGroupRequest, context: OperationContext) -> Decision:
    """The members of the group speak another protocol than the classic one."""
    return _reject(context, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)


def join_as_instance(group: Group[ClassicGroup] | None, request: JoinAsInstance, context: OperationContext) -> Decision:
    """Join with the instance id of a static member, for a cause that is not the member's restart.

    If the instance has gone meanwhile, nothing happens.
    """
    holder_id = None if group is None else group.membership.static_members.get(request.group_instance_id)
    if group is None or holder_id is None:
        return NOTHING
    decision = join(group, _join_as(group.membership, group.membership.members[holder_id], request), context)
    events = tuple(
        msgspec.structs.replace(event, cause=request.cause) if isinstance(event, StaticMemberReplaced) else event
        for event in decision.events
    )
    return msgspec.structs.replace(decision, events=events)


def _join_as(group: ClassicGroup, holder: Member, request: JoinAsInstance) -> JoinGroupRequest:
    """The JoinGroup of another client with what the holder of the instance id sent when it joined."""
    return JoinGroupRequest(
        group_id=group.group_id,
        session_timeout_ms=holder.session_timeout_ms,
        rebalance_timeout_ms=holder.rebalance_timeout_ms,
        member_id=NO_MEMBER_ID,
        group_instance_id=request.group_instance_id,
        protocol_type=group.protocol_type or "",
        protocols=[
            JoinGroupRequestProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in holder.protocols
        ],
        reason=request.reason,
    )


def join_as_instance_error(request: JoinAsInstance, error: ErrorCode, api_version: int) -> JoinGroupResponse:
    return _rejection(error, NO_MEMBER_ID)


def _join(group: ClassicGroup, request: JoinGroupRequest, context: OperationContext) -> Decision:
    full = _why_full(group, request.member_id, context)
    if full is not None:
        return _reject_and_remove(group, request, context, full)
    if not group.accepts_protocols(request.protocol_type, [protocol.name for protocol in request.protocols]):
        return _reject(context, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    if request.member_id == NO_MEMBER_ID:
        return _join_new(group, request, context)
    return _join_existing(group, request, context)


def _why_full(group: ClassicGroup, member_id: str, context: OperationContext) -> Cause | None:
    """Which limit leaves no room for a member; None: there is room."""
    if not _has_room(group, member_id, context.config[GROUP_MAX_SIZE]):
        return Cause.GROUP_MAX_SIZE_REACHED
    filled_size = context.environment.filled_size
    return None if filled_size is None or _has_room(group, member_id, filled_size) else Cause.FAULT


def _has_room(group: ClassicGroup, member_id: str, max_size: int) -> bool:
    """`group.max.size`: which members count depends on the state.

    In PreparingRebalance the waiting members count, so that the last to join are rejected if the limit was lowered.
    """
    if group.state is EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is PREPARING_REBALANCE:
        waits = member is not None and member.awaiting_join is not None
        return waits or group.awaiting_join_count < max_size
    return member is not None or len(group.members) < max_size


def _reject_and_remove(
    group: ClassicGroup, request: JoinGroupRequest, context: OperationContext, cause: Cause
) -> Decision:
    member_id = request.member_id
    rejected = _reject(context, ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID)
    if member_id in group.members:
        reason = reason_of(request.reason)
        event: Event = MemberRemoved(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            member_id=member_id,
            cause=cause,
            reason=reason,
            found_no_room=True,
        )
    elif member_id in group.pending_members:
        event = PendingMemberRemoved(
            group_id=group.group_id, at_ms=context.wall_ms, member_id=member_id, cause=cause, found_no_room=True
        )
    else:
        return rejected
    return Decision((event,), rejected.replies, (SessionEnded(member_id),))


def _join_new(group: ClassicGroup, request: JoinGroupRequest, context: OperationContext) -> Decision:
    """A member without an id: static ones by their instance id, dynamic ones learn their id first (v4)."""
    prefix = context.client_id if request.group_instance_id is None else request.group_instance_id
    member_id = f"{prefix}-{context.new_id()}"
    if len(member_id) * 4 > MEMBER_ID_BYTES_MAX and len(member_id.encode()) > MEMBER_ID_BYTES_MAX:
        # Kafka adds the member, and then cannot encode any response that contains it, such as DescribeGroups.
        return _reject(context, ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID)
    if request.group_instance_id is not None:
        if request.group_instance_id in group.static_members:
            return static_members.replace(group, request, context, member_id)
        return _add(group, request, context, member_id)
    if context.api_version < MEMBER_ID_REQUIRED_VERSION:
        return _add(group, request, context, member_id)
    timeout_ms = request.session_timeout_ms
    added = PendingMemberAdded(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member_id,
        session_timeout_ms=timeout_ms,
        client_host=context.client_host,
    )
    return Decision(
        (added,),
        _reject(context, ErrorCode.MEMBER_ID_REQUIRED, member_id).replies,
        (SessionStarted(member_id, None, timeout_ms, timeout_ms, may_heartbeat=False),),
    )


def _join_existing(group: ClassicGroup, request: JoinGroupRequest, context: OperationContext) -> Decision:
    if request.member_id in group.pending_members:
        if request.group_instance_id is not None:
            # Only dynamic members get pending ids, so no correct client sends this. The error is Kafka's.
            return _reject(context, ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID)
        return _add(group, request, context, request.member_id)
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is not NONE:
        return _reject(context, error, request.member_id)
    member = group.members[request.member_id]
    protocols = protocols_of(request)
    changed = member.protocols != protocols
    leads = group.leader == member.member_id
    if group.state is PREPARING_REBALANCE:
        return _rejoin(group, request, context, protocols, changed)
    if group.state is COMPLETING_REBALANCE:
        if changed:
            return _rejoin(group, request, context, protocols, changed)
        # The answer to its last JoinGroup was lost; the generation is still the same.
        return current_generation(group, member, context, with_members=leads)
    if group.state is STABLE:
        if changed or leads:
            # The leader may have seen a change that metadata does not show, as new partitions of a topic.
            return _rejoin(group, request, context, protocols, changed)
        return current_generation(group, member, context, with_members=False)
    return _reject(context, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)


def _add(group: ClassicGroup, request: JoinGroupRequest, context: OperationContext, member_id: str) -> Decision:
    assert context.request_id is not None
    joined = MemberJoined(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member_id,
        group_instance_id=request.group_instance_id,
        client_id=context.client_id,
        client_host=context.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms(request, context),
        protocol_type=request.protocol_type,
        protocols=protocols_of(request),
        request_id=context.request_id,
        reason=reason_of(request.reason),
        client_details=context.client_details,
        client_connection=context.client_connection,
        fills_group=len(group.members) + 1 >= context.config[GROUP_MAX_SIZE],
        rejected_as=rejected_as(context),
    )
    started = SessionStarted(
        member_id, request.group_instance_id, NEW_MEMBER_JOIN_TIMEOUT_MS, request.session_timeout_ms
    )
    return Decision((joined,), effects=(started,))


def _rejoin(
    group: ClassicGroup,
    request: JoinGroupRequest,
    context: OperationContext,
    protocols: tuple[Protocol, ...],
    changed: bool,
) -> Decision:
    assert context.request_id is not None
    member = group.members[request.member_id]
    cause = Cause.MEMBER_REJOINED
    if changed and is_another_subscription(group.protocol_type, member.protocols, protocols):
        cause = Cause.METADATA_CHANGED
    elif group.leader == member.member_id and not _has_revoked(group, member):
        cause = Cause.LEADER_REJOINED
    rejoined = MemberRejoined(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=request.member_id,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms(request, context),
        protocols=protocols,
        cause=cause,
        request_id=context.request_id,
        reason=reason_of(request.reason),
        client_details=context.client_details,
        client_connection=context.client_connection,
        last_heard_ms=heard_before(last_heard_ms(group.group_id, member, context), context),
        has_synced=member.has_synced,
    )
    return Decision((rejoined,))


def _has_revoked(group: ClassicGroup, member: Member) -> bool:
    """Whether the generation took partitions from a member, which rejoins for the next one to assign them (KIP-429)."""
    metadata = member.metadata_for(group.protocol_name)
    return group.state is STABLE and revokes(group.protocol_type, metadata, member.assignment, PARTITIONS_READ_MAX)


def current_generation(group: ClassicGroup, member: Member, context: OperationContext, with_members: bool) -> Decision:
    """Answer with the current generation, without a rebalance; as in Kafka that renews no session."""
    members = members_with_metadata(list(group.members.values()), group.protocol_name) if with_members else []
    response = JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or NO_MEMBER_ID,
        member_id=member.member_id,
        members=members,
    )
    return replying(context, response, effects=sign_of_life(group.group_id, member.member_id, context))


NULLABLE_PROTOCOL_NAME_VERSION: Final = 7
"""From this version on an absent protocol name is null, and Kafka answers null for an empty one too."""


def downgrade(response: JoinGroupResponse, api_version: int) -> None:
    if not response.protocol_name:
        response.protocol_name = None if api_version >= NULLABLE_PROTOCOL_NAME_VERSION else ""
