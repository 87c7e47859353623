"""Which groups a checkpoint of the audit has still to write, and when one is due."""

from collections.abc import Iterable, Mapping
from typing import Final

from coordinator.core.classic_group import ClassicGroup

CHECKPOINT_RECORDS: Final = 1_000
"""Records of a partition that are appended before its next checkpoint.

A start reads so many per partition, 50,000 in the 50 partitions of a default setup, which takes it 0.1 s.
"""

CHECKPOINT_RECORDS_PER_GROUP: Final = 10
"""Records per live group that are appended before the next checkpoint, so that snapshots are at most a tenth of all."""

MEMBERS_AT_ONCE: Final = 150
"""Members, and as many groups, whose snapshots are written before other work has its turn: some 0.5 ms."""


class SnapshotRound:
    """The groups of one checkpoint: those that were live when it began, without those that were removed since."""

    def __init__(self, offset: int, group_ids: Iterable[str], members_at_once: int) -> None:
        """`offset` is that of the round's first record: a start that reads from there learns of every live group."""
        self.offset = offset
        self._members_at_once = members_at_once
        self._left = list(group_ids)

    @property
    def is_over(self) -> bool:
        return not self._left

    def next_slice(self, groups: Mapping[str, ClassicGroup]) -> list[tuple[ClassicGroup, int | None]]:
        """The groups that are written next, each with the `checkpoint_offset` of its snapshot.

        The last slice is empty only if no group is live any more; then the round ends without a checkpoint.
        """
        chosen = []
        cost = 0
        while self._left and cost < self._members_at_once:
            group = groups.get(self._left.pop())
            if group is not None:
                chosen.append(group)
                cost += 1 + len(group.members)
        while self._left and self._left[-1] not in groups:
            self._left.pop()
        if self.is_over and not chosen:
            # All that were left are gone. A round is completed by its last snapshot, so another group is written again.
            chosen = list(groups.values())[:1]
        last = chosen[-1] if chosen and self.is_over else None
        return [(group, self.offset if group is last else None) for group in chosen]
