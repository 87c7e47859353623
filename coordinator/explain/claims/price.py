"""What a rebalance cost: partitions that moved or had no owner, commits that were refused, and the lag."""

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import Claim


class Moved(Claim, frozen=True):
    """Partitions that have another owner than before, of all that the group has.

    A member that was restarted as the same static member is the same owner. What is new has its first owner.
    """

    partitions: int
    """Assigned, or without an owner yet."""
    moved: int
    needlessly: int | None = None
    """Moved although another balanced assignment would have left them; None: not known."""
    first_owned: int = 0
    without_owner: int = 0
    is_epoch: bool = False


class NothingAssigned(Claim, frozen=True):
    """The assignment has no partitions for anybody."""

    is_epoch: bool = False


class Unowned(Claim, frozen=True):
    """Partitions had no owner: the last owner of each stopped at `from_ms` or later, the next one had it at `to_ms`.

    True if nobody processed these partitions in between. One that had no owner several times counts once, with its
    longest time. `shortest_ms` is of the one with the shortest time; where the
    last owner had stopped before the rebalance began, `before_ms` is how long, at most.
    """

    partitions: int
    of: int
    """All partitions of the group."""
    from_ms: int
    to_ms: int
    shortest_ms: int
    rebalances: int = 1
    """Since the group was stable."""
    owners: tuple[MemberRef, ...] = ()
    """The last owners, where they had stopped before the rebalance began; else nobody is named."""
    before_ms: int | None = None
    after_ms: int | None = None
    """How long after it had begun, at most."""
    several: bool = False
    """The owners stopped at different times."""
    is_at_least: bool = False
    """An owner may have stopped earlier: the coordinator was not there to hear it.

    What stopped while it was away, and was assigned at once when it was back, is not counted.
    """
    or_more: bool = False
    """Other partitions may have had no owner either: nothing tells when their owners stopped."""

    @property
    def longest_ms(self) -> int:
        return self.to_ms - self.from_ms


class UnownedInSum(Claim, frozen=True):
    """As the coordinator counted it, ms times partitions, where the events do not tell who owned what."""

    partition_ms: int
    before: bool = False
    """Before the rebalance began, the partitions of removed members; else in it."""


class CommitsRefused(Claim, frozen=True):
    """Offset commits of members were refused during the rebalance."""

    count: int


class Lag(Claim, frozen=True):
    """The records behind the committed offsets of the group, when the rebalance began and when it ended."""

    before: int
    after: int | None = None
