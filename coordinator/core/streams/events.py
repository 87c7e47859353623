"""What can happen to a streams group. Applying an event is the only way a group changes; see `core/classic/events.py`.

Counterpart in Kafka: the records that `GroupMetadataManager.replay` applies to a `StreamsGroup`, and what its
heartbeats keep in memory.
"""

from collections.abc import Mapping

import msgspec

from coordinator.core.causes import Cause
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails
from coordinator.core.consumer.deadlines import Deadline
from coordinator.core.groups.connection_at_removal import UNKNOWN, ConnectionAtRemoval
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.streams.configured import ConfiguredTopology, TopologyStatus
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import CurrentTasks, StreamsMember, StreamsMemberMetadata
from coordinator.core.streams.target import StreamsTargetInput
from coordinator.core.streams.tasks import TaskAssignment
from coordinator.core.streams.topology import Topology


class StreamsMemberJoined(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member that the group did not know joins."""

    group_id: str
    at_ms: int
    member_id: str
    metadata: StreamsMemberMetadata
    topology: Topology
    """That of the group, which the first member brings: it is set after this event."""
    session_timeout_ms: int
    client_details: ClientDetails = UNKNOWN_CLIENT
    client_connection: ClientConnection | None = None
    fills_group: bool = False
    """Whether the group is full with it."""

    def apply(self, group: Group[StreamsGroup]) -> None:
        member = StreamsMember(
            self.member_id,
            self.metadata,
            session_timeout_ms=self.session_timeout_ms,
            client_details=self.client_details,
            joined_ms=self.at_ms,
            client_connection=self.client_connection,
        )
        group.membership.add_member(member)
        group.membership.update_state(self.at_ms)


class StreamsMemberUpdated(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member says something else about itself: its process, its endpoint, its client."""

    group_id: str
    at_ms: int
    member_id: str
    metadata: StreamsMemberMetadata
    before: StreamsMemberMetadata

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.update_metadata(group.membership.members[self.member_id], self.metadata)


class StreamsMemberRemoved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member was removed: it left, was silent, or did not give up tasks in time.

    `last_heard_ms`, `coordinator_paused_ms` and `connection` are told of a member that did not go by itself, as far as
    they are known. `session_timeout_ms` is that of its last request.
    """

    group_id: str
    at_ms: int
    member_id: str
    cause: Cause
    reason: str = ""
    last_heard_ms: int | None = None
    coordinator_paused_ms: int | None = None
    connection: ConnectionAtRemoval = UNKNOWN
    session_timeout_ms: int | None = None

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.remove_member(self.member_id)
        group.membership.update_state(self.at_ms)


class StreamsTopologySet(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The first member of the group says what the application runs. It stays until the group is deleted."""

    group_id: str
    at_ms: int
    topology: Topology
    member_id: str

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.topology = self.topology
        group.membership.update_state(self.at_ms)


class StreamsGroupEpochBumped(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The target assignment has to be computed again. `member_id` is that behind the cause, empty for topics."""

    group_id: str
    at_ms: int
    epoch: int
    metadata_hash: int
    validated_topology_epoch: int
    assignment_configs: Mapping[str, str]
    cause: Cause
    member_id: str
    reason: str = ""

    def apply(self, group: Group[StreamsGroup]) -> None:
        streams = group.membership
        streams.epoch, streams.metadata_hash = self.epoch, self.metadata_hash
        streams.validated_topology_epoch = self.validated_topology_epoch
        streams.assignment_configs = self.assignment_configs
        streams.update_state(self.at_ms)


class StreamsTargetComputed(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The target assignment of the group epoch. `targets` are those that changed.

    `member_id` asked for it; empty: the initial delay was over.
    """

    group_id: str
    at_ms: int
    epoch: int
    assignor: str
    targets: Mapping[str, TaskAssignment]
    member_id: str = ""

    def apply(self, group: Group[StreamsGroup]) -> None:
        streams = group.membership
        streams.computing = None
        streams.set_targets(self.targets)
        streams.set_target_epoch(self.epoch, self.at_ms)
        streams.update_state(self.at_ms)


class StreamsMemberAssigned(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member takes a step towards its target. `revocation_deadline_ms`: when it has to have given up tasks."""

    group_id: str
    at_ms: int
    member_id: str
    current: CurrentTasks
    revocation_deadline_ms: int | None = None

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.assign(self.member_id, self.current, self.revocation_deadline_ms)
        group.membership.update_state(self.at_ms)


# What follows is not stored.


class StreamsTargetStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True, eq=False):
    """The target of a group epoch is to be computed from `asked` beside the requests.

    `member_id` is the member whose heartbeat asked, empty after a delay. After a load the next heartbeat asks again.
    """

    group_id: str
    at_ms: int
    epoch: int
    member_id: str
    asked: StreamsTargetInput

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.computing = self


class StreamsTargetEnded(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The computation brought nothing that the group can use: the next heartbeat asks again.

    `reason` tells why it failed; empty: nobody needs the target any more.
    """

    group_id: str
    at_ms: int
    reason: str = ""

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.computing = None


class StreamsTopologyConfigured(msgspec.Struct, GroupEvent, frozen=True, kw_only=True, eq=False):
    """The topology was compared with the topics of the cluster, of this version."""

    group_id: str
    at_ms: int
    configured: ConfiguredTopology
    topics_version: int

    def apply(self, group: Group[StreamsGroup]) -> None:
        streams = group.membership
        if streams.configured is not self.configured:
            streams.shown_endpoints.clear()
        streams.configured, streams.checked_version = self.configured, self.topics_version


class StreamsTopologyReported(msgspec.Struct, GroupEvent, frozen=True, kw_only=True, eq=False):
    """What came of the topology of the first heartbeat: the group keeps nothing of it, the audit tells it."""

    group_id: str
    at_ms: int
    topology_epoch: int
    status: TopologyStatus | None

    def apply(self, group: Group[StreamsGroup]) -> None:
        """Nothing changes."""


class StreamsEndpointsChanged(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """An answer may change which partitions the user endpoints have."""

    group_id: str
    at_ms: int
    endpoint_epoch: int

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.endpoint_epoch = self.endpoint_epoch


class StreamsEndpointsShown(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The partitions of these members' endpoints are shown as they are now, until something of them is stored."""

    group_id: str
    at_ms: int
    member_ids: frozenset[str]

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.shown_endpoints |= self.member_ids


class StreamsShutdownRequested(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member, which may be about to join, asks all others to end: they are told until the group is empty."""

    group_id: str
    at_ms: int
    member_id: str
    client_id: str = ""
    client_host: str = ""

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.shutdown_by = self.member_id


class StreamsAssignmentDelayed(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The first assignment waits for more members (`streams.initial.rebalance.delay.ms`), in the time of deadlines."""

    group_id: str
    at_ms: int
    until_ms: int

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.delayed_until_ms = self.until_ms


class StreamsDelayEnded(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The first assignment waits no longer."""

    group_id: str
    at_ms: int

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.delayed_until_ms = None


class StreamsRevocationsStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """After a load, the time to give up tasks begins again: member id → when it is over, in the time of deadlines."""

    group_id: str
    at_ms: int
    deadlines_ms: Mapping[str, int]

    def apply(self, group: Group[StreamsGroup]) -> None:
        for member_id, deadline_ms in self.deadlines_ms.items():
            group.membership.deadlines.set(member_id, Deadline.REVOCATION, deadline_ms)


class InternalTopicsRequested(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """Internal topics are being created."""

    group_id: str
    at_ms: int
    topics: tuple[str, ...]

    def apply(self, group: Group[StreamsGroup]) -> None:
        group.membership.creating = group.membership.creating.union(self.topics)


class InternalTopicsAnswered(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """What came of internal topics that were to be created: topic → why it was not; the others were.

    Until `failed_until_ms`, in the time of deadlines, members are told why, and none of them is tried again.
    """

    group_id: str
    at_ms: int
    topics: tuple[str, ...]
    failed: Mapping[str, str]
    failed_until_ms: int

    def apply(self, group: Group[StreamsGroup]) -> None:
        streams = group.membership
        streams.creating = streams.creating.difference(self.topics)
        left = {topic: reason for topic, reason in streams.failed_topics.items() if topic not in self.topics}
        streams.failed_topics = {**left, **self.failed}
        if self.failed:
            streams.failed_until_ms = self.failed_until_ms
