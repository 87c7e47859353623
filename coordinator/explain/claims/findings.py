"""What is wrong with a group beyond one rebalance. Each claim has its evidence in figures, and bounds of its time."""

from enum import StrEnum

import msgspec

from coordinator.audit.schema import GroupHeldByCluster, MemberRef, RequestRejected
from coordinator.core.causes import Cause
from coordinator.explain.claims.advice import AssignorChange
from coordinator.explain.claims.claim import Claim

Identity = tuple[str, ...]
"""What a client keeps when it is restarted: its instance id, else its client id and host."""


class Kind(StrEnum):
    FLAPPING_MEMBER = "flapping_member"
    CRASH_LOOP = "crash_loop"
    REBALANCE_STORM = "rebalance_storm"
    ROLLING_RESTART = "rolling_restart"
    ROLLING_DEPLOY = "rolling_deploy"
    SHORT_SESSION_TIMEOUT = "short_session_timeout"
    SLOW_REJOINER = "slow_rejoiner"
    HOLDS_UP_OTHERS = "holds_up_others"
    EAGER_WITHOUT_NEED = "eager_without_need"
    IDLE_MEMBERS = "idle_members"
    NO_COMMITS = "no_commits"
    SHARED_INSTANCE_ID = "shared_instance_id"
    WASTED_INSTANCE_ID = "wasted_instance_id"
    REJECTED_CLIENT = "rejected_client"
    TOO_OLD_CLIENT = "too_old_client"
    HELD_BY_CLUSTER = "held_by_cluster"
    COORDINATED_TWICE = "coordinated_twice"
    OUT_OF_RANGE = "out_of_range"
    DELETED_UNREAD = "deleted_unread"
    UNOWNED_PARTITIONS = "unowned_partitions"
    WAITS_FOR_TRANSACTION = "waits_for_transaction"
    STANDS_STILL = "stands_still"
    RIGHT_ON_TOPIC_LOST = "right_on_topic_lost"
    SUBSCRIBED_TOPIC_MISSING = "subscribed_topic_missing"
    POISON_RECORD = "poison_record"
    SLOW_TO_ACKNOWLEDGE = "slow_to_acknowledge"
    LOCKS_TOO_SHORT = "locks_too_short"
    NEVER_ACKNOWLEDGES = "never_acknowledges"
    TAKES_ALL = "takes_all"
    START_STANDS = "start_stands"
    TOPOLOGY_NOT_READY = "topology_not_ready"
    SHUTDOWN_REQUESTED = "shutdown_requested"
    STALE_TOPOLOGY = "stale_topology"


class Found(Claim, frozen=True):
    """Something to change in a group. Its evidence lies between `from_ms` and `until_ms` (wall clock)."""

    kind: Kind
    from_ms: int
    until_ms: int


class Departure(msgspec.Struct, frozen=True):
    """When a member left or was removed, and why."""

    at_ms: int
    cause: Cause


class ComesAndGoes(Found, frozen=True):
    """One client left or was removed, and came back, several times within ten minutes."""

    client: Identity
    departures: tuple[Departure, ...]


class Crash(msgspec.Struct, frozen=True):
    """When a member's connection closed, when it was removed, and when its client was back; None: it was not."""

    closed_ms: int
    removed_ms: int
    back_ms: int | None


class CrashLoop(Found, frozen=True):
    """A client was gone without leaving the group several times, and came back under a new member id in between."""

    client: Identity
    crashes: tuple[Crash, ...]
    may_be_closed: bool = False
    """It may have been closed in order each time, as a static member."""


class StaticRestarts(Found, frozen=True):
    """A static member was restarted several times within ten minutes, each time before its session ended."""

    instance_id: str
    client: Identity
    """Of the last one."""
    restarts: tuple[int, ...]
    """When each new process joined."""


class Storm(Found, frozen=True):
    """The group rebalanced too often in a short time, beside rebalances that only let members in."""

    rebalances: int
    causes: tuple[tuple[str, int], ...]
    """Cause → rebalances, the most frequent first."""
    lost_ms: int
    """How much of the time passed in rebalances."""


