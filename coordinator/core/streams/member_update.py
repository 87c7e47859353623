"""The steps of a heartbeat: what the member says, the topology, the group epoch, the target, its tasks.

Counterpart in Kafka: `GroupMetadataManager.streamsGroupHeartbeat`.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.config.streams_group_keys import GROUP_STREAMS_MAX_SIZE
from coordinator.core.causes import Cause
from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.consumer.metadata_hash import metadata_hash
from coordinator.core.consumer.target import is_due
from coordinator.core.decision import Effect, OperationContext, Topics
from coordinator.core.event import Event
from coordinator.core.groups.background_work import StartWork
from coordinator.core.sessions import SessionRenewed, SessionStarted
from coordinator.core.streams.configured import (
    ConfiguredTopology,
    InvalidTopologyError,
    UnexpectedTopologyError,
    configure,
)
from coordinator.core.streams.events import (
    StreamsAssignmentDelayed,
    StreamsGroupEpochBumped,
    StreamsMemberAssigned,
    StreamsMemberJoined,
    StreamsMemberUpdated,
    StreamsTargetStarted,
    StreamsTopologyConfigured,
    StreamsTopologyReported,
    StreamsTopologySet,
)
from coordinator.core.streams.group import NOT_VALIDATED, StreamsGroup
from coordinator.core.streams.large_targets import computation, computed_or_started
from coordinator.core.streams.member import NO_EPOCH, UNASSIGNED, CurrentTasks, StreamsMemberMetadata, TasksState
from coordinator.core.streams.reconciliation import OwnedTasks, Reconciliation, reconcile
from coordinator.core.streams.rejected import shutdown_requested
from coordinator.core.streams.settings import streams_settings
from coordinator.core.streams.target import StreamsTargetInput, sources_of
from coordinator.core.streams.tasks import TaskAssignment, tasks_of
from coordinator.core.streams.topology import EMPTY_TOPOLOGY, Topology, topology_of

NO_METADATA: Final = StreamsMemberMetadata("", "")
STANDBY_CONFIG: Final = "num.standby.replicas"
INITIAL_DELAY: Final = "Assignment delayed due to the configured initial rebalance delay."
ASSIGNMENT_INTERVAL: Final = "Assignment delayed due to the configured assignment interval."
OPERATIONS_PER_EVENT: Final = 2
"""To store an event, apply it and report it takes as long as so many operations."""
SUBTOPOLOGIES_PER_OPERATION: Final = 20
"""To compare so many subtopologies takes as long as an operation."""


class StreamsMemberUpdate:
    """What one heartbeat says of its member, from there to the next assignment of the member.

    It collects events and changes nothing. What is kept in memory alone is in `unstored`: it holds even if the request
    is rejected, but not for the heartbeat that makes the group.
    """

    def __init__(self, group: StreamsGroup, context: OperationContext, request: Any) -> None:
        self._group, self._context, self._request = group, context, request
        self._topics: Topics = context.environment.topics
        self.settings = streams_settings(context.environment, group.group_id)
        self._member_id: str = request.member_id
        member = group.members.get(self._member_id)
        self.is_member = member is not None
        self._before = NO_METADATA if member is None else member.metadata
        self.had = UNASSIGNED if member is None else member.current
        self.owned = _owned(request)
        self.events: list[Event] = []
        self.unstored: list[Event] = []
        self.topology = group.topology or EMPTY_TOPOLOGY
        self.metadata = self._before
        self.configured: ConfiguredTopology | None = group.configured
        self.group_epoch = group.epoch
        self.delay: str | None = None
        """Why the target is older than the group epoch, and is not computed yet; None: it is not."""
        self._target_epoch = group.target_epoch
        self._target: TaskAssignment = group.target(self._member_id)
        self._work: tuple[StartWork, ...] = ()

    def decide(self) -> CurrentTasks | Rejection:
        """The next assignment of the member."""
        rejection = self._check_topology()
        if rejection is not None:
            return rejection
        self._update_member()
        rejection = self._configure() or self._check_owned()
        if rejection is not None:
            return rejection
        self._set_topology()
        self._request_shutdown()
        self._update_epoch()
        self._begin_delay()
        self._update_target()
        return self._reconcile()

    @property
    def weight(self) -> int:
        """As how many usual operations the request counts beside the one that it is."""
        sent = self._request.topology
        compared = 0 if sent is None else len(sent.subtopologies) // SUBTOPOLOGIES_PER_OPERATION
        return len(self.events) * OPERATIONS_PER_EVENT + compared

    def effects(self) -> tuple[Effect, ...]:
        """The session that begins or goes on, and the work that is to be done beside the requests."""
        timeout_ms = self.settings.session_timeout_ms
        if self.is_member:
            return (SessionRenewed(self._member_id, timeout_ms), *self._work)
        return (SessionStarted(self._member_id, None, timeout_ms, timeout_ms), *self._work)

    # ---- what the member says

    def _check_topology(self) -> Rejection | None:
        """The topology of the group is that of its first member; that of a member that joins has to be the same."""
        group, request = self._group, self._request
        topology_epoch, tags = self._before.topology_epoch, request.client_tags
        if tags is not None and len({tag.key for tag in tags}) < len(tags):
            return Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, None)  # as on Kafka
        if request.topology is not None:
            sent = topology_of(request.topology)
            topology_epoch = sent.epoch
            rejection = self._accept_topology(sent) if group.topology is None else _other_topology(group.topology, sent)
            if rejection is not None:
                return rejection
        self.metadata = _updated(self._before, request, topology_epoch, self._context)
        return None

    def _accept_topology(self, sent: Topology) -> Rejection | None:
        if sent.epoch < 0 or len({part.subtopology_id for part in sent.subtopologies}) < len(sent.subtopologies):
            return Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, None)
        self.topology = sent
        return None

    def _update_member(self) -> None:
        group, context = self._group, self._context
        group_id, at_ms = group.group_id, context.wall_ms
        if not self.is_member:
            joined = StreamsMemberJoined(
                group_id=group_id,
                at_ms=at_ms,
                member_id=self._member_id,
                metadata=self.metadata,
                topology=self.topology,
                session_timeout_ms=self.settings.session_timeout_ms,
                client_details=context.client_details,
                client_connection=context.client_connection,
                fills_group=len(group.members) + 1 >= context.config[GROUP_STREAMS_MAX_SIZE],
            )
            self.events.append(joined)
        elif self.metadata != self._before:
            updated = StreamsMemberUpdated(
                group_id=group_id, at_ms=at_ms, member_id=self._member_id, metadata=self.metadata, before=self._before
            )
            self.events.append(updated)

    def _request_shutdown(self) -> None:
        self.unstored += shutdown_requested(self._group, self._request, self._context)

    @property
    def shutdown_by(self) -> str | None:
        """The member that asked first to shut the application down."""
        if self._group.shutdown_by is not None:
            return self._group.shutdown_by
        return self._member_id if self._request.shutdown_application else None

    # ---- the topology and the topics of the cluster

    def _configure(self) -> Rejection | None:
        group, version = self._group, self._topics.topics_version
        if self.configured is not None and group.checked_version == version:
            return None
        found_hash = hash_of_topics(self.topology, self._topics)
        if self.configured is None or self.configured.metadata_hash != found_hash:
            try:
                self.configured = configure(self.topology, found_hash, self._topics)
            except InvalidTopologyError as invalid:
                return Rejection(ErrorCode.STREAMS_INVALID_TOPOLOGY, str(invalid))
            except UnexpectedTopologyError:
                return Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, None)
        self.unstored.append(
            StreamsTopologyConfigured(
                group_id=group.group_id,
                at_ms=self._context.wall_ms,
                configured=self.configured,
                topics_version=version,
            )
        )
        return None

    def _set_topology(self) -> None:
        """The first member brings the topology of the group."""
        group, configured = self._group, self.configured
        if group.topology is None and configured is not None:
            group_id, at_ms = group.group_id, self._context.wall_ms
            self.events.append(
                StreamsTopologySet(group_id=group_id, at_ms=at_ms, topology=self.topology, member_id=self._member_id)
            )
            self.unstored.append(
                StreamsTopologyReported(
                    group_id=group_id, at_ms=at_ms, topology_epoch=self.topology.epoch, status=configured.status
                )
            )

    def _check_owned(self) -> Rejection | None:
        """Tasks that a topology which is ready does not have cannot be owned."""
        configured = self.configured
        if self.owned is None or configured is None or not configured.is_ready or configured.subtopologies is None:
            return None
        for tasks in (self.owned.active, self.owned.standby, self.owned.warmup):
            for subtopology_id, numbers in tasks.items():
                part = configured.subtopologies.get(subtopology_id)
                if part is None:
                    return Rejection(
                        ErrorCode.INVALID_REQUEST, f"Subtopology {subtopology_id} does not exist in the topology."
                    )
                if numbers[0] < 0 or numbers[-1] >= part.tasks:
                    wrong = numbers[0] if numbers[0] < 0 else numbers[-1]
                    return Rejection(
                        ErrorCode.INVALID_REQUEST,
                        f"Task {wrong} for subtopology {subtopology_id} is invalid. "
                        f"Number of tasks for this subtopology: {part.tasks}",
                    )
        return None

    # ---- epochs

    def _update_epoch(self) -> None:
        """Raise the group epoch, once, if the member, the topics or the number of standby tasks have changed."""
        group, configured = self._group, self.configured
        assert configured is not None
        validated = self.topology.epoch if configured.is_ready else NOT_VALIDATED
        configs = {STANDBY_CONFIG: str(self.settings.standby_replicas)}
        cause, reason, member_id = self._cause(configured, validated, configs)
        if cause is None:
            return
        self.group_epoch += 1
        bumped = StreamsGroupEpochBumped(
            group_id=group.group_id,
            at_ms=self._context.wall_ms,
            epoch=self.group_epoch,
            metadata_hash=configured.metadata_hash,
            validated_topology_epoch=validated,
            assignment_configs=configs,
            cause=cause,
            member_id=member_id,
            reason=reason,
        )
        self.events.append(bumped)

    def _cause(
        self, configured: ConfiguredTopology, validated: int, configs: Mapping[str, str]
    ) -> tuple[Cause | None, str, str]:
        """Why the group epoch rises, in words where the cause alone does not say it, and the member behind it."""
        group = self._group
        if not self.is_member:
            return Cause.NEW_MEMBER, "", self._member_id
        if self.metadata != self._before:
            return Cause.METADATA_CHANGED, "", self._member_id
        if configured.metadata_hash != group.metadata_hash or validated != group.validated_topology_epoch:
            return Cause.TOPICS_CHANGED, "", ""
        if dict(group.assignment_configs) != configs:
            return Cause.STANDBY_REPLICAS_CHANGED, f"{STANDBY_CONFIG} is {configs[STANDBY_CONFIG]}", ""
        return None, "", ""

    def _begin_delay(self) -> None:
        group, delay_ms = self._group, self.settings.initial_rebalance_delay_ms
        joins = self._request.member_epoch == NO_EPOCH
        if group.delayed_until_ms is not None:
            self.delay = INITIAL_DELAY
        if not joins or delay_ms <= 0 or group.members or group.delayed_until_ms is not None:
            return
        self.delay = INITIAL_DELAY
        delayed = StreamsAssignmentDelayed(
            group_id=group.group_id, at_ms=self._context.wall_ms, until_ms=self._context.now_ms + delay_ms
        )
        self.unstored.append(delayed)

    # ---- target and assignment

    def _update_target(self) -> None:
        """Compute the target of the group epoch, unless the group waits for members or the last one is too recent."""
        group, context = self._group, self._context
        if group.target_epoch >= self.group_epoch:
            self.delay = None
            return
        interval_ms = self.settings.assignment_interval_ms
        is_recent = not is_due(group.target_computed_ms, interval_ms, context.wall_ms)
        if self.delay is None and (is_recent or group.computing is not None):
            self.delay = ASSIGNMENT_INTERVAL
        if self.delay is not None:
            return
        processes = {member_id: member.metadata.process_id for member_id, member in group.members.items()}
        processes[self._member_id] = self.metadata.process_id
        assert self.configured is not None
        asked = StreamsTargetInput(
            processes, group.targets, sources_of(self.configured, self.topology), self.settings.standby_replicas
        )
        event = computed_or_started(group, asked, self.group_epoch, self._member_id, context)
        self.events.append(event)
        if isinstance(event, StreamsTargetStarted):
            self.delay = ASSIGNMENT_INTERVAL
            self._work = (computation(event, context),)
            return
        self._target_epoch = self.group_epoch
        self._target = event.targets.get(self._member_id, self._target)

    def _reconcile(self) -> CurrentTasks | Rejection:
        """The next step of the member towards its target."""
        group, had, context = self._group, self.had, self._context
        asked = Reconciliation(self._target_epoch, self._target, group.owners, self.metadata.process_id, self.owned)
        current = reconcile(had, asked)
        if current is None:
            fenced = "The state of the member is unknown. The member must abandon all its tasks and rejoin."
            return Rejection(ErrorCode.FENCED_MEMBER_EPOCH, fenced)
        if current != had:
            deadline_ms = None
            if current.state is TasksState.UNREVOKED_TASKS:
                deadline_ms = context.now_ms + max(self.metadata.rebalance_timeout_ms, 0)
            assigned = StreamsMemberAssigned(
                group_id=group.group_id,
                at_ms=context.wall_ms,
                member_id=self._member_id,
                current=current,
                revocation_deadline_ms=deadline_ms,
            )
            self.events.append(assigned)
        return current


def hash_of_topics(topology: Topology, topics: Topics) -> int:
    """The hash of the topics of a topology that exist; 0 if there are none."""
    existing = topics.existing(topology.required_topics())
    return metadata_hash((name, topics.topic_id(name), topics.partition_count(name)) for name in existing)


def _owned(request: Any) -> OwnedTasks | None:
    if request.active_tasks is None or request.standby_tasks is None or request.warmup_tasks is None:
        return None
    return OwnedTasks(tasks_of(request.active_tasks), tasks_of(request.standby_tasks), tasks_of(request.warmup_tasks))


def _other_topology(topology: Topology, sent: Topology) -> Rejection | None:
    """An earlier version is let in, and told so; a later one, or another content, is not."""
    if sent.epoch > topology.epoch or (sent.epoch == topology.epoch and not sent.is_same_as(topology)):
        return Rejection(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
    return None


def _updated(
    before: StreamsMemberMetadata, request: Any, topology_epoch: int, context: OperationContext
) -> StreamsMemberMetadata:
    """What the request says of the member; null is unchanged."""
    endpoint, tags = request.user_endpoint, request.client_tags
    timeout_ms = request.rebalance_timeout_ms
    changes = {
        "client_id": context.client_id,
        "client_host": context.client_host,
        "rack_id": before.rack_id if request.rack_id is None else request.rack_id,
        "rebalance_timeout_ms": before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        "topology_epoch": topology_epoch,
        "process_id": before.process_id if request.process_id is None else request.process_id,
        "user_endpoint": before.user_endpoint if endpoint is None else (endpoint.host, endpoint.port),
        "client_tags": before.client_tags if tags is None else tuple(sorted((tag.key, tag.value) for tag in tags)),
    }
    return msgspec.structs.replace(before, **changes)
