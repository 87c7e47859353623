"""StreamsGroupHeartbeat: a member joins with its topology, is alive, tells which tasks it has (KIP-1071).

Counterpart in Kafka: `GroupMetadataManager.streamsGroupHeartbeat`. `leaving.py` has the heartbeats that leave.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.streams_group_heartbeat import (
    Status,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    TaskIds,
)
from coordinator.config.streams_group_keys import GROUP_STREAMS_MAX_SIZE
from coordinator.core.consumer.conversion_events import GroupConverted
from coordinator.core.consumer.heartbeat_requests import Rejection, not_found, of_other_kind
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.event import Event
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.clients_after_load import client_seen
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME, STREAMS_NAME, GroupKind
from coordinator.core.groups.rejections import NamedMember, rejecting
from coordinator.core.groups.states import EMPTY
from coordinator.core.offsets.expiry import ended_sessions
from coordinator.core.sessions import HeartbeatsOpened, SessionRenewed
from coordinator.core.streams.configured import StatusCode, TopologyStatus, UnexpectedTopologyError
from coordinator.core.streams.endpoints import partitions_by_user_endpoint
from coordinator.core.streams.events import (
    InternalTopicsRequested,
    StreamsAssignmentDelayed,
    StreamsEndpointsChanged,
    StreamsEndpointsShown,
    StreamsTopologyReported,
)
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.heartbeat_requests import API, streams_rejection_response
from coordinator.core.streams.internal_topics import InternalTopicsRequest, status_with_reasons, topics_to_create
from coordinator.core.streams.leaving import leave
from coordinator.core.streams.member import LEAVE_EPOCH, NO_EPOCH, CurrentTasks, StreamsMember
from coordinator.core.streams.member_update import StreamsMemberUpdate
from coordinator.core.streams.rejected import Rejected
from coordinator.core.streams.settings import streams_settings
from coordinator.core.streams.tasks import is_subset
from coordinator.core.streams.workers import CREATE_INTERNAL_TOPICS

MEMBERS_PER_OPERATION: Final = 100
"""To look at so many members for an endpoint takes as long as another operation."""
TOPICS_PER_OPERATION: Final = 20
"""So does to tell which partitions of so many topics a member has."""
NEW_GROUP_OPERATIONS: Final = 5
"""To create a group takes as long as so many other operations."""
KEPT_OF_FIRST: Final = (StreamsAssignmentDelayed, StreamsTopologyReported)
"""What is kept in memory of the heartbeat that makes a group; the rest is looked at again by the second one."""


def heartbeat(
    group: Group[StreamsGroup] | None, request: StreamsGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """Answer a heartbeat. One with epoch 0 makes the group."""
    if group is not None:
        if request.member_epoch == LEAVE_EPOCH:
            return _answered(group, request, leave(group.membership, request, context), context)
        return _answered(group, request, _decide(group.membership, request, context), context)
    if request.member_epoch != NO_EPOCH:
        missing = not_found(STREAMS_NAME, request.group_id, request.member_epoch)
        return _answered(None, request, missing, context)
    if not context.environment.may_create_group(context.client_host):
        full = Rejection(ErrorCode.POLICY_VIOLATION, "Clients of this address have created too many groups.")
        return _answered(None, request, full, context)
    created = GroupCreated(
        group_id=request.group_id, at_ms=context.wall_ms, client_host=context.client_host, kind=STREAMS_NAME
    )
    return _create(None, request, (created,), context)


def join_classic(
    kind: GroupKind, group: Group[Any], request: StreamsGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """A StreamsGroupHeartbeat for a group of another kind: an empty classic one becomes a streams group."""
    is_empty = group.kind.name == CLASSIC_NAME and group.membership.state is EMPTY
    if request.member_epoch != NO_EPOCH or not is_empty:
        return _answered(group, request, of_other_kind(STREAMS_NAME, request.group_id), context)
    converted = GroupConverted(group_id=group.group_id, at_ms=context.wall_ms, kind=kind, member_id=request.member_id)
    decision = _create(group, request, (converted,), context)
    if not decision.effects:
        return decision
    return msgspec.structs.replace(decision, effects=(*ended_sessions(group), *decision.effects))


def _create(
    group: Group[Any] | None,
    request: StreamsGroupHeartbeatRequest,
    begins: tuple[Event, ...],
    context: OperationContext,
) -> Decision:
    decided = _decide(StreamsGroup(request.group_id), request, context, is_first=True)
    if isinstance(decided, Rejected):
        return _answered(group, request, decided.rejection, context)
    if isinstance(decided, Rejection):
        return _answered(group, request, decided, context)
    weight = NEW_GROUP_OPERATIONS + decided.weight
    return msgspec.structs.replace(decided, events=(*begins, *decided.events), no_step_follows=False, weight=weight)


def _answered(
    group: Group[Any] | None,
    request: StreamsGroupHeartbeatRequest,
    decided: Decision | Rejection | Rejected,
    context: OperationContext,
) -> Decision:
    """The decision; a rejection is reported in the audit of the group."""
    if isinstance(decided, Decision):
        return decided
    rejected = decided if isinstance(decided, Rejected) else Rejected(decided)
    rejection, unstored = rejected.rejection, rejected.unstored
    decision = replying(context, streams_rejection_response(rejection), *unstored)
    named = NamedMember(request.member_id, None, request.member_epoch)
    return rejecting(group, API, named, rejection.error, decision, context, injected=rejection.injected)


def _decide(
    group: StreamsGroup, request: StreamsGroupHeartbeatRequest, context: OperationContext, *, is_first: bool = False
) -> Decision | Rejection | Rejected:
    """The order of the checks is Kafka's: size, member, epoch, topology."""
    rejection = _check(group, request, context)
    if rejection is not None:
        return rejection
    step = StreamsMemberUpdate(group, context, request)
    current = step.decide()
    if isinstance(current, Rejection):
        return Rejected(current, tuple(step.unstored))
    answer = _Answer(group, step, current, request, context)
    try:
        response = answer.response()
    except UnexpectedTopologyError:
        return Rejected(Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, None), (*step.unstored, *answer.unstored))
    if is_first:
        response.endpoint_information_epoch = 0
    # What is in memory of the topology comes before what is shown with it, and that before what is stored.
    events = (*step.unstored, *answer.shown, *step.events)
    unstored = (*answer.unstored, *answer.begun)
    if is_first:
        events = (*(event for event in step.unstored if isinstance(event, KEPT_OF_FIRST)), *step.events)
        unstored = ()
    if step.is_member and group.members[request.member_id].client_connection is None:
        unstored += client_seen(group.group_id, group.members, request.member_id, context)
    effects = (*step.effects(), *answer.work())
    if not step.events and not response.status:
        # Events, topics and settings close it again. A status may change with the time alone.
        opened = HeartbeatsOpened(
            request.member_id,
            current.epoch,
            response.heartbeat_interval_ms,
            context.client_id,
            context.client_host,
            api_key=StreamsGroupHeartbeatRequest.API_KEY,
            endpoint_epoch=response.endpoint_information_epoch,
        )
        effects = (*effects, opened)
    assert context.request_id is not None
    return Decision(
        (*events, *unstored),
        (Reply(context.request_id, response),),
        effects,
        no_step_follows=not events and not unstored,
        weight=step.weight + answer.weight,
    )


