"""Since when the committed offsets of groups stand still, by samples of their lag."""

from typing import Final, NamedTuple

from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.client.standing_offsets import Standing
from coordinator.explain.folded_group import STABLE

PARTITIONS_MAX: Final = 10_000
"""Partitions of which it is remembered. Of further ones it is not known."""
GAP_MS: Final = 30_000
"""After a longer time without a sample, what was seen is dropped: the server was away, and nobody could commit."""

Key = tuple[str, str, int]
"""Group, topic and partition."""


class _Seen(NamedTuple):
    offset: int
    owner: str
    since_ms: int
    is_longer: bool
    """It was so in the first sample that has the partition."""


class StandingOffsets:
    """What partitions have records to read, and an owner in a stable group, and since when nothing of that changed."""

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}
        self._sampled_groups: set[str] = set()
        """Those of the sample before. What is new in one of them was otherwise before."""
        self._sampled_ms = 0

    def apply(self, groups: list[DescribedGroup], time_ms: int, moved_ms: dict[Key, int]) -> None:
        """Take a sample, and tell each partition since when it stands. `moved_ms`: the moves that were seen so far."""
        if time_ms - self._sampled_ms > GAP_MS:
            self._seen, self._sampled_groups = {}, set()
        self._sampled_ms = time_ms
        seen: dict[Key, _Seen] = {}
        for group in groups:
            for partition in group.partitions:
                key = (group.group_id, partition.topic, partition.partition)
                now = self._next(key, group.state, partition, time_ms)
                if now is not None and len(seen) < PARTITIONS_MAX:
                    seen[key] = now
                moved = moved_ms.get(key)
                if now is not None:
                    partition.standing = Standing(now.since_ms, now.is_longer, moved)
                elif moved is not None:
                    partition.standing = Standing(time_ms, is_longer=False, moved_ms=moved)
        self._seen = seen
        self._sampled_groups = {group.group_id for group in groups}

    def _next(self, key: Key, state: str, partition: PartitionLag, time_ms: int) -> _Seen | None:
        offset, owner = partition.committed_offset, partition.member_id
        if state != STABLE or owner is None or offset is None or (partition.lag or 0) <= 0:
            return None
        before = self._seen.get(key)
        if before is None:
            return _Seen(offset, owner, time_ms, key[0] not in self._sampled_groups)
        is_same = (before.offset, before.owner) == (offset, owner)
        return before if is_same else _Seen(offset, owner, time_ms, is_longer=False)
