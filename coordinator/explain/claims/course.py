"""How long a rebalance took, and who held it up."""

from coordinator.audit.schema import MemberRef, TopicPartitions
from coordinator.explain.claims.claim import Claim


class Took(Claim, frozen=True):
    """The rebalance took so long: until all had joined, and from there until the assignment was stored.

    In a consumer group: until the target assignment was computed, and from there until all members had it.
    """

    join_ms: int
    sync_ms: int
    member_count: int
    is_epoch: bool = False
    waited_for_more: bool = False
    """The group was empty, and waited for further members (group.initial.rebalance.delay.ms)."""


class HeldUp(Claim, frozen=True):
    """A member joined so many ms after all others had joined: they waited for it."""

    member: MemberRef
    held_up_ms: int


class NeverRejoined(Claim, frozen=True):
    """Members did not rejoin, so that the join phase went on until the rebalance timeout removed them."""

    members: tuple[MemberRef, ...]
    limit_ms: int | None = None
    others_waited: bool = False


class PendingIds(Claim, frozen=True):
    """The join phase waited for member ids that were handed out and never joined (KIP-394)."""

    member_ids: tuple[str, ...]


class NeverSynced(Claim, frozen=True):
    """Members sent no SyncGroup, and were removed for it."""

    members: tuple[MemberRef, ...]


class SlowSync(Claim, frozen=True):
    """A member took so long to send SyncGroup after the join phase."""

    member: MemberRef
    sync_ms: int
    is_leader: bool = False


class GaveUpLate(Claim, frozen=True):
    """Members of a consumer group waited for partitions that another one had, from `waited_since_ms` on.

    `asked_ms` is when it was asked for them, `gave_up_ms` when it had given them up, or was removed.
    """

    member: MemberRef
    partitions: TopicPartitions
    count: int
    waiting: tuple[MemberRef, ...]
    tasks: tuple[tuple[str, int], ...] = ()
    """In a streams group: the tasks that others wait for, as subtopology and number, as far as they are named."""
    waited_since_ms: int | None = None
    asked_ms: int | None = None
    gave_up_ms: int | None = None
    was_removed: bool = False
    is_over: bool = False
    """The epoch ended; else they wait still."""

    @property
    def asked_after_ms(self) -> int:
        """How long others waited before it was asked."""
        if self.asked_ms is None or self.waited_since_ms is None:
            return 0
        return max(0, self.asked_ms - self.waited_since_ms)

    @property
    def took_ms(self) -> int | None:
        """From when it was asked until it had given them up; None if one of them has not happened."""
        return None if self.asked_ms is None or self.gave_up_ms is None else max(0, self.gave_up_ms - self.asked_ms)

    @property
    def waited_ms(self) -> int | None:
        """How long others waited; None: they still do, or nobody did."""
        if self.gave_up_ms is None or self.waited_since_ms is None:
            return None
        return max(0, self.gave_up_ms - self.waited_since_ms)


class EarlierTarget(Claim, frozen=True):
    """The target assignment of an earlier epoch was computed while this epoch waited for its own."""

    epoch: int
    at_ms: int
    was_used: bool = False
    """Members reconciled with it."""
