from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from coordinator.audit.schema import MemberRef, TopicPartitions, Trigger, WaitedFor
from coordinator.audit.world import Topic
from coordinator.core.causes import Cause, Requester
from coordinator.core.groups.membership import Membership, MemberView
from coordinator.core.groups.states import GroupState

def by_topic(partitions: Iterable[tuple[str, int]]) -> TopicPartitions:
    """Topic → partition indexes, both ascending."""

def grouped(in_order: Iterable[tuple[str, int]]) -> TopicPartitions:
    """As `by_topic`, of partitions in ascending order."""

def partition_count(partitions: Mapping[bytes, Collection[int]]) -> int:
    """How many partitions there are, by topic id."""

def named_partitions(
    partitions: Mapping[bytes, Collection[int]], topic_name: Callable[[bytes], str]
) -> tuple[tuple[str, int], ...]:
    """(topic name, index) of each partition, in ascending order; `partitions` are by topic id."""

class AuditedMember:
    """A member and its last assignment. In the fields of an event it stands for its `schema.MemberRef`."""

    @property
    def member(self) -> Any: ...
    @property
    def owned(self) -> tuple[tuple[str, int], ...]:
        """(topic, index) in ascending order."""

    @property
    def unnamed_partitions(self) -> int:
        """The number of assigned partitions if they are too many for `owned`, otherwise 0."""

    @property
    def revoking(self) -> tuple[tuple[str, int], ...]:
        """What the member was asked to give up and has not shown to have given up, ascending."""

    @property
    def topics(self) -> list[str]:
        """The topics that it subscribes to, in ascending order; none if they are too many."""

    @property
    def unnamed_topics(self) -> int:
        """Their number if they are too many, otherwise 0."""

