"""The audit events of a partition in a batch, folded into the rows that they add to the tables. No Spark, no files.

The events of a group are in one partition of the topic, in order, so the rows follow from one pass with a small state
per group. Tables are only appended to: a row is final once it is written. What a generation is, and what it cost, is
the business of `explain.history.GroupHistory`, of which `coordinator groups why` tells too.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import TAGS, AnyCoordinatorEvent, AuditEvent, ObservedEvent
from coordinator.explain.generation import Generation
from coordinator.explain.history import ABSENCES, GroupHistory
from coordinator.explain.memory import GENERATIONS_REMEMBERED, packed, unpacked
from coordinator.pipeline import memberships, shares
from coordinator.pipeline.events import OtherEvent, read
from coordinator.pipeline.generations import Row, row_of
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
from coordinator.pipeline.observed_columns import cause_of, columns_of, for_history
from coordinator.pipeline.partition_state import (
    COORDINATOR_EVENTS_KEPT,
    GroupState,
    PartitionState,
    ReadRange,
    encode_group,
)
from coordinator.pipeline.rows import NewRows, head
from coordinator.pipeline.watch import look

MISSING_MAX: Final = 1_000
"""How many missing events of a group are remembered. A missing event that comes later is accepted; others are not."""

UNKNOWN_CAUSE: Final = "unknown"


_SHAPES: Final = {
    kind: (tag, "member" in kind.__struct_fields__, "cause" in kind.__struct_fields__) for kind, tag in TAGS.items()
}
"""Of each kind of event: its name, and whether it has a member and a cause."""


class Position(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where a record is in the topic, and when it was appended (ms since the epoch)."""

    partition: int
    offset: int
    timestamp_ms: int


class Open(msgspec.Struct):
    """A group that the batch tells of."""

    state: GroupState
    history: GroupHistory
    is_due: bool = False
    """Whether its findings may have changed."""