class RollingRestart(Found, frozen=True):
    """Most members left and came back within ten minutes, one after the other, without a group.instance.id."""

    members: int
    rebalances: int


class Succession(msgspec.Struct, frozen=True):
    """A new member, and the one in whose place it came: that one left, or was removed, and did not come back."""

    came: MemberRef
    came_ms: int
    gone: MemberRef
    gone_ms: int
    removed_ms: int


class Replaced(Found, frozen=True):
    """New members took the place of as many others. Only if none of those fell silent it is said to be a deploy."""

    successions: tuple[Succession, ...]
    silent: int
    rebalances: int


class Pause(msgspec.Struct, frozen=True):
    """When a member was removed, when it was back, and how long it was silent in all."""

    removed_ms: int
    back_ms: int
    silent_ms: int


class PausesTooLong(Found, frozen=True):
    """A client was silent for longer than its session timeout several times, and came back each time.

    True if it was alive: it stood still or was cut off, and was not restarted. `is_known`: its connection was open.
    """

    client: Identity
    pauses: tuple[Pause, ...]
    timeout_ms: int
    is_epoch: bool = False


class HeldUpIn(msgspec.Struct, frozen=True):
    """By how many ms a client held up one generation."""

    generation_id: int
    is_epoch: bool
    held_up_ms: int


class SlowRejoiner(Found, frozen=True):
    """One client was the last to join in most rebalances, a second or longer after all others."""

    client: Identity
    held_up: tuple[HeldUpIn, ...]
    rebalances: int
    joins_in_poll: bool


class WaitedFor(msgspec.Struct, frozen=True):
    """How many members waited for the partitions of another one in a group epoch, and how long.

    `took_ms` is how long that one took to give them up after it was asked; None: it was not asked.
    """

    epoch: int
    members: int
    waited_ms: int
    took_ms: int | None


class HoldsUpOthers(Found, frozen=True):
    """Members of a consumer group waited for the partitions of one client in most epochs in which any waited."""

    client: Identity
    waits: tuple[WaitedFor, ...]
    of: int
    is_slow: bool
    """It takes long to give them up; else it is asked late."""
    joins_in_poll: bool


class StoppedForNothing(Found, frozen=True):
    """Several rebalances stopped all members although no partition had to move: the assignor is eager."""

    rebalances: int
    assignor: str
    partition_ms: int
    change: AssignorChange | None = None


class IdleMembers(Found, frozen=True):
    """Members own nothing, because their topics have fewer partitions than subscribers."""

    members: tuple[MemberRef, ...]
    of: int
    partitions: int
    topics: tuple[str, ...] = ()
    """Empty: all members subscribe alike, or not all is known by name."""


class NoCommits(Found, frozen=True):
    """A stable group with partitions and records to read has committed nothing for ten minutes."""

    generation_id: int
    is_epoch: bool
    partitions: int
    last_commit_ms: int | None = None
    lag: int | None = None


class Takeover(msgspec.Struct, frozen=True):
    """When a client took an instance id from another one."""

    at_ms: int
    client: Identity


class SharedInstanceId(Found, frozen=True):
    """Clients with one group.instance.id take it from each other."""

    instance_id: str
    takes: tuple[Takeover, ...]


class Leave(msgspec.Struct, frozen=True):
    """When a static member left the group, and when it was back. Wall-clock ms."""

    left_ms: int
    back_ms: int


class WastedInstanceId(Found, frozen=True):
    """A static member left the group and came back: the group rebalanced as if it had no group.instance.id."""

    client: Identity
    leaves: tuple[Leave, ...]


class Offer(msgspec.Struct, frozen=True):
    """Members and the assignors that they offer."""

    members: tuple[MemberRef, ...]
    protocols: tuple[str, ...]


