"""What can happen to a consumer group. Applying an event is the only way a group changes; see `core/classic/events.py`.

The events of groups that change their protocol are in `conversion_events.py`, those of targets that are computed beside
the requests in `target_events.py`.

Counterpart in Kafka: the records that `GroupMetadataManager.replay` applies to a `ConsumerGroup`.
"""

from collections.abc import Mapping

import msgspec

from coordinator.core.causes import Cause, Requester
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails
from coordinator.core.consumer.deadlines import Deadline
from coordinator.core.consumer.group import ConsumerGroup, FailedWork, ResolvedPattern
from coordinator.core.consumer.member import ConsumerMember, CurrentAssignment, MemberMetadata
from coordinator.core.consumer.topic_partitions import NO_PARTITIONS, EpochsByPartition, TopicPartitions
from coordinator.core.groups.connection_at_removal import UNKNOWN, ConnectionAtRemoval
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group


class ConsumerMemberJoined(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member that the group did not know joins."""

    group_id: str
    at_ms: int
    member_id: str
    metadata: MemberMetadata
    session_timeout_ms: int
    client_details: ClientDetails = UNKNOWN_CLIENT
    client_connection: ClientConnection | None = None
    fills_group: bool = False
    """Whether the group is full with it."""
    rejected_as: str = ""
    """As of `classic.events.MemberJoined`."""

    def apply(self, group: Group[ConsumerGroup]) -> None:
        member = ConsumerMember(
            self.member_id,
            self.metadata,
            session_timeout_ms=self.session_timeout_ms,
            client_details=self.client_details,
            joined_ms=self.at_ms,
            client_connection=self.client_connection,
        )
        group.membership.add_member(member)
        if self.client_connection is not None:
            self.client_connection.carry(self.group_id, self.member_id)
        group.membership.update_state(self.at_ms)


class ConsumerMemberUpdated(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member says something else about itself: its subscription, its timeout, its client."""

    group_id: str
    at_ms: int
    member_id: str
    metadata: MemberMetadata
    before: MemberMetadata

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.update_metadata(consumer.members[self.member_id], self.metadata)
        if self.before.classic is not None and self.metadata.classic is None:
            for awaited in (Deadline.JOIN, Deadline.SYNC):
                consumer.deadlines.remove(self.member_id, awaited)


class ConsumerMemberReplaced(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A static member came back under another member id, or the same one: it has the partitions, but no epoch.

    `metadata` is what the member had, and `returned` what it says now: `ConsumerMemberUpdated` follows if they differ.
    `old_last_heard_ms`: when the client before was last heard, in wall-clock milliseconds.
    """

    group_id: str
    at_ms: int
    old_member_id: str
    member_id: str
    metadata: MemberMetadata
    returned: MemberMetadata
    current: CurrentAssignment
    target: TopicPartitions
    session_timeout_ms: int
    client_details: ClientDetails = UNKNOWN_CLIENT
    client_connection: ClientConnection | None = None
    old_last_heard_ms: int | None = None

    def replacement(self) -> ConsumerMember:
        return ConsumerMember(
            self.member_id,
            self.metadata,
            self.current,
            session_timeout_ms=self.session_timeout_ms,
            client_details=self.client_details,
            joined_ms=self.at_ms,
            client_connection=self.client_connection,
        )

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.remove_member(self.old_member_id)
        if self.member_id in consumer.members:
            consumer.remove_member(self.member_id)
        consumer.add_member(self.replacement())
        if self.client_connection is not None:
            self.client_connection.carry(self.group_id, self.member_id)
        consumer.targets[self.member_id] = self.target
        consumer.update_state(self.at_ms)


class StaticMemberLeft(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A static member left for a moment: it keeps its partitions until its session ends."""

    group_id: str
    at_ms: int
    member_id: str
    current: CurrentAssignment

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.assign(consumer.members[self.member_id], self.current)
        consumer.set_revocation_deadline(self.member_id, None)
        consumer.update_state(self.at_ms)


class ConsumerMemberRemoved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member was removed: it left, or it was silent or too slow.

    `last_heard_ms`, `coordinator_paused_ms` and `connection` are told of a member that did not go by itself, as far as
    they are known; `requested_by` only if another client removed it. `session_timeout_ms` is that of its last request:
    it may have changed since the member joined.
    """

    group_id: str
    at_ms: int
    member_id: str
    cause: Cause
    reason: str = ""
    last_heard_ms: int | None = None
    coordinator_paused_ms: int | None = None
    connection: ConnectionAtRemoval = UNKNOWN
    requested_by: Requester | None = None
    session_timeout_ms: int | None = None

    def apply(self, group: Group[ConsumerGroup]) -> None:
        group.membership.remove_member(self.member_id)
        group.membership.update_state(self.at_ms)


class PatternForgotten(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """No member subscribes to a regular expression any more, whether it `was_resolved` or not."""

    group_id: str
    at_ms: int
    pattern: str
    was_resolved: bool

    def apply(self, group: Group[ConsumerGroup]) -> None:
        group.membership.set_pattern(self.pattern, None)


class PatternResolutionStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The topics that match these regular expressions are to be found; `resolve patterns` brings them.

    `member_id` is the member whose heartbeat asked, and `client_host` and `principal` who sent it: topics that it may
    not describe are left out.
    """

    group_id: str
    at_ms: int
    patterns: tuple[str, ...]
    member_id: str
    client_host: str
    principal: object = None

    def apply(self, group: Group[ConsumerGroup]) -> None:
        group.membership.is_resolving = True


class PatternsResolved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The topics that match the regular expressions of the group, as far as members still subscribe to them.

    `topics_version` is that of the topics; None: they could not be resolved. `appeared` are the topics that a regular
    expression matches which was resolved before and did not match them then: they are new. `raises_epoch`: the group
    epoch rises with them.
    """

    group_id: str
    at_ms: int
    resolved: Mapping[str, ResolvedPattern]
    topics_version: int | None
    appeared: frozenset[str] = frozenset()
    raises_epoch: bool = False

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.is_resolving, consumer.failed_resolution = False, None
        for pattern, resolved in self.resolved.items():
            consumer.set_pattern(pattern, resolved)
        if self.topics_version is not None:
            consumer.resolved_version = self.topics_version


class PatternResolutionFailed(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The regular expressions of the group keep the topics that they had; it is not stored."""

    group_id: str
    at_ms: int
    failed: FailedWork

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.is_resolving, consumer.failed_resolution = False, self.failed


class GroupEpochBumped(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The target assignment has to be computed again. `member_id` is that behind the cause, empty for topics.

    `topics_version` is that of the topics that `metadata_hash` is of.
    """

    group_id: str
    at_ms: int
    epoch: int
    metadata_hash: int
    cause: Cause
    member_id: str
    topics_version: int
    reason: str = ""

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.epoch, consumer.metadata_hash = self.epoch, self.metadata_hash
        consumer.checked_version, consumer.subscribed_hash = self.topics_version, self.metadata_hash
        consumer.update_state(self.at_ms)


class TopicsChecked(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The subscriptions were compared with the topics of the cluster, and the group epoch stays.

    `subscribed_hash` is that of the topics that the group subscribes to by now, and that exist.
    """

    group_id: str
    at_ms: int
    topics_version: int
    subscribed_hash: int

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.checked_version, consumer.subscribed_hash = self.topics_version, self.subscribed_hash


class PartitionMetadataRemoved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """What a Kafka before 4.1 stored of the subscribed topics is removed: the hash has taken its place."""

    group_id: str
    at_ms: int

    def apply(self, group: Group[ConsumerGroup]) -> None:
        group.membership.has_partition_metadata = False


class TargetAssignmentComputed(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The target assignment of the group epoch. `targets` are those that changed; `member_id` asked for it."""

    group_id: str
    at_ms: int
    epoch: int
    assignor: str
    targets: Mapping[str, TopicPartitions]
    member_id: str

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.computing = consumer.failed_target = None
        consumer.targets.update(self.targets)
        consumer.set_target_epoch(self.epoch, self.at_ms)
        consumer.update_state(self.at_ms)


class ConsumerMemberAssigned(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member takes a step towards its target. `revocation_deadline_ms`: when it has to have given up partitions.

    `last_heard_ms`: when it was heard before that, in wall-clock milliseconds; None: it is new, or that is not known.
    `unclaimed`: what it was assigned before, and does not own by its own account.
    """

    group_id: str
    at_ms: int
    member_id: str
    current: CurrentAssignment
    revocation_deadline_ms: int | None
    client_connection: ClientConnection | None = None
    last_heard_ms: int | None = None
    unclaimed: EpochsByPartition = NO_PARTITIONS

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        member = consumer.members[self.member_id]
        consumer.assign(member, self.current)
        if self.client_connection is not None:
            member.client_connection = self.client_connection
            self.client_connection.carry(self.group_id, self.member_id)
        consumer.set_revocation_deadline(self.member_id, self.revocation_deadline_ms)
        consumer.update_state(self.at_ms)


class ClassicMemberAwaited(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member of the classic protocol has to send JoinGroup or SyncGroup (`awaited`) in time."""

    group_id: str
    at_ms: int
    member_id: str
    awaited: Deadline
    deadline_ms: int

    def apply(self, group: Group[ConsumerGroup]) -> None:
        deadlines = group.membership.deadlines
        if self.awaited is Deadline.SYNC:
            deadlines.remove(self.member_id, Deadline.JOIN)
        deadlines.set(self.member_id, self.awaited, self.deadline_ms)


class ClassicMemberSynced(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member of the classic protocol got its assignment."""

    group_id: str
    at_ms: int
    member_id: str

    def apply(self, group: Group[ConsumerGroup]) -> None:
        group.membership.deadlines.remove(self.member_id, Deadline.SYNC)


class RevocationDeadlinesStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The group was loaded: the time of its members to give up partitions begins again (member id → deadline in ms)."""

    group_id: str
    at_ms: int
    deadlines_ms: Mapping[str, int]

    def apply(self, group: Group[ConsumerGroup]) -> None:
        for member_id, at_ms in self.deadlines_ms.items():
            group.membership.set_revocation_deadline(member_id, at_ms)
