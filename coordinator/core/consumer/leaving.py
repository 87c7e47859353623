"""Members go: they leave, their sessions end, or they do not give up partitions in time.

Counterpart in Kafka: `consumerGroupLeave`, `consumerGroupFenceMembers`.
"""

from collections.abc import Mapping, Sequence

import msgspec

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from coordinator.core.causes import Cause, Requester
from coordinator.core.classic.group import RebalanceReason
from coordinator.core.consumer.deadlines import Deadline
from coordinator.core.consumer.downgrade import downgraded, is_to_downgrade, sessions_of_classic
from coordinator.core.consumer.events import (
    ConsumerMemberRemoved,
    GroupEpochBumped,
    PatternForgotten,
    StaticMemberLeft,
)
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.consumer.identification import fenced_instance, static_member, unknown_instance, unknown_member
from coordinator.core.consumer.member import LEAVE_STATIC_EPOCH, ConsumerMember
from coordinator.core.consumer.named_topics import NAMES_PER_OPERATION
from coordinator.core.consumer.silence import last_heard_ms
from coordinator.core.consumer.subscription import changed_subscriptions
from coordinator.core.consumer.topic_partitions import NO_PARTITIONS, EpochsByPartition
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.event import Event
from coordinator.core.groups.connection_at_removal import (
    UNKNOWN,
    ConnectionAtRemoval,
    connection_at_leave,
    connection_at_removal,
    heard_until,
)
from coordinator.core.groups.group import Group
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.sessions import SessionEnded

CAUSES: Mapping[Deadline, Cause] = {
    Deadline.REVOCATION: Cause.REBALANCE_TIMEOUT,
    Deadline.JOIN: Cause.REBALANCE_TIMEOUT,
    Deadline.SYNC: Cause.SYNC_TIMEOUT,
}


class Departure(msgspec.Struct, frozen=True):
    """A member that goes, and why."""

    member: ConsumerMember
    cause: Cause
    reason: str = ""
    requested_by: Requester | None = None
    """The client that removes it, if that is not its own."""