def _check(group: StreamsGroup, request: StreamsGroupHeartbeatRequest, context: OperationContext) -> Rejection | None:
    if request.member_epoch == NO_EPOCH:
        size, limit = len(group.members), context.config[GROUP_STREAMS_MAX_SIZE]
        filled_size = context.environment.filled_size
        is_filled = filled_size is not None and size >= filled_size
        if size >= limit or is_filled:  # as on Kafka also for a member that is in it
            full = "The streams group has reached its maximum capacity."
            return Rejection(ErrorCode.GROUP_MAX_SIZE_REACHED, full, injected=size < limit)
        return None
    member = group.members.get(request.member_id)
    if member is None:
        unknown = f"Member {request.member_id} is not a member of group {group.group_id}."
        return Rejection(ErrorCode.UNKNOWN_MEMBER_ID, unknown)
    if request.member_epoch == member.current.epoch or _missed_the_answer(member, request):
        return None
    fenced = (
        f"The streams group member has another epoch ({member.current.epoch}). The member must abandon all its tasks "
        "and rejoin."
    )
    return Rejection(ErrorCode.FENCED_MEMBER_EPOCH, fenced)


def _missed_the_answer(member: StreamsMember, request: StreamsGroupHeartbeatRequest) -> bool:
    """Whether the member has the epoch before, and nothing but what it was assigned."""
    lists = request.active_tasks, request.standby_tasks, request.warmup_tasks
    current = member.current
    if request.member_epoch != current.previous_epoch or request.member_epoch > current.epoch or None in lists:
        return False
    assigned = current.assigned
    return (
        is_subset(_named(request.active_tasks), assigned.active)
        and is_subset(_named(request.standby_tasks), assigned.standby)
        and is_subset(_named(request.warmup_tasks), assigned.warmup)
    )


