from collections.abc import Iterable

from coordinator.audit.schema import TopicPartitions
from coordinator.core.classic_group import Member

def by_topic(partitions: Iterable[tuple[str, int]]) -> TopicPartitions:
    """Topic → partition indexes, both ascending."""

class KnownMember:
    """A member, and the partitions (topic, index) it owned last."""

    @property
    def member(self) -> Member: ...
    @property
    def owned(self) -> tuple[tuple[str, int], ...]: ...

class GroupTrail:
    """What is remembered of a group between its events.

    A partition's last owner is kept until another member gets it, so that a partition that was without an owner for a
    generation (cooperative assignors) still counts as moved.
    """

    rebalance_started_ms: int
    @property
    def seq(self) -> int:
        """The number of the last event."""

    @property
    def created_seq(self) -> int:
        """The number of the event that created the group."""

    @property
    def members(self) -> dict[str, KnownMember]:
        """Member id → member, until its end is told: later than the group knows it."""

    @property
    def generation_started_ms(self) -> int: ...
    @property
    def partitions(self) -> int:
        """How many were handed over in this generation."""

    @property
    def moved(self) -> int:
        """Those of them that another member had last."""

    @property
    def unowned(self) -> int:
        """Those of them that their new owner did not claim to have kept."""

    def __init__(self, seq: int = 0, created_seq: int = 0) -> None: ...
    def know(self, member: Member, owned: tuple[tuple[str, int], ...]) -> None:
        """Remember a member, who is the last owner of `owned`."""

    def begin_generation(self, at_ms: int) -> None: ...
    def hand_over(
        self, member_id: str, owned: set[tuple[str, int]], claimed: int
    ) -> tuple[TopicPartitions, TopicPartitions, TopicPartitions]:
        """Make a member the owner of what it got, of which it claimed some; returns what it gained, lost and kept."""