class CannotJoin(Found, frozen=True):
    """A client is refused, and has not joined since.

    True as long as what it was refused for lasts: of an instance id, until its holder is gone.
    """

    client: Identity
    refusal: RequestRejected
    """The last one."""
    offers: tuple[Offer, ...] = ()
    """Of the members of the group, if it has no assignor in common with them."""
    is_epoch: bool = False
    """The group is one of KIP-848."""


class TooOld(Found, frozen=True):
    """A client with the name and host of a member asks for a version that the server refuses."""

    client: Identity
    refusal: RequestRejected
    """The last one."""


class HeldByCluster(Found, frozen=True):
    """Clients are in a group at the cluster that nodes in front of it are to coordinate."""

    held: GroupHeldByCluster
    members_here: int


# ---- what the committed offsets say beside the ends of the logs


class PartitionOffsets(msgspec.Struct, frozen=True):
    """A partition, and its offsets as far as they are known."""

    topic: str
    partition: int
    committed_offset: int | None = None
    log_end_offset: int | None = None
    last_stable_offset: int | None = None
    log_start_offset: int | None = None


class OutOfRange(Found, frozen=True):
    """The committed offset of these partitions is beyond the end of their logs."""

    partitions: tuple[PartitionOffsets, ...]


class DeletedUnread(Found, frozen=True):
    """Records from the committed offsets of these partitions on were deleted: the logs start after them."""

    partitions: tuple[PartitionOffsets, ...]
    records: int


class UnownedPartitions(Found, frozen=True):
    """Nobody owns these partitions of topics to which members subscribe."""

    partitions: tuple[PartitionOffsets, ...]
    of: int
    unread: int


class WaitingFor(msgspec.Struct, frozen=True):
    """A partition whose readers wait for a transaction. Times are None where they are not known."""

    partition: PartitionOffsets
    has_pending_commit: bool
    """The transaction has an offset of this group."""
    transactional_id: str | None = None
    """None: no coordinator tells of the transaction."""
    started_ms: int | None = None
    until_ms: int | None = None


class WaitsForTransaction(Found, frozen=True):
    """Consumers with read_committed wait for transactions that have been open for ten seconds or longer."""

    waits: tuple[WaitingFor, ...]


class Goes(StrEnum):
    """What the other partitions do that the owner of one that stands still owns."""

    ON = "on"
    """At least one of them was seen to move after that one stood still."""
    NOT = "not"
    """There are some with records waiting, and all of them stand still."""
    UNKNOWN = "unknown"
    """Neither, or there are none."""


class StandingPartition(msgspec.Struct, frozen=True):
    """A partition whose committed offset stands still. Times are wall-clock ms since the epoch.

    It stands since `since_ms`, or for longer (`is_longer`); `oldest_ms` is the time of the oldest record behind it. The
    same offset was committed again at `committed_ms`; None: it was not, or that is not known.
    """

    partition: PartitionOffsets
    owner: MemberRef
    records: int
    since_ms: int
    is_longer: bool
    oldest_ms: int
    committed_ms: int | None = None


class StandsStill(Found, frozen=True):
    """The group is stable, and for two minutes or longer records have waited behind committed offsets that stood still.

    All that time the partitions had their owners, whose sessions are kept. Nothing that the server knows holds them up:
    no open transaction, no deleted record, no offset beyond the end of a log, no right that was refused.
    """

    partitions: tuple[StandingPartition, ...]
    others: Goes


class RightOnTopicLost(Found, frozen=True):
    """Requests of members about a topic that they subscribe to, or own partitions of, are refused, and were so lately.

    `from_ms` is when that began as far as it is known (`is_longer`: or before), `until_ms` when it was told last, with
    `requests` so far.
    """

    topic: str
    principal: str
    members: tuple[MemberRef, ...]
    api: str
    operation: str
    requests: int
    partitions: int
    """How many of the topic these members own."""
    is_longer: bool = False


class SubscribedTopicMissing(Found, frozen=True):
    """Members subscribe to a topic by name, or own partitions of it, and there is no such topic now.

    `gone_ms` is when the group learned that it was deleted; None: that is not known.
    """

    topic: str
    members: tuple[MemberRef, ...]
    gone_ms: int | None = None
