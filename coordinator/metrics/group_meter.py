"""Counts what happens to groups, from the events that change them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import exp2, log2
from typing import Any, Final

import msgspec

from coordinator.core.causes import Cause
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.events import GroupRemoved, RequestRejected
from coordinator.core.groups.kind import GroupKind
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.table import KINDS
from coordinator.core.offsets.events import (
    DeletionCause,
    OffsetsDeleted,
    TransactionalOffsetsCommitted,
)
from coordinator.metrics.timing import EventMeter

HALF_LIFE_MS: Final = 600_000
"""A rebalance counts half as much for the rank of its group after this time."""


class GroupRecord(msgspec.Struct):
    """The rebalances of one group since the start of the server."""

    rebalances: Counter[Cause] = msgspec.field(default_factory=Counter)
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
        self.counted_rebalances: Counter[str] = Counter()
        """Kind of group → rebalances as Kafka counts them."""
        self.removed_members: Counter[Cause] = Counter()
        self.rejected: Counter[tuple[str, str]] = Counter()
        """(API, error) → requests about groups."""
        self.offset_deletions: Counter[DeletionCause] = Counter()
        self.records: dict[str, GroupRecord] = {}
        self._keeps_records = keeps_records

    def count_pending_offsets(self, event: TransactionalOffsetsCommitted, _: GroupState) -> None:
        for offsets in event.offsets.values():
            self.offset_commits += len(offsets)

    def count_deleted_offsets(self, event: OffsetsDeleted, _: GroupState) -> None:
        self.offset_deletions[event.cause] += len(event.partitions)

    def start_rebalance(self, event: GroupEvent, cause: Cause) -> None:
        self.rebalances[cause] += 1
        if self._keeps_records:
            record = self.records.get(event.group_id)
            if record is None:
                record = self.records[event.group_id] = GroupRecord()
            record.rebalance_began(cause, event.at_ms)

    def end_rebalance(self, event: GroupEvent) -> None:
        record = self.records.get(event.group_id)
        if record is not None:
            record.rebalance_ended(event.at_ms)

    def count_rejected_request(self, event: RequestRejected, _: GroupState) -> None:
        self.rejected[event.api, event.error.name] += 1

    def remove_group(self, event: GroupRemoved, _: GroupState) -> None:
        self.records.pop(event.group_id, None)


Count = Callable[[GroupMeter, Any, GroupState], None]
"""(meter, event, state of the group after the decision of the event)."""


def _starting_rebalance(cause_of: Callable[[Any], Cause]) -> Count:
    return lambda meter, event, state: meter.start_rebalance(event, cause_of(event))


def _counting_rebalance(kind: str, is_counted: Callable[[Any], bool]) -> Count:
    def count(meter: GroupMeter, event: Any, state: GroupState) -> None:
        meter.counted_rebalances[kind] += is_counted(event)

    return count


def _ending_rebalance(has_ended: Callable[[Any, GroupState], bool]) -> Count:
    def count(meter: GroupMeter, event: Any, state: GroupState) -> None:
        if has_ended(event, state):
            meter.end_rebalance(event)

    return count


def _removing_members(causes_of: Callable[[Any], Iterable[Cause]]) -> Count:
    return lambda meter, event, state: meter.removed_members.update(causes_of(event))


def _all_of(counts: list[Count]) -> Count:
    def count(meter: GroupMeter, event: Any, state: GroupState) -> None:
        for count in counts:
            count(meter, event, state)

    return counts[0] if len(counts) == 1 else count


def _of_kind(kind: GroupKind) -> Mapping[type, Count]:
    """How the events of a kind of group are counted. A rebalance starts before the same event ends it."""
    events = kind.events
    counts: dict[type, list[Count]] = {}
    for event, cause_of in events.rebalance_started.items():
        counts.setdefault(event, []).append(_starting_rebalance(cause_of))
    for event, is_counted in events.rebalance_counted.items():
        counts.setdefault(event, []).append(_counting_rebalance(kind.name, is_counted))
    for event, has_ended in events.rebalance_ended.items():
        counts.setdefault(event, []).append(_ending_rebalance(has_ended))
    for event, causes_of in events.members_removed.items():
        counts.setdefault(event, []).append(_removing_members(causes_of))
    return {event: _all_of(several) for event, several in counts.items()}


COUNTED: Final[dict[type, Count]] = {
    TransactionalOffsetsCommitted: GroupMeter.count_pending_offsets,
    OffsetsDeleted: GroupMeter.count_deleted_offsets,
    RequestRejected: GroupMeter.count_rejected_request,
    GroupRemoved: GroupMeter.remove_group,
    **{event: count for kind in KINDS.values() for event, count in _of_kind(kind).items()},
}
