"""Which groups have offsets of a transaction pending, so that its marker need not look at all others.

Counterpart in Kafka: `OffsetMetadataManager.openTransactions`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from coordinator.core.groups.group import Group


class GroupsInTransaction:
    """Producer id → the groups of one partition with pending offsets of its transaction."""

    def __init__(self) -> None:
        self._group_ids: dict[int, dict[str, None]] = {}

    def add(self, producer_id: int, group_id: str) -> None:
        self._group_ids.setdefault(producer_id, {})[group_id] = None

    def discard(self, producer_id: int, group_id: str) -> None:
        group_ids = self._group_ids.get(producer_id)
        if group_ids is not None:
            group_ids.pop(group_id, None)
            if not group_ids:
                del self._group_ids[producer_id]

    def add_group(self, group: Group[Any]) -> None:
        for producer_id in producers_of(group):
            self.add(producer_id, group.group_id)

    def discard_group(self, group_id: str, producer_ids: Iterable[int]) -> None:
        for producer_id in producer_ids:
            self.discard(producer_id, group_id)

    def of(self, producer_id: int, groups: Mapping[str, Group[Any]]) -> "GroupsOfTransaction":
        """Those of `groups`; valid until the next change."""
        return GroupsOfTransaction(self._group_ids.get(producer_id, {}), groups)


class GroupsOfTransaction(Mapping[str, Group[Any]]):
    """The groups with pending offsets of one transaction, which are looked up one by one: there may be many."""

    def __init__(self, group_ids: Mapping[str, None], groups: Mapping[str, Group[Any]]) -> None:
        self._group_ids = group_ids
        self._groups = groups

    def __getitem__(self, group_id: str) -> Group[Any]:
        return self._groups[group_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._group_ids)

    def __len__(self) -> int:
        return len(self._group_ids)


def producers_of(group: Group[Any]) -> list[int]:
    """The ids of the producers whose transactions have offsets of the group pending."""
    return [] if group.offsets.pending is None else list(group.offsets.pending.by_producer)
