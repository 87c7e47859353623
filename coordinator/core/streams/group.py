"""The members, topology, epochs, target and tasks of a streams group. Only events (`events.py`) change them.

Counterpart in Kafka: `StreamsGroup`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from coordinator.core.attributes import attribute
from coordinator.core.consumer.deadlines import Deadline, Deadlines
from coordinator.core.groups.membership import TopicName
from coordinator.core.groups.states import (
    ASSIGNING,
    DEAD,
    EMPTY,
    NOT_READY,
    RECONCILING,
    STABLE,
    GroupState,
)
from coordinator.core.streams.configured import ConfiguredTopology
from coordinator.core.streams.member import CurrentTasks, StreamsMember, StreamsMemberMetadata, TasksState
from coordinator.core.streams.task_owners import TaskOwners
from coordinator.core.streams.tasks import NO_ASSIGNMENT, TaskAssignment
from coordinator.core.streams.topology import Topology

PROTOCOL_TYPE: Final = "streams"
FIRST_EPOCH: Final = 1
"""Group epoch and target epoch of a new group. So the first member gets epoch 2."""
NEVER: Final = 0
"""The time of a target assignment that was never computed."""
NOT_VALIDATED: Final = -1
"""`validated_topology_epoch` of a topology that is not ready."""
UNCHECKED: Final = -1
"""Less than any version of the topics."""
NO_STATIC_MEMBERS: Final[Mapping[str, str]] = {}


@dataclass(slots=True)
class StreamsGroup:
    """A streams group, from Empty on."""

    group_id: str
    state: GroupState = EMPTY
    state_since_ms: int | None = None
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    """Of the topics of the topology that exist; 0: none."""
    validated_topology_epoch: int = NOT_VALIDATED
    """That of the topology, when it is ready."""
    assignment_configs: Mapping[str, str] = field(default_factory=dict)
    """`num.standby.replicas`, as the group epoch was last raised with it."""
    topology: Topology | None = None
    target_epoch: int = FIRST_EPOCH
    """The group epoch that the target assignment was computed for."""
    target_computed_ms: int = NEVER
    """When, in wall-clock milliseconds."""
    members: dict[str, StreamsMember] = field(default_factory=dict)
    targets: dict[str, TaskAssignment] = field(default_factory=dict)
    """Member id → target assignment. A member that has joined since has none."""
    owners: TaskOwners = field(default_factory=TaskOwners)
    deadlines: Deadlines = field(default_factory=Deadlines, compare=False)
    """When members have to have given up tasks."""
    reconciled_count: int = 0
    """How many members have all that they are to have."""

    # What follows is in memory alone: a load forgets it.

    configured: ConfiguredTopology | None = field(default=None, compare=False, repr=False)
    """The topology with the topics of the cluster; None: no heartbeat has looked yet."""
    checked_version: int = field(default=UNCHECKED, compare=False)
    """The version of the topics that `metadata_hash` was last compared with."""
    endpoint_epoch: int = field(default=0, compare=False)
    """It rises with each answer that may change which partitions the user endpoints have."""
    shown_endpoints: set[str] = field(default_factory=set, compare=False)
    """Members whose endpoint is shown with what was stored of them last."""
    shutdown_by: str | None = field(default=None, compare=False)
    """The member that asked first to shut the application down; None: nobody has."""
    delayed_until_ms: int | None = field(default=None, compare=False)
    """Until when the first assignment waits for more members, in the time of deadlines; None: it does not."""
    failed_topics: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Internal topic → why it could not be created."""
    failed_until_ms: int = field(default=0, compare=False)
    """Until when it is told why, and not tried again, in the time of deadlines."""
    creating: frozenset[str] = field(default_factory=frozenset, compare=False)
    """Internal topics that are being created."""

    computing: object | None = field(default=None, compare=False)
    """What started the computation of a target that is under way beside the requests; None: there is none."""

    generation_id = attribute("epoch")
    """The same as `epoch`."""

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def protocol_name(self) -> str | None:
        """No member asks for an assignor."""
        return None

    @property
    def leader(self) -> None:
        return None

    @property
    def static_members(self) -> Mapping[str, str]:
        return NO_STATIC_MEMBERS

    def shared_protocols(self, searched_max: int) -> list[str]:
        return []

    def assigned_partitions(self, member_id: str, topic_name: TopicName) -> dict[str, list[int]]:
        """Topic → partitions that the active tasks of a member read."""
        found: dict[str, set[int]] = {}
        parts = {} if self.topology is None else {part.subtopology_id: part for part in self.topology.subtopologies}
        for subtopology_id, tasks in self.members[member_id].current.assigned.active.items():
            part = parts.get(subtopology_id)
            if part is not None:
                for topic in part.topics_read():
                    found.setdefault(topic, set()).update(tasks)
        return {topic: sorted(found[topic]) for topic in sorted(found)}

    def target(self, member_id: str) -> TaskAssignment:
        return self.targets.get(member_id, NO_ASSIGNMENT)

    @property
    def is_ready(self) -> bool:
        """Whether the topology can run, as far as the records know."""
        return self.topology is not None and self.validated_topology_epoch == self.topology.epoch

    # Events change the group by these.

    def mark_created(self, at_ms: int) -> None:
        self.state_since_ms = at_ms

    def mark_removed(self, at_ms: int) -> None:
        self.state, self.state_since_ms = DEAD, at_ms

    def update_state(self, at_ms: int | None) -> None:
        """Set the state that follows from the rest; `at_ms` is in wall-clock milliseconds."""
        state = self._next_state()
        if state is not self.state:
            self.state, self.state_since_ms = state, at_ms
            if state is EMPTY:
                self.shutdown_by = None

    def _next_state(self) -> GroupState:
        if not self.members:
            return EMPTY
        if not self.is_ready:
            return NOT_READY
        if self.epoch > self.target_epoch:
            return ASSIGNING
        return STABLE if self.reconciled_count == len(self.members) else RECONCILING

    def add_member(self, member: StreamsMember) -> None:
        self.members[member.member_id] = member
        self.reconciled_count += member.is_reconciled_to(self.target_epoch)
        self.owners.own(member)

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self.reconciled_count -= member.is_reconciled_to(self.target_epoch)
        self.owners.disown(member)
        self.targets.pop(member_id, None)
        self.deadlines.remove_all(member_id)
        self.shown_endpoints.discard(member_id)

    def update_metadata(self, member: StreamsMember, metadata: StreamsMemberMetadata) -> None:
        if metadata.process_id == member.metadata.process_id:
            member.metadata = metadata
        else:
            self.owners.disown(member)
            member.metadata = metadata
            self.owners.own(member)
        self.shown_endpoints.discard(member.member_id)

    def assign(self, member_id: str, current: CurrentTasks, revocation_deadline_ms: int | None = None) -> None:
        """`revocation_deadline_ms` is when a member in state UNREVOKED_TASKS is removed; None: it has no timer."""
        member = self.members[member_id]
        self.reconciled_count -= member.is_reconciled_to(self.target_epoch)
        self.owners.disown(member)
        member.current = current
        self.shown_endpoints.discard(member_id)
        self.owners.own(member)
        self.reconciled_count += member.is_reconciled_to(self.target_epoch)
        if current.state is TasksState.UNREVOKED_TASKS and revocation_deadline_ms is not None:
            self.deadlines.set(member_id, Deadline.REVOCATION, revocation_deadline_ms)
        else:
            self.deadlines.remove(member_id, Deadline.REVOCATION)

    def set_targets(self, targets: Mapping[str, TaskAssignment]) -> None:
        self.targets.update(targets)

    def set_target_epoch(self, epoch: int, computed_ms: int) -> None:
        self.target_epoch, self.target_computed_ms = epoch, computed_ms
        self.reconciled_count = sum(member.is_reconciled_to(epoch) for member in self.members.values())

    @property
    def next_deadline_ms(self) -> int | None:
        """When the group has to advance without a request."""
        revocation_ms = self.deadlines.next_ms
        if self.delayed_until_ms is None:
            return revocation_ms
        return self.delayed_until_ms if revocation_ms is None else min(revocation_ms, self.delayed_until_ms)
