"""Members of share groups go: they leave, or their sessions end.

Counterpart in Kafka: `shareGroupLeave`, `shareGroupFenceMember`.
"""

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from coordinator.core.causes import Cause
from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.consumer.named_topics import NAMES_PER_OPERATION
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.groups.connection_at_removal import (
    UNKNOWN,
    connection_at_leave,
    connection_at_removal,
    heard_until,
)
from coordinator.core.groups.group import Group
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.sessions import SessionEnded
from coordinator.core.share.events import ShareGroupEpochBumped, ShareMemberRemoved
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import LEAVE_EPOCH, ShareMember
from coordinator.core.share.subscription import hash_of_topics


def leave(group: ShareGroup, member_id: str, context: OperationContext) -> Decision | Rejection:
    """A member leaves with epoch -1."""
    member = group.members.get(member_id)
    if member is None:
        unknown = f"Member {member_id} is not a member of group {group.group_id}."
        return Rejection(ErrorCode.UNKNOWN_MEMBER_ID, unknown)
    assert context.request_id is not None
    response = ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=LEAVE_EPOCH)
    replies = (Reply(context.request_id, response),)
    return msgspec.structs.replace(remove(group, member, Cause.MEMBER_LEFT, "", context), replies=replies)


def remove(group: ShareGroup, member: ShareMember, cause: Cause, reason: str, context: OperationContext) -> Decision:
    """Remove a member: the group epoch rises. The next heartbeat of another member computes a target."""
    after = group.named_topics.after((member.metadata.topics,), ())
    bumped = ShareGroupEpochBumped(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        epoch=group.epoch + 1,
        metadata_hash=hash_of_topics(after, context.topics),
        cause=cause,
        member_id=member.member_id,
        topics_version=context.topics.topics_version,
    )
    removed = _removed(group, member, cause, reason, context)
    weight = 1 + sum(map(len, after.lost)) // NAMES_PER_OPERATION
    return Decision((removed, bumped), effects=(SessionEnded(member.member_id),), weight=weight)


def _removed(
    group: ShareGroup, member: ShareMember, cause: Cause, reason: str, context: OperationContext
) -> ShareMemberRemoved:
    environment = context.environment
    heard_ms, paused_ms, connection = None, None, UNKNOWN
    if cause is Cause.MEMBER_LEFT:
        connection = connection_at_leave(context)
    else:
        connection = connection_at_removal(group.group_id, member, context)
        heard_ms = heard_until(_last_heard_ms(group.group_id, member, context), connection)
        if heard_ms is not None:
            paused_ms = environment.pauses.within(heard_ms - environment.wall.step_ms, context.now_ms)
    return ShareMemberRemoved(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member.member_id,
        cause=cause,
        reason=reason,
        last_heard_ms=heard_ms,
        coordinator_paused_ms=paused_ms,
        connection=connection,
        session_timeout_ms=environment.sessions.timeout_ms(group.group_id, member.member_id),
    )


def _last_heard_ms(group_id: str, member: ShareMember, context: OperationContext) -> int | None:
    """When the member last sent a heartbeat, in wall-clock ms; None: not since its group was loaded."""
    environment = context.environment
    renewed_ms = environment.sessions.last_renewed_ms(group_id, member.member_id)
    heard_ms = None if renewed_ms is None else environment.wall.at(renewed_ms)
    return max(filter(None, (heard_ms, member.joined_ms)), default=None)


def expire_session(group: Group[ShareGroup] | None, request: SessionExpired, context: OperationContext) -> Decision:
    """Remove a member that was silent for its session timeout; with another cause, whether it was silent or not."""
    member = None if group is None else group.membership.members.get(request.member_id)
    if group is None or member is None:
        return NOTHING
    # A request of the same batch, or one that was read meanwhile, may have renewed the session.
    is_timeout = request.cause is Cause.SESSION_EXPIRED
    if is_timeout and not context.environment.sessions.is_over(group.group_id, request.member_id, context.now_ms):
        return NOTHING
    return remove(group.membership, member, request.cause, request.reason, context)
