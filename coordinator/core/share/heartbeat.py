"""ShareGroupHeartbeat: a member joins, is alive, or changes its subscription (KIP-932).

Counterpart in Kafka: `GroupMetadataManager.shareGroupHeartbeat`. `leaving.py` has the heartbeats that leave.
"""

from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from coordinator.config.share_group_keys import GROUP_SHARE_MAX_SIZE
from coordinator.core.consumer.heartbeat_requests import Rejection, not_found, of_other_kind
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.groups.clients_after_load import client_seen
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import SHARE_NAME
from coordinator.core.groups.rejections import NamedMember, rejecting
from coordinator.core.sessions import HeartbeatsOpened, SessionRenewed
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.heartbeat_requests import API, share_assignment_of, share_rejection_response
from coordinator.core.share.leaving import leave
from coordinator.core.share.member import LEAVE_EPOCH, NO_EPOCH
from coordinator.core.share.member_update import ShareMemberUpdate
from coordinator.core.share.settings import share_settings_of

NEW_GROUP_OPERATIONS: Final = 5
"""To create a group takes as long as so many other operations."""


def heartbeat(
    group: Group[ShareGroup] | None, request: ShareGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """Answer a heartbeat. One with epoch 0 makes the group."""
    decided: Decision | Rejection
    if group is None and request.member_epoch != NO_EPOCH:
        decided = not_found(SHARE_NAME, request.group_id, request.member_epoch)
    elif group is None:
        if not context.environment.may_create_group(context.client_host):
            decided = Rejection(ErrorCode.POLICY_VIOLATION, "Clients of this address have created too many groups.")
        else:
            return _create(request, context)
    elif request.member_epoch == LEAVE_EPOCH:
        decided = leave(group.membership, request.member_id, context)
    else:
        decided = _decide(group.membership, request, context)
    return _answered(group, request, decided, context)


def reject_other_kind(group: Group[Any], request: ShareGroupHeartbeatRequest, context: OperationContext) -> Decision:
    """A group of another kind never becomes a share group, not even without members."""
    return _answered(group, request, of_other_kind(SHARE_NAME, request.group_id), context)


def _answered(
    group: Group[Any] | None,
    request: ShareGroupHeartbeatRequest,
    decided: Decision | Rejection,
    context: OperationContext,
) -> Decision:
    """The decision; a rejection is reported in the audit of the group."""
    if isinstance(decided, Decision):
        return decided
    decision = replying(context, share_rejection_response(decided))
    named = NamedMember(request.member_id, None, request.member_epoch)
    return rejecting(group, API, named, decided.error, decision, context, injected=decided.injected)


def _create(request: ShareGroupHeartbeatRequest, context: OperationContext) -> Decision:
    decided = _decide(ShareGroup(request.group_id), request, context)
    if isinstance(decided, Rejection):
        return _answered(None, request, decided, context)
    created = GroupCreated(
        group_id=request.group_id, at_ms=context.wall_ms, client_host=context.client_host, kind=SHARE_NAME
    )
    weight = NEW_GROUP_OPERATIONS + decided.weight
    return Decision((created, *decided.events), decided.replies, decided.effects, weight=weight)


def _decide(group: ShareGroup, request: ShareGroupHeartbeatRequest, context: OperationContext) -> Decision | Rejection:
    """The order of the checks is Kafka's: size, member, epoch."""
    rejection = _check(group, request, context)
    if rejection is not None:
        return rejection
    step = ShareMemberUpdate(group, context, request)
    current = step.decide()
    response = ShareGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=current.epoch, heartbeat_interval_ms=step.heartbeat_interval_ms
    )
    is_full_request = request.member_epoch == NO_EPOCH or request.subscribed_topic_names is not None
    if is_full_request or current.partitions != step.had.partitions:
        response.assignment = share_assignment_of(current.partitions)
    assert context.request_id is not None
    events = tuple(step.events)
    if step.is_member and group.members[request.member_id].client_connection is None:
        events += client_seen(group.group_id, group.members, request.member_id, context)
    replies = (Reply(context.request_id, response),)
    effects = step.effects()
    if step.is_steady:
        interval_ms = step.heartbeat_interval_ms
        opened = HeartbeatsOpened(
            request.member_id,
            current.epoch,
            interval_ms,
            context.client_id,
            context.client_host,
            api_key=ShareGroupHeartbeatRequest.API_KEY,
        )
        effects = (*effects, opened)
    return Decision(events, replies, effects, no_step_follows=not step.events, weight=step.weight)


def _check(group: ShareGroup, request: ShareGroupHeartbeatRequest, context: OperationContext) -> Rejection | None:
    member = group.members.get(request.member_id)
    if member is None:
        size, limit, filled_size = (
            len(group.members),
            context.config[GROUP_SHARE_MAX_SIZE],
            context.environment.filled_size,
        )
        is_filled = filled_size is not None and size >= filled_size
        if size >= limit or is_filled:
            full = "The share group has reached its maximum size."
            return Rejection(ErrorCode.GROUP_MAX_SIZE_REACHED, full, injected=size < limit)
        if request.member_epoch != NO_EPOCH:
            unknown = f"Member {request.member_id} is not a member of group {group.group_id}."
            return Rejection(ErrorCode.UNKNOWN_MEMBER_ID, unknown)
        return None
    epochs = NO_EPOCH, member.current.epoch, member.current.previous_epoch
    if request.member_epoch in epochs:
        return None
    fenced = f"The share group member has another epoch ({member.current.epoch}). Members must rejoin with epoch 0."
    return Rejection(ErrorCode.FENCED_MEMBER_EPOCH, fenced)


def reject_too_large(
    group: Group[ShareGroup] | None, request: ShareGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """The records of what the request changes do not fit into the log. As on Kafka the member's session goes on."""
    error = Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, "The records of the request are larger than message.max.bytes.")
    decision = replying(context, share_rejection_response(error))
    if group is None or request.member_id not in group.membership.members:
        return decision
    timeout_ms, _, _ = share_settings_of(context.environment).of(group.group_id)
    return msgspec.structs.replace(decision, effects=(SessionRenewed(request.member_id, timeout_ms),))
