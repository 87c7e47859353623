"""The audit events of a batch, folded into the rows that the batch adds to the tables. No Spark, no files.

The events of a group are in one partition of the topic, in order, so the rows follow from one pass with a small state
per group. Tables are only appended to: a row is final once it is written. What a generation is, and what it cost, is
the business of `explain.history.GroupHistory`, of which `coordinator groups why` tells too.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import TAGS, AnyCoordinatorEvent, AuditEvent
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import GENERATIONS_REMEMBERED, packed, unpacked
from coordinator.pipeline import memberships
from coordinator.pipeline.events import OtherEvent, read
from coordinator.pipeline.generations import Row, row_of
from coordinator.pipeline.inferred import KnownGroup
from coordinator.pipeline.memberships import Members, head
from coordinator.pipeline.names import (
    COMMITS,
    FINDINGS,
    GAPS,
    GENERATIONS,
    RATE_WINDOW_MS,
    REBALANCE_RATES,
    REJECTS,
    SILVER,
    VOIDS,
)
from coordinator.pipeline.rows import NewRows
from coordinator.pipeline.watch import Told, look

MISSING_MAX: Final = 1_000
"""How many missing events of a group are remembered. A missing event that comes later is accepted; others are not."""

UNKNOWN_CAUSE: Final = "unknown"

COORDINATOR_EVENTS_KEPT: Final = 20
"""How many events about the coordinator itself are remembered of a partition."""

STATE_VERSION: Final = 3
"""What the state means. It grows when a fold could not go on with the state of the version before."""


_SHAPES: Final = {
    kind: (tag, "member" in kind.__struct_fields__, "cause" in kind.__struct_fields__) for kind, tag in TAGS.items()
}
"""Of each kind of event: its name, and whether it has a member and a cause."""

_encode: Final = msgspec.msgpack.Encoder().encode


class Position(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where a record is in the topic, and when it was appended (ms since the epoch)."""

    partition: int
    offset: int
    timestamp_ms: int


class GroupState(msgspec.Struct):
    """What a batch has to know of the batches before."""

    seq: int = 0
    offset: int = -1
    """Of its last event in the topic."""
    missing: list[int] = []
    open: Row | None = None
    """The row of the generation in progress, as of the end of a batch."""
    members: Members = msgspec.field(default_factory=Members)
    stored: KnownGroup | None = None
    """The group as its records in `__consumer_offsets` describe it, if those are what is read."""
    inferred: Row = {}
    """Columns of the row of the latest generation that only the inferred events tell."""
    memory: bytes = b""
    """Of its history; empty if there is none."""
    told: Told = {}
    """Its findings."""


class ReadRange(msgspec.Struct):
    """The last run of offsets of a partition that was read without a hole."""

    first_offset: int = 0
    next_offset: int = 0

    def note(self, offset: int) -> None:
        """A record was read. What lies between it and the one before was deleted from the topic, by its retention."""
        if offset > self.next_offset:
            self.first_offset = offset
        self.next_offset = max(self.next_offset, offset + 1)


class FoldState(msgspec.Struct, array_like=True):
    """What a batch has to know of all batches before."""

    groups: dict[str, GroupState] = {}
    read: dict[int, ReadRange] = {}
    """Partition → what of it was read."""
    about: dict[int, list[AnyCoordinatorEvent]] = {}
    """Partition → the newest events about the coordinator itself in it."""
    version: int = STATE_VERSION


class Open(msgspec.Struct):
    """A group that the batch tells of."""

    state: GroupState
    history: GroupHistory
    partition: int
    is_due: bool = False
    """Whether its findings may have changed."""


