"""Checkpoints of the audit: when one is due, and which groups are still to be written."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from coordinator.core.groups.group import Group

CHECKPOINT_RECORDS: Final = 1_000
"""Number of records between two checkpoints of a partition.

A start reads up to this number per partition: 50,000 for the default of 50 partitions, which takes 0.1 s.
"""

CHECKPOINT_RECORDS_PER_GROUP: Final = 10
"""Number of records per live group between two checkpoints, so that at most a tenth of all records are snapshots."""

CHECKPOINT_RECORDS_PER_MEMBER: Final = 10
"""Number of records per live member between two checkpoints. Per member, a snapshot takes half as long as an event."""

MEMBERS_AT_ONCE: Final = 150
"""Size of a slice of a checkpoint: groups plus members whose snapshots are written at once, about 0.5 ms."""


class SnapshotRound:
    """One checkpoint being written: the groups that were live when it began, without those removed since."""

    def __init__(self, offset: int, group_ids: Iterable[str], members_at_once: int) -> None:
        """`offset` is that of the first record of the round. A start that reads from it learns of all live groups."""
        self.offset = offset
        self._members_at_once = members_at_once
        self._left = list(group_ids)
        self.members = 0
        """Members of the groups written so far."""

    @property
    def is_over(self) -> bool:
        return not self._left

    def next_slice(self, groups: Mapping[str, Group[Any]]) -> list[tuple[Group[Any], int | None]]:
        """The groups to write next, each with the `checkpoint_offset` of its snapshot.

        The last slice is empty only if there are no live groups left. The round then ends without a checkpoint.
        """
        chosen = []
        cost = 0
        while self._left and cost < self._members_at_once:
            group = groups.get(self._left.pop())
            if group is not None:
                chosen.append(group)
                cost += 1 + len(group.membership.members)
                self.members += len(group.membership.members)
        while self._left and self._left[-1] not in groups:
            self._left.pop()
        if self.is_over and not chosen:
            # All remaining groups were removed. The last snapshot completes a round, so write some group again.
            chosen = list(groups.values())[:1]
        last = chosen[-1] if chosen and self.is_over else None
        return [(group, self.offset if group is last else None) for group in chosen]
