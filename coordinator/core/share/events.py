"""What can happen to a share group. Applying an event is the only way a group changes; see `core/classic/events.py`.

Counterpart in Kafka: the records that `GroupMetadataManager.replay` applies to a `ShareGroup`.
"""

from collections.abc import Mapping

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.groups.connection_at_removal import UNKNOWN, ConnectionAtRemoval
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import ShareAssignment, ShareMember, ShareMemberMetadata
from coordinator.core.share.state_topics import StatePartitions, StateTopics
from coordinator.core.share.target import ShareTargetInput
from coordinator.core.share_records import RecordsReport


class ShareMemberJoined(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member that the group did not know joins."""

    group_id: str
    at_ms: int
    member_id: str
    metadata: ShareMemberMetadata
    session_timeout_ms: int
    client_details: ClientDetails = UNKNOWN_CLIENT
    client_connection: ClientConnection | None = None
    fills_group: bool = False
    """Whether the group is full with it."""

    def apply(self, group: Group[ShareGroup]) -> None:
        member = ShareMember(
            self.member_id,
            self.metadata,
            session_timeout_ms=self.session_timeout_ms,
            client_details=self.client_details,
            joined_ms=self.at_ms,
            client_connection=self.client_connection,
        )
        group.membership.add_member(member)
        group.membership.update_state(self.at_ms)


class ShareMemberUpdated(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member says something else about itself: its subscription, its rack, its client."""

    group_id: str
    at_ms: int
    member_id: str
    metadata: ShareMemberMetadata
    before: ShareMemberMetadata

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.update_metadata(group.membership.members[self.member_id], self.metadata)


class ShareMemberRemoved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member was removed: it left, or it was silent. The records that it holds stay with its share sessions.

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

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.remove_member(self.member_id)
        group.membership.update_state(self.at_ms)


class ShareGroupEpochBumped(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
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

    def apply(self, group: Group[ShareGroup]) -> None:
        share = group.membership
        share.epoch, share.metadata_hash, share.checked_version = self.epoch, self.metadata_hash, self.topics_version


class ShareTopicsChecked(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The subscriptions were compared with the topics of the cluster, and the hash is the same; it is not stored."""

    group_id: str
    at_ms: int
    topics_version: int

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.checked_version = self.topics_version


class ShareTargetComputed(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The target assignment of the group epoch. `targets` are those that changed; `member_id` asked for it."""

    group_id: str
    at_ms: int
    epoch: int
    assignor: str
    targets: Mapping[str, TopicPartitions]
    member_id: str

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.computing = None
        group.membership.set_targets(self.targets)
        group.membership.set_target_epoch(self.epoch, self.at_ms)


class ShareMemberAssigned(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member gets to its target, or gives up topics that it no longer subscribes to."""

    group_id: str
    at_ms: int
    member_id: str
    current: ShareAssignment

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.assign(self.member_id, self.current)


class SharePartitionsInitializing(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The states of these partitions are to be initialized; `partitions initialized` tells what came of it.

    `states` are all of the group after the event. `state_epoch` is that of the states, the group epoch. `since_ms` is
    in the time of deadlines. `is_repeated`: nobody answered the last time; `states` are as before, not stored again.
    """

    group_id: str
    at_ms: int
    states: StatePartitions
    topics: StateTopics
    state_epoch: int
    since_ms: int
    is_repeated: bool = False

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.set_states(self.states)
        group.membership.initializing_since_ms.update(dict.fromkeys(self.topics, self.since_ms))


class SharePartitionsInitialized(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The states of these partitions were initialized: members may be assigned them."""

    group_id: str
    at_ms: int
    states: StatePartitions
    topics: StateTopics

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.set_states(self.states)


class ShareInitializationFailed(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The states of these partitions could not be initialized; the next heartbeat has it tried again.

    `error` is that of the share coordinator; NONE: the work itself failed, for this `reason`.
    """

    group_id: str
    at_ms: int
    states: StatePartitions
    topics: StateTopics
    error: ErrorCode
    reason: str = ""

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.set_states(self.states)


class ShareTopicsForgotten(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """Topics were deleted: the group keeps no states of theirs. The share coordinator deletes them by itself."""

    group_id: str
    at_ms: int
    states: StatePartitions

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.set_states(self.states)


class ShareStatesDeleting(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The states of these partitions are to be deleted: an administrator asked for it, or deletes the group."""

    group_id: str
    at_ms: int
    states: StatePartitions
    topics: StateTopics

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.set_states(self.states)


class ShareStatesDeleted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The share coordinator has deleted states that were to be deleted."""

    group_id: str
    at_ms: int
    states: StatePartitions

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.set_states(self.states)


class ShareTargetStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True, eq=False):
    """The target of a group epoch is to be computed from `asked` beside the requests; it is not stored.

    `member_id` is the member whose heartbeat asked. After a load the next heartbeat asks again.
    """

    group_id: str
    at_ms: int
    epoch: int
    member_id: str
    asked: ShareTargetInput

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.computing = self


class ShareTargetEnded(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The computation brought nothing that the group can use: the next heartbeat asks again. It is not stored.

    `reason` tells why it failed; empty: nobody needs the target any more.
    """

    group_id: str
    at_ms: int
    reason: str = ""

    def apply(self, group: Group[ShareGroup]) -> None:
        group.membership.computing = None


class ShareRecordsReported(msgspec.Struct, GroupEvent, frozen=True, kw_only=True, eq=False):
    """What became of records in an interval. It changes nothing and is not stored."""

    group_id: str
    at_ms: int
    report: RecordsReport

    def apply(self, group: Group[ShareGroup]) -> None:
        """Records are no part of a group."""
