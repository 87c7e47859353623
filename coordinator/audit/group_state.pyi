from collections.abc import Iterable
from typing import Any

from coordinator.audit.partition_owners import AuditedMember, PartitionOwners
from coordinator.audit.schema import MemberRef, Trigger
from coordinator.audit.world import Topic
from coordinator.core.causes import Cause, Requester
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import GroupState

class GroupAuditState(PartitionOwners):
    """The audit's state of a live group between two of its events."""

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

    def count_rejected_commit(self) -> None: ...
    def is_gone(self, member_id: str) -> bool:
        """Whether a member was removed for its silence that asks again under its old id; True once for each.

        The newest 100 of a group are remembered, since the start of the coordinator.
        """

    def count_rejection(self, rejection: tuple[object, ...], at_ms: int) -> int:
        """How often requests were rejected like this, with this time; 0 if this time needs no event.

        The 1st, 10th, 100th, … time has one, and the first one `schema.REJECTION_APART_MS` after the last event.
        """
