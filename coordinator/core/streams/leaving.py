"""Members of streams groups go: they leave, their sessions end, or they do not give up tasks in time.

Counterpart in Kafka: `streamsGroupLeave`, `streamsGroupFenceMember`.
"""

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from coordinator.core.causes import Cause
from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.event import Event
from coordinator.core.groups.connection_at_removal import (
    UNKNOWN,
    connection_at_leave,
    connection_at_removal,
    heard_until,
)
from coordinator.core.groups.group import Group
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.sessions import SessionEnded
from coordinator.core.streams.events import (
    StreamsDelayEnded,
    StreamsGroupEpochBumped,
    StreamsMemberRemoved,
    StreamsTargetStarted,
)
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.large_targets import computation, computed_or_started
from coordinator.core.streams.member import LEAVE_EPOCH, StreamsMember
from coordinator.core.streams.rejected import Rejected, shutdown_requested
from coordinator.core.streams.settings import streams_settings
from coordinator.core.streams.target import StreamsTargetInput, sources_of


def leave(group: StreamsGroup, request: StreamsGroupHeartbeatRequest, context: OperationContext) -> Decision | Rejected:
    """A member leaves with epoch -1. It may ask the others to end, as on Kafka also after it was removed."""
    member = group.members.get(request.member_id)
    if member is None:
        unknown = f"Member {request.member_id} is not a member of group {group.group_id}."
        return Rejected(Rejection(ErrorCode.UNKNOWN_MEMBER_ID, unknown), shutdown_requested(group, request, context))
    assert context.request_id is not None
    response = StreamsGroupHeartbeatResponse(member_id=request.member_id, member_epoch=LEAVE_EPOCH, status=[])
    decision = remove(group, [(member, Cause.MEMBER_LEFT)], "", context)
    events = (*shutdown_requested(group, request, context), *decision.events)
    return msgspec.structs.replace(decision, events=events, replies=(Reply(context.request_id, response),))


def remove(
    group: StreamsGroup, departures: list[tuple[StreamsMember, Cause]], reason: str, context: OperationContext
) -> Decision:
    """Remove members: the group epoch rises with each. The next heartbeat of another member computes a target."""
    events: list[Event] = []
    for number, (member, cause) in enumerate(departures, 1):
        events.append(_removed(group, member, cause, reason, context))
        bumped = StreamsGroupEpochBumped(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            epoch=group.epoch + number,
            metadata_hash=group.metadata_hash,
            validated_topology_epoch=group.validated_topology_epoch,
            assignment_configs=group.assignment_configs,
            cause=cause,
            member_id=member.member_id,
        )
        events.append(bumped)
    effects = tuple(SessionEnded(member.member_id) for member, _ in departures)
    return Decision(tuple(events), effects=effects)


def _removed(
    group: StreamsGroup, member: StreamsMember, cause: Cause, reason: str, context: OperationContext
) -> StreamsMemberRemoved:
    environment = context.environment
    heard_ms, paused_ms, connection = None, None, UNKNOWN
    if cause is Cause.MEMBER_LEFT:
        connection = connection_at_leave(context)
    else:
        connection = connection_at_removal(group.group_id, member, context)
        heard_ms = heard_until(_last_heard_ms(group.group_id, member, context), connection)
        if heard_ms is not None:
            paused_ms = environment.pauses.within(heard_ms - environment.wall.step_ms, context.now_ms)
    return StreamsMemberRemoved(
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


def _last_heard_ms(group_id: str, member: StreamsMember, context: OperationContext) -> int | None:
    """When the member last sent a heartbeat, in wall-clock ms; None: not since its group was loaded."""
    environment = context.environment
    renewed_ms = environment.sessions.last_renewed_ms(group_id, member.member_id)
    heard_ms = None if renewed_ms is None else environment.wall.at(renewed_ms)
    return max(filter(None, (heard_ms, member.joined_ms)), default=None)


def expire_session(group: Group[StreamsGroup] | None, request: SessionExpired, context: OperationContext) -> Decision:
    """Remove a member that was silent for its session timeout; with another cause, whether it was silent or not."""
    member = None if group is None else group.membership.members.get(request.member_id)
    if group is None or member is None:
        return NOTHING
    # A request of the same batch, or one that was read meanwhile, may have renewed the session.
    is_timeout = request.cause is Cause.SESSION_EXPIRED
    if is_timeout and not context.environment.sessions.is_over(group.group_id, request.member_id, context.now_ms):
        return NOTHING
    return remove(group.membership, [(member, request.cause)], request.reason, context)


def advance(group: StreamsGroup, context: OperationContext) -> Decision:
    """Remove the members whose time to give up tasks is over; compute the target when the initial delay is over."""
    if group.delayed_until_ms is not None and context.now_ms >= group.delayed_until_ms:
        return _end_delay(group, context)
    heap = group.deadlines.heap
    if not heap or context.now_ms < heap[0][0]:
        return NOTHING
    due = group.deadlines.due(context.now_ms)
    departures = [(group.members[member_id], Cause.REBALANCE_TIMEOUT) for member_id, _ in due]
    return remove(group, departures, "", context)


def _end_delay(group: StreamsGroup, context: OperationContext) -> Decision:
    """The target is computed without a request, if it is known from what; else the next heartbeat computes it."""
    ended = StreamsDelayEnded(group_id=group.group_id, at_ms=context.wall_ms)
    is_due = group.epoch > group.target_epoch and group.computing is None
    if not group.members or group.configured is None or group.topology is None or not is_due:
        return Decision((ended,))
    settings = streams_settings(context.environment, group.group_id)
    asked = StreamsTargetInput(
        {member_id: member.metadata.process_id for member_id, member in group.members.items()},
        group.targets,
        sources_of(group.configured, group.topology),
        settings.standby_replicas,
    )
    event = computed_or_started(group, asked, group.epoch, "", context)
    effects = (computation(event, context),) if isinstance(event, StreamsTargetStarted) else ()
    return Decision((ended, event), effects=effects)
