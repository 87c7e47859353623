from collections.abc import Iterable

from coordinator.audit.schema import TopicPartitions
from coordinator.core.classic_group import ClassicGroup, Member
from coordinator.core.states import GroupState

def by_topic(partitions: Iterable[tuple[str, int]]) -> TopicPartitions:
    """Topic → partition indexes, both ascending."""

class KnownMember:
    """A member, and what its last assignment gave it."""

    @property
    def member(self) -> Member: ...
    @property
    def owned(self) -> tuple[tuple[str, int], ...]:
        """(topic, index) in ascending order."""

    @property
    def unnamed_partitions(self) -> int:
        """How many it was assigned that are too many to be in `owned`; 0: none."""

class GroupAuditState:
    """What the audit remembers of a group between its events; it ends with the group.

    The last owner of a partition is remembered until another member gets it, for one generation in which nobody owns
    it: a partition that cooperative assignors revoke in one generation and assign in the next counts as moved.
    """

    rebalance_started_ms: int
    @property
    def seq(self) -> int:
        """The number of the last event."""

    @property
    def created_seq(self) -> int:
        """The number of the first event of this incarnation; 0 before it is written."""

    @property
    def members(self) -> dict[str, KnownMember]:
        """Member id → member; one that the group removed is known until its removal is written."""

    @property
    def owners(self) -> dict[tuple[str, int], str]:
        """(topic, index) → the member that owned the partition last."""

    @property
    def generation_started_ms(self) -> int: ...
    @property
    def partitions(self) -> int:
        """How many were assigned in this generation."""

    @property
    def moved(self) -> int:
        """Those of them that another member owned last."""

    @property
    def unowned(self) -> int:
        """Those of them that their new owner did not claim to have kept."""

    @property
    def nameable_partitions(self) -> int:
        """How many partitions the events of this generation may still name."""

    @property
    def stored_seq(self) -> int:
        """The last event after which the group was as `__consumer_offsets` holds it; the other `stored_` say how."""

    @property
    def stored_generation_id(self) -> int: ...
    @property
    def stored_state(self) -> GroupState | None: ...
    @property
    def stored_member_ids(self) -> tuple[str, ...]: ...
    @property
    def commits(self) -> int:
        """Offset commits since they were last reported."""

    @property
    def committed_partitions(self) -> int:
        """Committed offsets in them."""

    def __init__(self, seq: int = 0, created_seq: int = 0) -> None: ...
    def mark_stored(self, group: ClassicGroup) -> None:
        """Note that `__consumer_offsets` holds the group as it is after the last event."""

    def reset_commits(self) -> None:
        """Start counting commits from 0."""

    def remember_member(self, member: Member, partitions: Iterable[tuple[str, int]], unnamed_partitions: int) -> None:
        """Remember a member that owns `partitions`, or a number of others that are not named."""

    def replace_member(self, old_member_id: str, member: Member) -> None:
        """Let `member` own what `old_member_id`, which is forgotten, owned."""

    def start_generation(self, at_ms: int) -> None: ...
    def assign(
        self, member_id: str, partitions: set[tuple[str, int]], unnamed_partitions: int, claimed: int
    ) -> tuple[TopicPartitions, TopicPartitions, TopicPartitions]:
        """Make a member the owner of `partitions`, of which it `claimed` some; returns what it gained, lost and kept.

        With `unnamed_partitions` these are counted, and nothing is returned.
        """

    def forget_old_owners(self) -> None:
        """At the end of a generation, forget the owners of what nobody owned in it and in the one before."""
