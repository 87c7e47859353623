"""Counts what happens to groups, from the events that change them."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import exp2, log2
from typing import Any, Final

from coordinator.core.causes import Cause
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.events import GroupRemoved, RequestRejected
from coordinator.core.groups.kind import KindEvents
from coordinator.core.groups.kinds import KINDS
from coordinator.core.offsets.events import (
    DeletionCause,
    OffsetsDeleted,
    TransactionalOffsetsCommitted,
)
from coordinator.metrics.timing import EventMeter

HALF_LIFE_MS: Final = 600_000
"""A rebalance counts half as much for the rank of its group after this time."""


@dataclass(slots=True)
class GroupRecord:
    """The rebalances of one group since the start of the server."""

    rebalances: Counter[Cause] = field(default_factory=Counter)
    began_ms: int | None = None
    """When the rebalance under way began."""
    last_rebalance_ms: int | None = None
    """How long the last complete rebalance took, in ms."""
    rank: float = float("-inf")
    """log2 of the number of recent rebalances, plus the time in half-lives: comparable without reading a clock."""

    def rebalance_began(self, cause: Cause, at_ms: int) -> None:
        self.rebalances[cause] += 1
        if self.began_ms is None:
            self.began_ms = at_ms
        since = at_ms / HALF_LIFE_MS
        self.rank = since + log2(exp2(min(self.rank - since, 1_000.0)) + 1)

    def rebalance_ended(self, at_ms: int) -> None:
        if self.began_ms is not None:
            self.last_rebalance_ms, self.began_ms = max(at_ms - self.began_ms, 0), None


class GroupMeter(EventMeter):
    """The counters. A group has a record from its first rebalance until it is removed."""

    def __init__(self, keeps_records: bool) -> None:
        super().__init__(COUNTED)
        self.rebalances: Counter[Cause] = Counter()
        self.completed_rebalances = 0
        self.removed_members: Counter[Cause] = Counter()
        self.rejected: Counter[tuple[str, str]] = Counter()
        """(API, error) → requests about groups."""
        self.offset_deletions: Counter[DeletionCause] = Counter()
        self.records: dict[str, GroupRecord] = {}
        self._keeps_records = keeps_records

    def count_pending_offsets(self, event: TransactionalOffsetsCommitted) -> None:
        for offsets in event.offsets.values():
            self.offset_commits += len(offsets)

    def count_deleted_offsets(self, event: OffsetsDeleted) -> None:
        self.offset_deletions[event.cause] += len(event.partitions)

    def start_rebalance(self, event: GroupEvent, cause: Cause) -> None:
        self.rebalances[cause] += 1
        if self._keeps_records:
            record = self.records.get(event.group_id)
            if record is None:
                record = self.records[event.group_id] = GroupRecord()
            record.rebalance_began(cause, event.at_ms)

    def complete_rebalance(self, event: GroupEvent) -> None:
        self.completed_rebalances += 1
        self.end_rebalance(event)

    def end_rebalance(self, event: GroupEvent) -> None:
        record = self.records.get(event.group_id)
        if record is not None:
            record.rebalance_ended(event.at_ms)

    def count_removed_member(self, event: Any) -> None:
        self.removed_members[event.cause] += 1

    def count_rejected_request(self, event: RequestRejected) -> None:
        self.rejected[event.api, event.error.name] += 1

    def remove_group(self, event: GroupRemoved) -> None:
        self.records.pop(event.group_id, None)


Count = Callable[[GroupMeter, Any], None]


def _starting_rebalance(cause_of: Callable[[Any], Cause]) -> Count:
    return lambda meter, event: meter.start_rebalance(event, cause_of(event))


def _of_kind(events: KindEvents) -> Iterator[tuple[type, Count]]:
    """How the events of a kind of group are counted."""
    for event, cause_of in events.rebalance_started.items():
        yield event, _starting_rebalance(cause_of)
    for several, count in (
        (events.rebalance_completed, GroupMeter.complete_rebalance),
        (events.emptied, GroupMeter.end_rebalance),
        (events.member_removed, GroupMeter.count_removed_member),
    ):
        yield from ((event, count) for event in several)


COUNTED: Final[dict[type, Count]] = {
    TransactionalOffsetsCommitted: GroupMeter.count_pending_offsets,
    OffsetsDeleted: GroupMeter.count_deleted_offsets,
    RequestRejected: GroupMeter.count_rejected_request,
    GroupRemoved: GroupMeter.remove_group,
    **{event: count for kind in KINDS.values() for event, count in _of_kind(kind.events)},
}
