"""What a line of a broker's log states. One class per statement, whichever version of Kafka wrote the line.

`None` where the line of that version does not tell a value. Texts of clients (ids, reasons) are as they are in the
line. Times are those of the places.

Sources of the lines: `GroupCoordinator.scala`, `GroupMetadataManager.scala` (up to 3.9) and `GroupMetadataManager.java`
of Apache Kafka.
"""

from enum import StrEnum

import msgspec

from coordinator.audit.schema.sighted import AnySighting
from coordinator.observe.places import Place


class Statement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What all have. `offsets_partition` is the partition of `__consumer_offsets` that the line names."""

    place: Place
    also: tuple[Place, ...] = ()
    """Other places that say more of the same: the log of the client."""
    offsets_partition: int | None = None
    is_doubtful: bool = False
    """The line may be forged or cut: text after its logger, a line before it without one, a time out of order. Or it
    can be read in several ways, and the ids that are known do not tell which one is right."""
    is_zone_assumed: bool = False
    """The line's time has no zone, and nothing around the line tells it."""


class OfGroup(Statement, frozen=True, kw_only=True, gc=False):
    """A statement about a group that the line names."""

    group_id: str


class Reason(StrEnum):
    """Why a classic group prepares a rebalance, as the broker says it. Not all are causes: some leave several open."""

    NEW_MEMBER = "new_member"
    LEFT = "left"
    """LeaveGroup: by the member's own client, or by an administrator."""
    SESSION_EXPIRED = "session_expired"
    UPDATED = "updated"
    """A follower that joins with other bytes: another subscription, or other owned partitions or user data."""
    LEADER_REJOINED = "leader_rejoined"
    JOINED_DURING = "joined_during"
    """A join while the group was in another state than Stable: no cause of its own."""
    SYNC_TIMEOUT = "sync_timeout"
    STATIC_UPDATED = "static_updated"
    """A static member came back with another subscription, or one that changes the protocol."""
    OVER_CAPACITY = "over_capacity"
    STORE_FAILED = "store_failed"
    DOWNGRADED = "downgraded"
    """A consumer group became a classic one."""
    OTHER = "other"
    """A text that no known version writes."""


class Sighted(OfGroup, frozen=True, kw_only=True, gc=False):
    """No line: what a node saw pass."""

    sighting: AnySighting


# Classic groups


class RebalancePrepared(OfGroup, frozen=True, kw_only=True, gc=False):
    """`Preparing to rebalance group …`: `member_ids` are those that the reason names, an empty one included."""

    generation_before: int
    reason: Reason
    text: str
    """The reason as the line has it, without the client's."""
    member_ids: tuple[str, ...] = ()
    group_instance_id: str | None = None
    client_reason: str | None = None
    state_during: str | None = None


class GroupStabilized(OfGroup, frozen=True, kw_only=True, gc=False):
    """The join phase is over: the group is CompletingRebalance."""

    generation_id: int
    members: int | None = None


class AssignmentReceived(OfGroup, frozen=True, kw_only=True, gc=False):
    generation_id: int
    leader: str | None = None
    members: int | None = None
    static_members: int | None = None


class GroupEmptied(OfGroup, frozen=True, kw_only=True, gc=False):
    generation_id: int


class MemberIdHandedOut(OfGroup, frozen=True, kw_only=True, gc=False):
    """A client without a member id got one, and is to come again with it (KIP-394)."""

    member_id: str
    state: str


class MemberAdded(OfGroup, frozen=True, kw_only=True, gc=False):
    """A client joined: with the id that was handed out to it, or (`is_without_id`) before JoinGroup v4 at once."""

    member_id: str
    group_instance_id: str | None = None
    state: str = ""
    is_without_id: bool = False
    is_static: bool = False


class StaticMemberReturned(OfGroup, frozen=True, kw_only=True, gc=False):
    """A client took the place of a static member (KIP-345). The old coordinator does not name the new id."""

    group_instance_id: str
    old_member_id: str
    member_id: str | None = None


class ReturnedWithoutRebalance(Statement, frozen=True, kw_only=True, gc=False):
    """A static member came back, and no rebalance was needed. The line names nobody."""


class MembersDropped(OfGroup, frozen=True, kw_only=True, gc=False):
    """Members that had not rejoined when the rebalance timeout was over. `text` is the list as the line has it."""

    member_ids: tuple[str, ...]
    text: str


class LeaderDropped(Statement, frozen=True, kw_only=True, gc=False):
    """The leader had not rejoined when the rebalance timeout was over. The line names no group."""

    member_id: str
    new_leader: str | None = None


class SessionExpired(OfGroup, frozen=True, kw_only=True, gc=False):
    """`Member … has failed`, or fenced because the member session expired (KIP-848)."""

    member_id: str


class MemberLeft(OfGroup, frozen=True, kw_only=True, gc=False):
    """LeaveGroup by the member's own client or by an administrator; in a KIP-848 group also its last heartbeat."""

    member_id: str
    group_instance_id: str | None = None
    client_reason: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    is_pending: bool = False
    """Its id had been handed out, and it never joined."""
    is_explicit: bool = True
    """By LeaveGroup. False: by a heartbeat of KIP-848, which has no reasons and which no administrator sends."""