class GroupAuditState:
    """The audit's state of a live group between two of its events.

    The last owner of a partition is kept until another member gets it, for up to one generation without an owner. So a
    partition that a cooperative assignor revokes in one generation and assigns in the next counts as moved.
    """

    rebalance_started_ms: int
    is_rebalancing: bool
    """Whether a rebalance of which each step is stored is under way: the epoch rose, and not all have reconciled."""
    reset_by: Requester | None
    """The client that committed to the group last without being a member of it, at `reset_ms`."""
    reset_ms: int
    of_kind: Any
    """What the audit of the kind of the group keeps beside, in a class of its own, and nobody else reads."""
    topics: dict[str, Topic]
    """Subscribed topic → its number of partitions when the last generation started."""
    @property
    def seq(self) -> int:
        """The number of the last event."""

    @property
    def created_seq(self) -> int:
        """The number of the first event of this incarnation; 0 before it is written."""

    @property
    def members(self) -> dict[str, AuditedMember]:
        """MemberView id → member. A removed member stays until its removal is written."""

    @property
    def owners(self) -> dict[tuple[str, int], str]:
        """(topic, index) → the last owner of the partition."""

    @property
    def generation_started_ms(self) -> int: ...
    @property
    def partitions(self) -> int:
        """The number of partitions assigned in this generation."""

    @property
    def moved(self) -> int:
        """How many of them had another owner before."""

    @property
    def unowned(self) -> int:
        """How many of them their owner did not claim to have kept."""

    @property
    def unowned_partition_ms(self) -> int:
        """Where members give up one by one: for how long partitions had no owner until then, summed over them."""

    @property
    def nameable_partitions(self) -> int:
        """The number of partitions that further events of this generation may name."""

    @property
    def stored_seq(self) -> int:
        """The `seq` of the last event that left the group as stored; the other `stored_` fields are that state."""

    @property
    def stored_generation_id(self) -> int: ...
    @property
    def stored_state(self) -> GroupState | None: ...
    @property
    def stored_member_ids(self) -> tuple[str, ...]: ...
    @property
    def commits(self) -> int:
        """Offset commits since the last report."""

    @property
    def committed_partitions(self) -> int:
        """The number of committed offsets in them."""

    def __init__(self, seq: int = 0, created_seq: int = 0) -> None: ...
    def mark_stored(self, group: Membership) -> None:
        """Record that `__consumer_offsets` has the state after the last event."""

    def reset_commits(self) -> None:
        """Start counting commits from 0."""

    def remember_member(
        self, member: MemberView, partitions: Iterable[tuple[str, int]], unnamed_partitions: int
    ) -> None:
        """Add a member that owns `partitions`, or a number of partitions that are not named."""

    def replace_member(self, old_member_id: str, member: MemberView) -> None:
        """Give `member` the partitions of `old_member_id`, which is removed."""

    @property
    def triggers(self) -> list[Trigger]:
        """Of the rebalance that is under way, or else of the next one: at most `TRIGGERS_NAMED_MAX`."""

    @property
    def waited_for(self) -> dict[str, None]:
        """Pending member ids that the join phase waited for and that have not joined."""

    @property
    def silent_partition_ms(self) -> int: ...
    @property
    def commits_rejected(self) -> int: ...
    def note_trigger(self, cause: Cause, member: AuditedMember | MemberRef | None, reason: str, at_ms: int) -> None:
        """Add a trigger."""

    def note_epoch_trigger(self, cause: Cause, member: AuditedMember | None, reason: str, at_ms: int) -> None:
        """As `note_trigger`, of the next group epoch."""

    def begin_epoch(self, cause: Cause, member: AuditedMember | None, reason: str, at_ms: int) -> list[Trigger]:
        """The triggers of the epoch that begins, which become triggers of the rebalance: at most
        `TRIGGERS_NAMED_MAX`. One with this cause is among them."""

    def forget_epoch_triggers(self) -> None:
        """What was to raise an epoch has raised none."""

    def note_first_trigger(self, trigger: Trigger) -> None: ...
    def pop_triggers(self) -> tuple[list[Trigger], int]:
        """The triggers, and how many more there were; the next rebalance begins without any."""

    def restore_triggers(self, triggers: list[Trigger], unnamed_triggers: int) -> None:
        """Take back what `pop_triggers` gave; nothing was noted since."""

    def subscribe(self, member_id: str, protocol_type: str | None, metadata: bytes) -> AuditedMember:
        """Set what a member subscribes to, as its metadata says; return the member."""

    def note_sync(self, member_id: str, generation_id: int, at_ms: int) -> None:
        """A member sent the SyncGroup of a generation; its first one counts."""

    def note_join(self, audited: AuditedMember, generation_id: int, at_ms: int) -> None:
        """A JoinGroup of the member came for the generation with this id; its first one counts."""

    def note_removal(self, audited: AuditedMember, last_heard_ms: int | None, rebalance_runs: bool) -> None:
        """A member was removed that was last heard at `last_heard_ms`; `rebalance_runs`: in a join phase."""

    def note_never_synced(self, audited: AuditedMember, generation_id: int) -> None:
        """A member is removed from a generation that is not stable yet."""

    def start_rebalance(self, pending_members: Iterable[str], at_ms: int) -> None: ...
    def note_pending(self, member_id: str) -> None:
        """The join phase waits for a member id that was handed out."""

    def pop_waited_for(self) -> list[str]:
        """The ids of `waited_for`, which is empty afterwards."""

    def pop_never_synced(self, group: Membership, generation_id: int) -> tuple[list[AuditedMember], int]:
        """Members of the generation that sent no SyncGroup, also those that were removed for it, and how many more."""

    def end_rebalance(self) -> None:
        """Forget what is counted from a rebalance to the end of it."""

    def slowest_to_join(self, generation_id: int) -> tuple[AuditedMember | None, int]:
        """The member whose JoinGroup came last and how long after the start of the rebalance; None if all came at once.

        For this and `slowest_to_sync`, `generation_id` is that of the generation that starts or has started.
        """

    def slowest_to_sync(self, generation_id: int) -> tuple[AuditedMember | None, int]:
        """The same for SyncGroup and the start of the generation."""

    def subscribed_topics(self) -> set[str]:
        """The topics that some member subscribes to, as far as they are named."""

    def moved_needed(self, group: Membership) -> int | None:
        """How many of the `moved` partitions a balanced assignment that moves the fewest would have moved too.

        None if members subscribe to different topics, or if topics or partitions are not named.
        """

    def count_rejected_commit(self) -> None: ...
    def is_gone(self, member_id: str) -> bool:
        """Whether a member was removed for its silence that asks again under its old id; True once for each.

        The newest 100 of a group are remembered, since the start of the coordinator.
        """

    def count_rejection(self, rejection: tuple[object, ...], at_ms: int) -> int:
        """How often requests were rejected like this, with this time; 0 if this time needs no event.

        The 1st, 10th, 100th, … time has one, and the first one `schema.REJECTION_APART_MS` after the last event.
        """

    def start_generation(self, at_ms: int) -> None: ...
    def assign(
        self, member_id: str, protocol_type: str | None, metadata: bytes, assignment: bytes, generation_id: int
    ) -> dict[str, Any]:
        """Make a member the owner of what its assignment says; return the fields of `schema.MemberAssigned`.

        `metadata` says what it claims to have kept. Partitions that are too many to name are counted.
        """

    def set_subscription(self, member_id: str, topics: tuple[str, ...]) -> AuditedMember:
        """Set the topics, in ascending order, that a member subscribes to by name."""

    def reassign(
        self,
        member_id: str,
        epoch: int,
        state: str,
        partitions: Mapping[bytes, Collection[int]],
        revoking: Mapping[bytes, Collection[int]],
        topic_name: Callable[[bytes], str],
        at_ms: int,
    ) -> dict[str, Any]:
        """Set what a member may use, and what it has to give up, by topic id; return the fields of
        `schema.MemberReconciled`, as of a member that waits for nobody.

        Partitions that are too many to name are counted.
        """

    def reassign_named(
        self,
        member_id: str,
        epoch: int,
        state: str,
        partitions: tuple[tuple[str, int], ...],
        partition_count: int,
        revoking: tuple[tuple[str, int], ...],
        revoking_count: int,
        at_ms: int,
    ) -> dict[str, Any]:
        """The same with names of topics, ascending; with none if there are more than can be named."""

    def waits_for(
        self,
        member_id: str,
        target: Mapping[bytes, Collection[int]],
        assigned: Mapping[bytes, Collection[int]],
        owners: Mapping[bytes, Mapping[int, str]],
        topic_name: Callable[[bytes], str],
    ) -> list[WaitedFor]:
        """Who has not given up what the member is to get, all by topic id; nothing if there are too many to name."""

    def set_revoking(self, member_id: str, revoking: tuple[tuple[str, int], ...]) -> None:
        """Set what a member has to give up, ascending, as it was loaded."""

    def remove_member(self, member_id: str, at_ms: int) -> AuditedMember:
        """Remove a member: its partitions have no owner any more."""

    def forget_old_owners(self) -> None:
        """At the end of a generation, drop the last owners of partitions without an owner in two generations."""