class Fold:
    """Takes in the records of one partition, in order; adds the rows of each table and collects what changes."""

    def __init__(self, before: PartitionState, rows: NewRows) -> None:
        """`before` is the state before the batch, which stays as it is; rows are added to `rows`."""
        self.rows = rows
        self._before = before
        self._groups: dict[str, GroupState] = {}
        """Those that the batch tells of."""
        self._touched: set[str] = set()
        """Those that have changed."""
        self._read = ReadRange(before.read.first_offset, before.read.next_offset)
        self._about = before.about or []
        self._has_heard = False
        self._open: dict[str, Open] = {}
        self._rates: Counter[tuple[str, int, str, str]] = Counter()

    def add_records(self, values: Iterable[bytes], positions: Iterable[Position]) -> None:
        for value, position in zip(values, positions, strict=True):
            self._read.note(position.offset)
            event, why = read(value)
            if event is None:
                self.reject(why, value, position)
            elif isinstance(event, OtherEvent):
                self._add_server_event(event, value, position)
            elif isinstance(event, ObservedEvent):
                self._add_observed(event, value, position)
            else:
                self._add_event(event, value, position)

    def reject(self, why: str, value: bytes | None, position: Position) -> None:
        self.rows[REJECTS].append({**where(position), "why": why, "value": value})

    def finish(self) -> PartitionState:
        """Add the rows that are of the end of the batch; return what has changed of the state."""
        for (group_id, window_ms, cause, group_type), count in self._rates.items():
            row = {"group_id": group_id, "window_start_ms": window_ms, "cause": cause, "rebalances": count}
            self.rows[REBALANCE_RATES].append({**row, "group_type": group_type})
        for opened in self._open.values():
            self._close(opened)
        self._open.clear()
        groups = {group_id: _encoded(self._groups[group_id]) for group_id in self._touched}
        return PartitionState(groups, self._read, self._about if self._has_heard else None)

    # ---- events

    def _add_event(self, event: AuditEvent, value: bytes, position: Position) -> None:
        if not self._is_new(event, position):
            return
        kind, has_member, has_cause = _SHAPES[type(event)]
        cause = member_id = client_id = None
        if has_member and (member := getattr(event, "member", None)) is not None:
            member_id, client_id = member.member_id, member.client_id
        if has_cause and (event_cause := getattr(event, "cause", None)) is not None:
            cause = event_cause.value
        self._keep(event, kind, cause, member_id, client_id, value, position)
        state = self._groups[event.group_id]
        if event.seq == state.seq:
            group = self._opened(event.group_id, state)
            self._apply(group, event, cause)
            group.is_due = group.is_due or type(event) is not schema.OffsetsCommitted or bool(state.told)

    def _add_server_event(self, event: OtherEvent, value: bytes, position: Position) -> None:
        """An event of the server is in each partition, for those who read of one group; silver has the first one.

        That a partition is led, or that a group has members at the cluster, is in its partition alone. The latter is
        none of the events that a group counts.
        """
        if isinstance(event.about, schema.GroupHeldByCluster):
            self._keep_other(event, value, position)
            self._note_held(event.about)
        elif event.group_id is None:
            if position.partition == 0 or isinstance(event.about, schema.LeadershipTaken):
                self._keep_other(event, value, position)
            if isinstance(event.about, ABSENCES):
                self._note_coordinator(event.about)
        elif self._is_new(event, position):
            self._keep_other(event, value, position)
            state = self._groups[event.group_id]
            if event.seq == state.seq:
                self._opened(event.group_id, state).history.apply(event.envelope)

    def _add_observed(self, observed: ObservedEvent, value: bytes, position: Position) -> None:
        """What `coordinator watch` saw of another Kafka: rows as those of any event, as far as things are known."""
        event = for_history(observed.event)
        if not self._is_new(event, position):
            return
        cause, member = cause_of(observed), getattr(event, "member", None)
        member_id, client_id = (None, None) if member is None else (member.member_id, member.client_id)
        self._keep(event, TAGS[type(event)], cause, member_id, client_id, value, position)
        state = self._groups[event.group_id]
        if event.seq == state.seq:
            group = self._opened(event.group_id, state)
            self._apply_observed(group, event, cause, observed)
            group.is_due = True

    def _note_coordinator(self, event: AnyCoordinatorEvent) -> None:
        self._about, self._has_heard = [*self._about, event][-COORDINATOR_EVENTS_KEPT:], True
        for group in self._open.values():
            group.history.note_coordinator(event)

    def _note_held(self, event: schema.GroupHeldByCluster) -> None:
        group = self._opened(event.group_id, self._state_of(event.group_id))
        group.history.note_coordinator(event)
        group.is_due = True
        self._touched.add(event.group_id)

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

    def _existing(self, group_id: str) -> GroupState | None:
        """The group as it is now; None if nothing was told of it."""
        group = self._groups.get(group_id)
        if group is None:
            group = self._before.group(group_id)
            if group is not None:
                self._groups[group_id] = group
        return group

    def _state_of(self, group_id: str) -> GroupState:
        """As `_existing`, with a new state for a group of which nothing was told."""
        group = self._existing(group_id)
        if group is None:
            group = self._groups[group_id] = GroupState()
        return group

    def _is_new(self, event: AuditEvent | OtherEvent, position: Position) -> bool:
        """Note the event as the last of its group, and what is missing before it; false if it was there before."""
        group_id, seq, created_seq = event.group_id, event.seq, event.created_seq
        assert group_id is not None and seq is not None and created_seq is not None
        group = self._state_of(group_id)
        if seq <= group.seq:
            if seq not in group.missing:
                return False
            group.missing = [number for number in group.missing if number != seq]
            self._touched.add(group_id)
            self._add_gap(event, seq, seq, position, is_filled=True)
            return True
        first = group.seq + 1 if group.seq >= created_seq else created_seq
        if first < seq:
            # Each event has an offset of its own, so those that are missing lay after the group's last one.
            is_deleted = group.offset + 1 < self._read.first_offset
            self._add_gap(event, first, seq - 1, position, is_deleted=is_deleted)
            group.missing = [*group.missing, *range(first, min(seq, first + MISSING_MAX))][-MISSING_MAX:]
        group.seq, group.offset = seq, position.offset
        self._touched.add(group_id)
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

    def _opened(self, group_id: str, state: GroupState) -> Open:
        found = self._open.get(group_id)
        if found is None:
            history = unpacked(state.memory) if state.memory else GroupHistory(group_id, GENERATIONS_REMEMBERED)
            history.go_on(self._about)
            found = self._open[group_id] = Open(state, history)
        return found

    def _apply(self, group: Open, event: AuditEvent, cause: str | None) -> None:
        group.history.apply(event)
        for generation in group.history.ended:
            self.rows[GENERATIONS].append(self._row(group, generation))
        self._add_more(group, event, cause)

    def _apply_observed(self, group: Open, event: AuditEvent, cause: str | None, observed: ObservedEvent) -> None:
        history, before = group.history, group.state.inferred
        history.is_of_cluster = True
        history.apply(event)
        latest = history.latest
        begins = latest is not None and latest.first_seq == event.seq
        group.state.inferred = columns_of(observed, history.group_type, {} if begins else before)
        for generation in history.ended:
            columns = group.state.inferred if generation is latest else before
            self.rows[GENERATIONS].append(row_of(history, generation) | columns)
        self._add_more(group, event, cause)

    def _add_more(self, group: Open, event: AuditEvent, cause: str | None) -> None:
        more = _MORE.get(type(event))
        if more is not None:
            more(self, group, event, cause)

    def _change_members(self, group: Open, event: AuditEvent, cause: str | None) -> None:
        memberships.apply(group.state.members, event, cause, group.history.group_type, self.rows)

    def _count_rebalance(self, group: Open, event: AuditEvent, cause: str | None) -> None:
        window_ms = event.time_ms // RATE_WINDOW_MS * RATE_WINDOW_MS
        self._rates[event.group_id, window_ms, cause or UNKNOWN_CAUSE, group.history.group_type] += 1

    def _add_commits(self, group: Open, event: schema.OffsetsCommitted, cause: str | None) -> None:
        numbers = event.interval_ms, event.commits, event.partitions, event.first_log_offset, event.last_log_offset
        head = event.group_id, event.created_seq, event.seq, event.time_ms, event.generation_id
        self.rows[COMMITS].append(head + numbers)

    def _add_share_records(self, group: Open, event: schema.ShareRecords, cause: str | None) -> None:
        shares.add_records(event, self.rows)

    def _load(self, group: Open, event: schema.GroupLoaded, cause: str | None) -> None:
        if event.void_from_seq is not None:
            self.rows[VOIDS].append({**head(event), "first_seq": event.void_from_seq, "last_seq": event.seq - 1})
        self._change_members(group, event, cause)

    def _row(self, group: Open, generation: Generation) -> Row:
        """The row of a generation as it is now."""
        return row_of(group.history, generation) | group.state.inferred

    def _close(self, group: Open) -> None:
        """Put into the state what the next batch has to know, and tell the findings."""
        history, state = group.history, group.state
        if group.is_due and (found := look(history, state.told)):
            self.rows[FINDINGS] += found
        latest = history.latest
        state.open = self._row(group, latest) if latest is not None and latest.is_open else None
        try:
            state.memory = packed(history)
        except OverflowError:
            _forget(state)


_MORE: Final[dict[type[AuditEvent], Callable[[Fold, Open, Any, str | None], None]]] = {
    **dict.fromkeys(memberships.APPLIED, Fold._change_members),
    schema.RebalanceStarted: Fold._count_rebalance,
    schema.OffsetsCommitted: Fold._add_commits,
    schema.ShareRecords: Fold._add_share_records,
    schema.GroupLoaded: Fold._load,
}
"""What an event adds beside the rows of generations."""


def _encoded(state: GroupState) -> bytes:
    try:
        return encode_group(state)
    except OverflowError:
        _forget(state)
        return encode_group(state)


def _forget(state: GroupState) -> None:
    """Of numbers that no coordinator writes and no file can hold: the next event of the group begins in the middle."""
    state.open, state.memory = None, b""


def where(position: Position) -> Row:
    return {"partition": position.partition, "offset": position.offset, "timestamp_ms": position.timestamp_ms}
