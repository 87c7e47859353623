"""Counts of what became of the records of share partitions since the last report.

Kafka has no counterpart: it tells nobody why a record is delivered again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from coordinator.broker.share.record_counts import RecordCounts

if TYPE_CHECKING:
    from coordinator.broker.share.share_partition import SharePartition
    from coordinator.broker.share.share_partition_parts import ShareKey

MEMBERS_COUNTED_MAX: Final = 100
"""Members of a share partition that are counted by themselves; those of all others are `OTHERS`."""
OTHERS: Final = ""
TALLIES_MAX: Final = 10_000
"""Share partitions of which something is counted in an interval; of further ones nothing is told."""


class Tally:
    """One share partition in one interval."""

    __slots__ = ("is_over", "members", "share_partition")

    def __init__(self, share_partition: "SharePartition") -> None:
        self.share_partition = share_partition
        """The last one, if it was dropped and loaded again."""
        self.members: Final[dict[str, RecordCounts]] = {}
        self.is_over = False
        """Whether it was reported: what comes now belongs to the next one."""

    def of(self, member: str) -> RecordCounts:
        """The counts of a member, `OTHERS` if there are too many."""
        counts = self.members.get(member)
        if counts is None:
            if len(self.members) >= MEMBERS_COUNTED_MAX:
                member = OTHERS
            counts = self.members.setdefault(member, RecordCounts())
        return counts


class Tallies:
    """Those of all share partitions of the interval. `begun` is called with the first of an interval."""

    def __init__(self, begun: Callable[[], None] = lambda: None) -> None:
        self.total: Final = RecordCounts()
        """What became of records since the start, but for locks that ended."""
        self._begun = begun
        self._by_key: dict[ShareKey, Tally] = {}

    def of(self, share_partition: "SharePartition") -> Tally:
        found = self._by_key.get(share_partition.key)
        if found is None:
            found = Tally(share_partition)
            if not self._by_key:
                self._begun()
            if len(self._by_key) >= TALLIES_MAX:
                found.is_over = True
                return found
            self._by_key[share_partition.key] = found
        found.share_partition = share_partition
        return found

    def pop_all(self) -> list[Tally]:
        """End the interval."""
        tallies, self._by_key = list(self._by_key.values()), {}
        for tally in tallies:
            tally.is_over = True
        return tallies
