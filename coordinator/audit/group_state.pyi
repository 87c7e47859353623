from collections.abc import Iterable

from coordinator.audit.schema import TopicPartitions
from coordinator.core.classic_group import ClassicGroup, Member
from coordinator.core.states import GroupState

def by_topic(partitions: Iterable[tuple[str, int]]) -> TopicPartitions:
    """Topic → partition indexes, both ascending."""

class KnownMember:
    """A member and its last assignment."""

    @property
    def member(self) -> Member: ...
    @property
    def owned(self) -> tuple[tuple[str, int], ...]:
        """(topic, index) in ascending order."""

    @property
    def unnamed_partitions(self) -> int:
        """The number of assigned partitions if they are too many for `owned`, otherwise 0."""

class GroupAuditState:
    """The audit's state of a live group between two of its events.

    The last owner of a partition is kept until another member gets it, for up to one generation without an owner. So a
    partition that a cooperative assignor revokes in one generation and assigns in the next counts as moved.
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
        """Member id → member. A removed member stays until its removal is written."""

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
    def mark_stored(self, group: ClassicGroup) -> None:
        """Record that `__consumer_offsets` has the state after the last event."""

    def reset_commits(self) -> None:
        """Start counting commits from 0."""

    def remember_member(self, member: Member, partitions: Iterable[tuple[str, int]], unnamed_partitions: int) -> None:
        """Add a member that owns `partitions`, or a number of partitions that are not named."""

    def replace_member(self, old_member_id: str, member: Member) -> None:
        """Give `member` the partitions of `old_member_id`, which is removed."""

    def start_generation(self, at_ms: int) -> None: ...
    def assign(
        self, member_id: str, partitions: set[tuple[str, int]], unnamed_partitions: int, claimed: int
    ) -> tuple[TopicPartitions, TopicPartitions, TopicPartitions]:
        """Make a member the owner of `partitions`; return what it gained, lost and kept.

        `claimed` is how many of them the member claims to have kept. If `unnamed_partitions` is not 0, it is only added
        to the counts, and all three are empty.
        """

    def forget_old_owners(self) -> None:
        """At the end of a generation, drop the last owners of partitions without an owner in two generations."""
