"""Counts the groups of a node in slices, so that many groups stall no client."""

from collections import Counter
from collections.abc import Awaitable, Callable
from heapq import nlargest
from itertools import chain
from typing import Any, Final

import msgspec

from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.metrics.group_meter import GroupMeter, GroupRecord
from coordinator.metrics.top_groups import Candidate, TopGroups

GROUPS_AT_ONCE: Final = 500
NO_RECORD: Final = GroupRecord()

Pause = Callable[[], Awaitable[None]]
"""Gives other work its turn."""


class Census(msgspec.Struct):
    """What all groups come to, and the groups that have series of their own."""

    groups: int = 0
    states: Counter[tuple[str, GroupState]] = msgspec.field(default_factory=Counter)
    """(kind of group, state) → groups."""
    members: int = 0
    offsets: int = 0
    top: list[str] = msgspec.field(default_factory=list)

    def groups_of(self, kind: str) -> int:
        """The groups of a kind."""
        return sum(count for (name, _), count in self.states.items() if name == kind)


class GroupCensus:
    """Counts the groups. Those that change meanwhile are counted as they are when their turn comes."""

    def __init__(self, coordinator: GroupCoordinator, meter: GroupMeter, top_groups: TopGroups) -> None:
        self._coordinator = coordinator
        self._meter = meter
        self._top_groups = top_groups
        self._candidates: list[Candidate] = []

    async def count(self, now_ms: int, pause: Pause) -> Census:
        census, counted = Census(), 0
        self._candidates = []
        for shard in self._coordinator.shards:
            groups = list(shard.machine.groups.values())
            for start in range(0, len(groups), GROUPS_AT_ONCE):
                part = groups[start : start + GROUPS_AT_ONCE]
                self._count(part, census)
                counted += len(part)
                if counted >= GROUPS_AT_ONCE:
                    counted = 0
                    await pause()
        if len(self._meter.records) > census.groups:
            await self._forget_records(pause)
        if self._top_groups.groups_max:
            existing = {group_id for group_id in self._top_groups.listed if self.exists(group_id)}
            candidates = [candidate for candidate in self._candidates if self.exists(candidate.group_id)]
            census.top = self._top_groups.choose(existing, candidates, now_ms)
        return census

    def exists(self, group_id: str) -> bool:
        return group_id in self._coordinator.shard_of(group_id).machine.groups

    def _count(self, groups: list[Group[Any]], census: Census) -> None:
        states, records = census.states, self._meter.records
        census.groups += len(groups)
        for group in groups:
            membership = group.membership
            states[group.kind.name, membership.state] += 1
            census.members += len(membership.members)
            for offsets in group.offsets.by_topic.values():
                census.offsets += len(offsets)
        if self._top_groups.groups_max:
            ranked = (
                Candidate(records.get(group.group_id, NO_RECORD).rank, len(group.membership.members), group.group_id)
                for group in groups
            )
            self._candidates = nlargest(self._top_groups.groups_max, chain(self._candidates, ranked))

    async def _forget_records(self, pause: Pause) -> None:
        """Of groups of partitions that this node does not serve any more."""
        group_ids = list(self._meter.records)
        for start in range(0, len(group_ids), GROUPS_AT_ONCE):
            for group_id in group_ids[start : start + GROUPS_AT_ONCE]:
                if not self.exists(group_id):
                    self._meter.records.pop(group_id, None)
            await pause()