def leave(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision | Rejection:
    """A member leaves: for good with epoch -1, a static one for a moment with epoch -2."""
    member = _leaving_member(group, request)
    if isinstance(member, Rejection):
        return member
    assert context.request_id is not None
    response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
    replies = (Reply(context.request_id, response),)
    if request.member_epoch == LEAVE_STATIC_EPOCH:
        return Decision((_left_for_a_moment(group, member, context),), replies)
    return msgspec.structs.replace(remove(group, [Departure(member, Cause.MEMBER_LEFT)], context), replies=replies)


def _leaving_member(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember | Rejection:
    if request.instance_id is None:
        return group.members.get(request.member_id) or unknown_member(group.group_id, request.member_id)
    holder = static_member(group, request.instance_id)
    if holder is None:
        return unknown_instance(request.instance_id)
    return holder if holder.member_id == request.member_id else fenced_instance(holder.member_id)


def _left_for_a_moment(group: ConsumerGroup, member: ConsumerMember, context: OperationContext) -> StaticMemberLeft:
    current = msgspec.structs.replace(
        member.current, epoch=LEAVE_STATIC_EPOCH, assigned=_with_epoch_0(member.current.assigned), pending=NO_PARTITIONS
    )
    return StaticMemberLeft(group_id=group.group_id, at_ms=context.wall_ms, member_id=member.member_id, current=current)


def _with_epoch_0(assigned: EpochsByPartition) -> EpochsByPartition:
    """The member comes back with epoch 0, and may commit then what it could commit before."""
    return {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in assigned.items()}


def remove(group: ConsumerGroup, departures: Sequence[Departure], context: OperationContext) -> Decision:
    """Remove members together: the group epoch rises once. The next heartbeat of another member computes a target.

    To remove a member takes as long as an operation more, and longer if it is the last one to name many topics.
    """
    if not departures:
        return NOTHING
    if is_to_downgrade(
        group, [departure.member for departure in departures], len(group.members) - len(departures), context
    ):
        return _downgrade(group, departures, context)
    gone = [departure.member.metadata for departure in departures]
    after = changed_subscriptions(group, gone, ())
    events: list[Event] = [_removed(group, departure, context) for departure in departures]
    forgotten = dict.fromkeys(
        metadata.pattern for metadata in gone if metadata.pattern and metadata.pattern not in after.by_pattern
    )
    events += (
        PatternForgotten(
            group_id=group.group_id, at_ms=context.wall_ms, pattern=pattern, was_resolved=pattern in group.patterns
        )
        for pattern in forgotten
    )
    version = context.topics.topics_version
    is_same = not forgotten and not after.named.vanished(context.topics)
    is_checked = is_same and group.checked_version == version
    bumped = GroupEpochBumped(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        epoch=group.epoch + 1,
        metadata_hash=group.subscribed_hash if is_checked else after.hash_of_topics(context.topics),
        cause=departures[0].cause,
        member_id=departures[0].member.member_id,
        topics_version=version,
    )
    events.append(bumped)
    ended = tuple(SessionEnded(departure.member.member_id) for departure in departures)
    weight = len(departures) + sum(map(len, after.named.lost)) // NAMES_PER_OPERATION
    return Decision(tuple(events), effects=ended, weight=weight)


def _downgrade(group: ConsumerGroup, departures: Sequence[Departure], context: OperationContext) -> Decision:
    """What is left is a classic group, which rebalances."""
    departed = {departure.member.member_id: departure for departure in departures}
    left = {
        member_id: (member.metadata, group.target(member_id))
        for member_id, member in group.members.items()
        if member_id not in departed
    }
    first = departures[0]
    reason = RebalanceReason(
        first.cause,
        first.member.member_id,
        first.member.client_id,
        first.member.client_host,
        first.member.group_instance_id,
        first.reason,
    )
    removed = tuple(_removed(group, departure, context) for departure in departures)
    event = downgraded(group.group_id, group.epoch, left, reason, context, removed)
    return Decision((event,), effects=(*map(SessionEnded, departed), *sessions_of_classic(left)))


def _removed(group: ConsumerGroup, departure: Departure, context: OperationContext) -> ConsumerMemberRemoved:
    member, sessions = departure.member, context.environment.sessions
    heard_ms, paused_ms, connection = None, None, UNKNOWN
    if departure.cause is Cause.MEMBER_LEFT:
        connection = connection_at_leave(context)
    else:
        connection = connection_at_removal(group.group_id, member, context)
        heard_ms, paused_ms = _silence(group, member, connection, context)
    return ConsumerMemberRemoved(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member.member_id,
        cause=departure.cause,
        reason=departure.reason,
        last_heard_ms=heard_ms,
        coordinator_paused_ms=paused_ms,
        connection=connection,
        requested_by=departure.requested_by,
        session_timeout_ms=sessions.timeout_ms(group.group_id, member.member_id),
    )


def _silence(
    group: ConsumerGroup, member: ConsumerMember, connection: ConnectionAtRemoval, context: OperationContext
) -> tuple[int | None, int | None]:
    """When the member was last heard, and how long the coordinator stood still since then; None: not known."""
    environment = context.environment
    heard_ms = heard_until(last_heard_ms(group.group_id, member, context), connection)
    if heard_ms is None:
        return None, None
    return heard_ms, environment.pauses.within(heard_ms - environment.wall.step_ms, context.now_ms)


def expire_session(group: Group[ConsumerGroup] | None, request: SessionExpired, context: OperationContext) -> Decision:
    """Remove a member that was silent for its session timeout; with another cause, whether it was silent or not."""
    member = None if group is None else group.membership.members.get(request.member_id)
    if group is None or member is None:
        return NOTHING
    # A request of the same batch, or one that was read meanwhile, may have renewed the session.
    is_timeout = request.cause is Cause.SESSION_EXPIRED
    if is_timeout and not context.environment.sessions.is_over(group.group_id, request.member_id, context.now_ms):
        return NOTHING
    return remove(group.membership, [Departure(member, request.cause, request.reason)], context)


def advance(group: ConsumerGroup, context: OperationContext) -> Decision:
    """Remove the members whose time to do something is over."""
    heap = group.deadlines.heap
    if not heap or context.now_ms < heap[0][0]:
        return NOTHING
    causes: dict[str, Cause] = {}
    for member_id, kind in group.deadlines.due(context.now_ms):
        causes.setdefault(member_id, CAUSES[kind])
    departures = [Departure(group.members[member_id], cause) for member_id, cause in causes.items()]
    return remove(group, departures, context)