def _named(tasks: list[TaskIds] | None) -> Mapping[str, list[int]]:
    """The tasks of a list; unlike `tasks_of` with subtopologies of which no task is named."""
    return {task_ids.subtopology_id: list(task_ids.partitions) for task_ids in tasks or ()}


class _Answer:
    """The response to a heartbeat that was accepted, and what follows from it."""

    def __init__(
        self,
        group: StreamsGroup,
        step: StreamsMemberUpdate,
        current: CurrentTasks,
        request: StreamsGroupHeartbeatRequest,
        context: OperationContext,
    ) -> None:
        self._group, self._step, self._current = group, step, current
        self._request, self._context = request, context
        self.unstored: list[Event] = []
        """What is kept in memory, also if the response fails."""
        self.shown: tuple[Event, ...] = ()
        """What was shown of the members as they were before the request."""
        self.begun: tuple[Event, ...] = ()
        """What the work is about that begins with the response."""
        self._topics: tuple[Any, ...] = ()
        self.weight = 0
        """As how many usual operations it counts to tell the endpoints of all members."""

    def response(self) -> StreamsGroupHeartbeatResponse:
        """Raises UnexpectedTopologyError, where Kafka fails; then `unstored` holds nevertheless."""
        current, request = self._current, self._request
        response = StreamsGroupHeartbeatResponse(
            member_id=request.member_id,
            member_epoch=current.epoch,
            heartbeat_interval_ms=self._step.settings.heartbeat_interval_ms,
            status=[Status(status_code=status.code, status_detail=status.detail) for status in self._statuses()],
        )
        has_tasks = request.member_epoch == NO_EPOCH or current.assigned != self._step.had.assigned
        if has_tasks:
            response.active_tasks = _task_ids(current.assigned.active)
            response.standby_tasks = _task_ids(current.assigned.standby)
            response.warmup_tasks = _task_ids(current.assigned.warmup)
        self._add_endpoints(response, has_tasks)
        return response

    def _statuses(self) -> list[TopologyStatus]:
        step = self._step
        found = []
        if step.metadata.topology_epoch != step.topology.epoch:
            stale = (
                f"The member's topology epoch {step.metadata.topology_epoch} is behind the group's topology epoch "
                f"{step.topology.epoch}."
            )
            found.append(TopologyStatus(StatusCode.STALE_TOPOLOGY, stale))
        if step.delay is not None:
            found.append(TopologyStatus(StatusCode.ASSIGNMENT_DELAYED, step.delay))
        configured = step.configured
        if configured is not None and configured.status is not None:
            status = configured.status
            if status.code is StatusCode.MISSING_INTERNAL_TOPICS:
                status = self._missing_topics(status)
            found.append(status)
        shutdown_by = step.shutdown_by
        if shutdown_by is not None:
            reason = f"Streams group member {shutdown_by} encountered a fatal error and requested a shutdown for the "
            found.append(TopologyStatus(StatusCode.SHUTDOWN_APPLICATION, reason + "entire application."))
        return found

    def _missing_topics(self, status: TopologyStatus) -> TopologyStatus:
        """Have the missing internal topics created, unless the client may not."""
        group, step, context = self._group, self._step, self._context
        creation = context.environment.topic_creation
        if creation is None:
            return status
        assert step.configured is not None
        missing = topics_to_create(group, step.configured, context)
        unauthorized = creation.unauthorized([topic.name for topic in missing], context)
        if missing and not unauthorized:
            self._topics = tuple(missing)
            names = tuple(topic.name for topic in missing)
            self.begun = (InternalTopicsRequested(group_id=group.group_id, at_ms=context.wall_ms, topics=names),)
        return status_with_reasons(group, status, unauthorized, context)

    def _add_endpoints(self, response: StreamsGroupHeartbeatResponse, has_tasks: bool) -> None:
        group, step, request = self._group, self._step, self._request
        epoch, endpoint = group.endpoint_epoch, step.metadata.user_endpoint
        if has_tasks and endpoint is not None:
            epoch += 1
            self.unstored.append(
                StreamsEndpointsChanged(group_id=group.group_id, at_ms=self._context.wall_ms, endpoint_epoch=epoch)
            )
        response.endpoint_information_epoch = epoch
        if epoch == request.endpoint_information_epoch:
            return
        members = {member_id: (member.metadata, member.current.assigned) for member_id, member in group.members.items()}
        # What was shown of a member stays until its records are stored: a new endpoint comes with the next answer.
        if has_tasks or request.member_id not in group.shown_endpoints:
            members[request.member_id] = (step.metadata, self._current.assigned)
        parts = None if step.configured is None else step.configured.subtopologies
        response.partitions_by_user_endpoint = partitions_by_user_endpoint(
            members.values(), parts, self._context.topics
        )
        self.weight = len(members) // MEMBERS_PER_OPERATION
        for by_endpoint in response.partitions_by_user_endpoint:
            self.weight += (
                len(by_endpoint.active_partitions) + len(by_endpoint.standby_partitions)
            ) // TOPICS_PER_OPERATION
        shown = {member_id for member_id, (metadata, _) in members.items() if metadata.user_endpoint is not None}
        if not group.shown_endpoints.issuperset(shown):
            self.shown = (
                StreamsEndpointsShown(
                    group_id=group.group_id, at_ms=self._context.wall_ms, member_ids=frozenset(shown)
                ),
            )

    def work(self) -> tuple[StartWork, ...]:
        """The topics that are to be created."""
        if not self._topics:
            return ()
        request = InternalTopicsRequest(self._topics)
        return (StartWork(CREATE_INTERNAL_TOPICS, request, self._context.client_host),)


def _task_ids(tasks: Mapping[str, Any]) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=sorted(numbers)) for subtopology_id, numbers in tasks.items()
    ]


def reject_too_large(
    group: Group[StreamsGroup] | None, request: StreamsGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """The records of what the request changes do not fit into the log. As on Kafka the member's session goes on."""
    error = Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, "The records of the request are larger than message.max.bytes.")
    decision = replying(context, streams_rejection_response(error))
    if group is None or request.member_id not in group.membership.members:
        return decision
    timeout_ms = streams_settings(context.environment, group.group_id).session_timeout_ms
    return msgspec.structs.replace(decision, effects=(SessionRenewed(request.member_id, timeout_ms),))
