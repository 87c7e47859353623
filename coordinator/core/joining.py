"""JoinGroup: who may be in the group's next generation, and who is answered with the current one."""

from _wire.errors import NONE, ErrorCode
from _wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from coordinator.config import (
    GROUP_MAX_SESSION_TIMEOUT_MS,
    GROUP_MAX_SIZE,
    GROUP_MIN_SESSION_TIMEOUT_MS,
    Config,
)
from coordinator.core import static_members
from coordinator.core.causes import Cause
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.events import (
    Event,
    GroupCreated,
    MemberJoined,
    MemberRejoined,
    MemberRemoved,
    PendingMemberAdded,
    PendingMemberRemoved,
)
from coordinator.core.group import NO_GENERATION, NO_MEMBER_ID, Group, Member, Protocol
from coordinator.core.members import check_member
from coordinator.core.rebalance import members_with_metadata
from coordinator.core.requests import protocols_of, rebalance_timeout_ms
from coordinator.core.states import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE

MEMBER_ID_REQUIRED_VERSION = 4
"""From this version on a new dynamic member first learns its id (KIP-394)."""


def join(group: Group, request: JoinGroupRequest, context: OperationContext, now_ms: int, config: Config) -> Decision:
    """A member asks to be in the next generation.

    The order of the checks is Kafka's: group id, session timeout, whether group and member id fit, size, protocols.
    A first join makes the group even when the member is then refused, as on Kafka.
    """
    if not request.group_id:
        return _refuse(context, ErrorCode.INVALID_GROUP_ID, request.member_id)
    shortest, longest = config[GROUP_MIN_SESSION_TIMEOUT_MS], config[GROUP_MAX_SESSION_TIMEOUT_MS]
    if not shortest <= request.session_timeout_ms <= longest:
        return _refuse(context, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
    if group.state is DEAD:
        return _refuse(context, ErrorCode.COORDINATOR_NOT_AVAILABLE, request.member_id)
    is_new = request.member_id == NO_MEMBER_ID
    if not group.exists and not is_new:
        return _refuse(context, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
    if not _has_room(group, request.member_id, config[GROUP_MAX_SIZE]):
        return _refuse_and_drop(group, request, context, now_ms)
    if not group.accepts_protocols(request.protocol_type, [protocol.name for protocol in request.protocols]):
        decision = _refuse(context, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
    elif is_new:
        decision = _join_new(group, request, context, now_ms)
    else:
        decision = _join_known(group, request, context, now_ms)
    if group.exists:
        return decision
    created = GroupCreated(group.group_id, now_ms)
    return Decision((created, *decision.events), decision.replies, decision.renewed)


def _has_room(group: Group, member_id: str, max_size: int) -> bool:
    """`group.max.size`: who counts depends on the state.

    While members gather, those that wait count, so that the last ones to come are refused when the limit was lowered.
    """
    if group.state is EMPTY:
        return True
    member = group.members.get(member_id)
    if group.state is PREPARING_REBALANCE:
        waits = member is not None and member.awaiting_join is not None
        return waits or group.awaiting_join_count < max_size
    return member is not None or len(group.members) < max_size


def _refuse(context: OperationContext, error: ErrorCode, member_id: str) -> Decision:
    response = JoinGroupResponse(
        error_code=error, generation_id=NO_GENERATION, member_id=member_id, protocol_type=None, protocol_name=None
    )
    return Decision(replies=(Reply(context.request_id, response),))


def _refuse_and_drop(group: Group, request: JoinGroupRequest, context: OperationContext, now_ms: int) -> Decision:
    events: tuple[Event, ...] = ()
    if request.member_id in group.members:
        events = (MemberRemoved(group.group_id, now_ms, request.member_id, Cause.MEMBER_REFUSED, request.reason or ""),)
    elif request.member_id in group.pending_members:
        events = (PendingMemberRemoved(group.group_id, now_ms, request.member_id, Cause.MEMBER_REFUSED),)
    return Decision(events, _refuse(context, ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID).replies)


def _join_new(group: Group, request: JoinGroupRequest, context: OperationContext, now_ms: int) -> Decision:
    """A member without an id: static ones by their instance id, dynamic ones learn their id first (v4)."""
    if request.group_instance_id is not None:
        member_id = f"{request.group_instance_id}-{context.new_id()}"
        if request.group_instance_id in group.static_members:
            return static_members.replace(group, request, context, member_id, now_ms)
        return _add(group, request, context, member_id, now_ms)
    member_id = f"{context.client_id}-{context.new_id()}"
    if context.api_version < MEMBER_ID_REQUIRED_VERSION:
        return _add(group, request, context, member_id, now_ms)
    reserved = PendingMemberAdded(group.group_id, now_ms, member_id, request.session_timeout_ms)
    required = _refuse(context, ErrorCode.MEMBER_ID_REQUIRED, member_id)
    return Decision((reserved,), required.replies, renewed=(member_id,))


def _join_known(group: Group, request: JoinGroupRequest, context: OperationContext, now_ms: int) -> Decision:
    if request.member_id in group.pending_members:
        if request.group_instance_id is not None:
            # Ids are reserved for dynamic members only, so no client of a good mind gets here; Kafka's own answer.
            return _refuse(context, ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID)
        return _add(group, request, context, request.member_id, now_ms)
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is not NONE:
        return _refuse(context, error, request.member_id)
    member = group.members[request.member_id]
    protocols = protocols_of(request)
    changed = member.protocols != protocols
    leads = group.leader == member.member_id
    if group.state is PREPARING_REBALANCE:
        return _rejoin(group, request, context, protocols, changed, now_ms)
    if group.state is COMPLETING_REBALANCE:
        if changed:
            return _rejoin(group, request, context, protocols, changed, now_ms)
        # The answer to its last JoinGroup was lost; the generation is still the same.
        return current_generation(group, member, context, with_members=leads)
    if group.state is STABLE:
        if changed or leads:
            # The leader may have seen a change that metadata does not show, as new partitions of a topic.
            return _rejoin(group, request, context, protocols, changed, now_ms)
        return current_generation(group, member, context, with_members=False)
    return _refuse(context, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)


def _add(group: Group, request: JoinGroupRequest, context: OperationContext, member_id: str, now_ms: int) -> Decision:
    joined = MemberJoined(
        group.group_id,
        now_ms,
        member_id,
        request.group_instance_id,
        context.client_id,
        context.client_host,
        request.session_timeout_ms,
        rebalance_timeout_ms(request, context),
        request.protocol_type,
        protocols_of(request),
        context.request_id,
        request.reason or "",
    )
    return Decision((joined,))


def _rejoin(
    group: Group,
    request: JoinGroupRequest,
    context: OperationContext,
    protocols: tuple[Protocol, ...],
    changed: bool,
    now_ms: int,
) -> Decision:
    rejoined = MemberRejoined(
        group.group_id,
        now_ms,
        request.member_id,
        request.session_timeout_ms,
        rebalance_timeout_ms(request, context),
        protocols,
        changed,
        context.request_id,
        request.reason or "",
    )
    return Decision((rejoined,))


def current_generation(group: Group, member: Member, context: OperationContext, with_members: bool) -> Decision:
    """Answer with the generation as it is, without a rebalance."""
    members = members_with_metadata(list(group.members.values()), group.protocol_name) if with_members else []
    response = JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or NO_MEMBER_ID,
        member_id=member.member_id,
        members=members,
    )
    return Decision(replies=(Reply(context.request_id, response),))