class Fold:
    """Takes records in, in the order of each partition; collects the rows of each table and the groups touched."""

    def __init__(self, state: FoldState) -> None:
        """`state` is that before; it is changed."""
        self.groups = state.groups
        self.read = state.read
        self.about = state.about
        self.rows = NewRows()
        self.touched: set[str] = set()
        self.heard: set[int] = set()
        """Partitions with news of the coordinator."""
        self._open: dict[str, Open] = {}
        self._rates: Counter[tuple[str, int, str]] = Counter()

    def take_in(self, values: Iterable[bytes], positions: Iterable[Position]) -> None:
        for value, position in zip(values, positions, strict=True):
            self._range_of(position).note(position.offset)
            event, why = read(value)
            if event is None:
                self.reject(why, value, position)
            elif isinstance(event, OtherEvent):
                self._take_other(event, value, position)
            else:
                self._take_event(event, value, position)

    def reject(self, why: str, value: bytes | None, position: Position) -> None:
        self.rows[REJECTS].append({**where(position), "why": why, "value": value})

    def finish(self) -> NewRows:
        """Return the rows, also those that are of the end of the batch; the state is complete then."""
        for (group_id, window_ms, cause), count in self._rates.items():
            row = {"group_id": group_id, "window_start_ms": window_ms, "cause": cause, "rebalances": count}
            self.rows[REBALANCE_RATES].append(row)
        for each in self._open.values():
            self._close(each)
        self._open.clear()
        return self.rows

    # ---- events

    def _take_event(self, event: AuditEvent, value: bytes, position: Position) -> None:
        if not self._is_new(event, position):
            return
        kind, has_member, has_cause = _SHAPES[type(event)]
        cause = member_id = client_id = None
        if has_member and (member := getattr(event, "member", None)) is not None:
            member_id, client_id = member.member_id, member.client_id
        if has_cause and (told := getattr(event, "cause", None)) is not None:
            cause = told.value
        self._keep(event, kind, cause, member_id, client_id, value, position)
        state = self.groups[event.group_id]
        if event.seq == state.seq:
            group = self._opened(event.group_id, state, position)
            self._apply(group, event, cause)
            group.is_due = group.is_due or type(event) is not schema.OffsetsCommitted or bool(state.told)

    def _take_other(self, event: OtherEvent, value: bytes, position: Position) -> None:
        """An event of the server is in each partition, for those who read of one group; silver has the first one."""
        if event.group_id is None:
            if position.partition == 0:
                self._keep_other(event, value, position)
            if event.about is not None:
                self._note_coordinator(event.about, position.partition)
        elif self._is_new(event, position):
            self._keep_other(event, value, position)
            state = self.groups[event.group_id]
            if event.seq == state.seq:
                self._opened(event.group_id, state, position).history.apply(event.envelope)

    def _note_coordinator(self, event: AnyCoordinatorEvent, partition: int) -> None:
        self.about[partition] = [*self.about.get(partition, ()), event][-COORDINATOR_EVENTS_KEPT:]
        self.heard.add(partition)
        for group in self._open.values():
            if group.partition == partition:
                group.history.note_coordinator(event)

    def _keep_other(self, event: OtherEvent, value: bytes, position: Position) -> None:
        self._keep(event, event.kind, event.cause, event.member_id, event.client_id, value, position)

    def _keep(
        self,
        event: AuditEvent | OtherEvent,
        kind: str,
        cause: str | None,
        member_id: str | None,
        client_id: str | None,
        value: bytes,
        position: Position,
    ) -> None:
        """Add the row of silver, in the order of its columns."""
        self.rows[SILVER].append(
            (
                position.partition,
                position.offset,
                position.timestamp_ms,
                kind,
                event.group_id,
                event.seq,
                event.created_seq,
                event.time_ms,
                event.generation_id,
                event.state,
                event.coordinator_epoch,
                cause,
                member_id,
                client_id,
                value,
            )
        )

    def _range_of(self, position: Position) -> ReadRange:
        found = self.read.get(position.partition)
        if found is None:
            found = self.read[position.partition] = ReadRange()
        return found

    def _is_new(self, event: AuditEvent | OtherEvent, position: Position) -> bool:
        """Note the event as the last of its group, and what is missing before it; false if it was there before."""
        group_id, seq, created_seq = event.group_id, event.seq, event.created_seq
        assert group_id is not None and seq is not None and created_seq is not None
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = GroupState()
        if seq <= group.seq:
            if seq not in group.missing:
                return False
            group.missing = [each for each in group.missing if each != seq]
            self.touched.add(group_id)
            self._add_gap(event, seq, seq, position, is_filled=True)
            return True
        first = group.seq + 1 if group.seq >= created_seq else created_seq
        if first < seq:
            # Each event has an offset of its own, so those that are missing lay after the group's last one.
            is_deleted = group.offset + 1 < self._range_of(position).first_offset
            self._add_gap(event, first, seq - 1, position, is_deleted=is_deleted)
            group.missing = [*group.missing, *range(first, min(seq, first + MISSING_MAX))][-MISSING_MAX:]
        group.seq, group.offset = seq, position.offset
        self.touched.add(group_id)
        return True

    def _add_gap(
        self,
        event: AuditEvent | OtherEvent,
        first_seq: int,
        last_seq: int,
        position: Position,
        *,
        is_filled: bool = False,
        is_deleted: bool = False,
    ) -> None:
        """Add missing events of a group. `is_deleted`: they lay at offsets that the topic no longer had."""
        row = {"group_id": event.group_id, "created_seq": event.created_seq, "time_ms": event.time_ms}
        row |= {"first_seq": first_seq, "last_seq": last_seq, "is_filled": is_filled, "is_deleted": is_deleted}
        self.rows[GAPS].append({**row, **where(position)})

    # ---- groups

    def _opened(self, group_id: str, state: GroupState, position: Position) -> Open:
        found = self._open.get(group_id)
        if found is None:
            history = unpacked(state.memory) if state.memory else GroupHistory(group_id, GENERATIONS_REMEMBERED)
            history.coordinator_events.extend(self.about.get(position.partition, ()))
            found = self._open[group_id] = Open(state, history, position.partition)
        return found

    def _apply(self, group: Open, event: AuditEvent, cause: str | None) -> None:
        history = group.history
        history.apply(event)
        for generation in history.ended:
            self.rows[GENERATIONS].append(self._row(group, generation))
        more = _MORE.get(type(event))
        if more is not None:
            more(self, group, event, cause)

    def _change_members(self, group: Open, event: AuditEvent, cause: str | None) -> None:
        memberships.apply(group.state.members, event, cause, self.rows)

    def _count_rebalance(self, group: Open, event: AuditEvent, cause: str | None) -> None:
        window_ms = event.time_ms // RATE_WINDOW_MS * RATE_WINDOW_MS
        self._rates[event.group_id, window_ms, cause or UNKNOWN_CAUSE] += 1

    def _add_commits(self, group: Open, event: schema.OffsetsCommitted, cause: str | None) -> None:
        numbers = event.interval_ms, event.commits, event.partitions, event.first_log_offset, event.last_log_offset
        head = event.group_id, event.created_seq, event.seq, event.time_ms, event.generation_id
        self.rows[COMMITS].append(head + numbers)

    def _load(self, group: Open, event: schema.GroupLoaded, cause: str | None) -> None:
        if event.void_from_seq is not None:
            self.rows[VOIDS].append({**head(event), "first_seq": event.void_from_seq, "last_seq": event.seq - 1})
        self._change_members(group, event, cause)

    def _row(self, group: Open, generation: Generation) -> Row:
        """The row of a generation as it is now."""
        return row_of(group.history, generation)

    def _close(self, group: Open) -> None:
        """Put into the state what the next batch has to know, and tell the findings."""
        history, state = group.history, group.state
        if group.is_due and (found := look(history, state.told)):
            self.rows[FINDINGS] += found
        latest = history.latest
        state.open = self._row(group, latest) if latest is not None and latest.is_open else None
        try:
            _encode(state.open)
            state.memory = packed(history)
        except OverflowError:  # numbers that no coordinator writes: the next event begins in the middle
            state.open, state.memory = None, b""


_MORE: Final[dict[type[AuditEvent], Callable[[Fold, Open, Any, str | None], None]]] = {
    **dict.fromkeys(memberships.APPLIED, Fold._change_members),
    schema.RebalanceStarted: Fold._count_rebalance,
    schema.OffsetsCommitted: Fold._add_commits,
    schema.GroupLoaded: Fold._load,
}
"""What an event adds beside the rows of generations."""


def where(position: Position) -> Row:
    return {"partition": position.partition, "offset": position.offset, "timestamp_ms": position.timestamp_ms}