class PendingExpired(OfGroup, frozen=True, kw_only=True, gc=False):
    member_id: str


class InstanceFenced(Statement, frozen=True, kw_only=True, gc=False):
    """A request of a member id whose static instance another one has: FENCED_INSTANCE_ID. The group is not named."""

    member_id: str
    group_instance_id: str
    holder: str
    operation: str | None = None


class GroupDied(OfGroup, frozen=True, kw_only=True, gc=False):
    """An empty group without offsets was removed by the old coordinator."""

    generation_id: int


class GroupsDeleted(Statement, frozen=True, kw_only=True, gc=False):
    """DeleteGroups. `text` is the list as the line has it: ids may have commas in them."""

    text: str
    offsets: int | None = None


class OffsetsDeleted(OfGroup, frozen=True, kw_only=True, gc=False):
    text: str


class SimpleGroupCreated(OfGroup, frozen=True, kw_only=True, gc=False):
    """A group without members began with an OffsetCommit."""


# Coordinators of partitions of `__consumer_offsets`


class PartitionTakenOver(Statement, frozen=True, kw_only=True, gc=False):
    """A broker begins to load a partition of `__consumer_offsets` (`offsets_partition`)."""

    leader_epoch: int | None = None


class PartitionLoaded(Statement, frozen=True, kw_only=True, gc=False):
    took_ms: int | None = None


class PartitionGivenUp(Statement, frozen=True, kw_only=True, gc=False):
    """A broker unloads the partition; also at an ordered stop, and of partitions that it never had."""


class GroupLoaded(OfGroup, frozen=True, kw_only=True, gc=False):
    """Sessions of its members begin anew. `group_type`: classic, consumer, share or streams; None: not told."""

    generation_id: int | None = None
    members: int | None = None
    group_type: str | None = None


class LoadedMember(OfGroup, frozen=True, kw_only=True, gc=False):
    """A member as the old coordinator prints it when it loads a group."""

    member_id: str
    generation_id: int
    client_id: str
    client_host: str
    group_instance_id: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None


class GroupUnloaded(OfGroup, frozen=True, kw_only=True, gc=False):
    generation_id: int | None = None


# Groups of KIP-848, and share and streams groups


class ConsumerJoined(OfGroup, frozen=True, kw_only=True, gc=False):
    """Not always new: a member that comes again with epoch 0, or each JoinGroup of a classic one, has this line too."""

    member_id: str
    group_instance_id: str | None = None
    protocol: str
    """consumer, classic, share or streams: what the member speaks."""


class ConsumerReplaced(OfGroup, frozen=True, kw_only=True, gc=False):
    """A static member came back as `member_id`."""

    group_instance_id: str
    member_id: str
    old_member_id: str


class LeftForAMoment(OfGroup, frozen=True, kw_only=True, gc=False):
    """A static member was closed with member epoch -2, and may come back."""

    member_id: str
    group_instance_id: str


class ConsumerLate(OfGroup, frozen=True, kw_only=True, gc=False):
    """A member was removed because it did not do in time what its group waited for."""

    member_id: str
    missing: str
    """give_up, rejoin or sync."""
    epoch: int | None = None
    timeout_ms: int | None = None


class JoinRefused(OfGroup, frozen=True, kw_only=True, gc=False):
    """UNRELEASED_INSTANCE_ID (`is_fenced` false) or FENCED_INSTANCE_ID."""

    member_id: str
    group_instance_id: str
    holder: str
    is_fenced: bool = False


class SubscriptionUpdated(OfGroup, frozen=True, kw_only=True, gc=False):
    """A member subscribes to other topics, or (`is_regex`) by another pattern. At INFO in 3.9 and of share groups."""

    member_id: str
    text: str
    is_regex: bool = False


class EpochBumped(OfGroup, frozen=True, kw_only=True, gc=False):
    epoch: int
    metadata_hash: int | None = None


class TargetComputed(OfGroup, frozen=True, kw_only=True, gc=False):
    epoch: int
    assignor: str | None = None
    took_ms: int | None = None


class PatternsScanned(OfGroup, frozen=True, kw_only=True, gc=False):
    topics: int | None = None
    text: str = ""


class GroupConverted(OfGroup, frozen=True, kw_only=True, gc=False):
    group_type: str
    """What it is from now on: classic or consumer."""


class MemberReconciled(OfGroup, frozen=True, kw_only=True, gc=False):
    """A member got its next assignment. At INFO in 3.9 and of share groups."""

    member_id: str
    epoch: int
    assignment_state: str
    """STABLE, UNREVOKED_PARTITIONS (it has to give up some) or UNRELEASED_PARTITIONS (others have not yet)."""


class AssignmentConfigsChanged(OfGroup, frozen=True, kw_only=True, gc=False):
    """A streams group rebalances because its configuration has changed. `member_id` is who noticed."""

    member_id: str
    text: str
