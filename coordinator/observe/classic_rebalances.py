"""Rebalances of a classic group: which lines and which record belong to one, and when it is told.

The lines of a rebalance are gathered until its record has come, or something else shows that none will.
"""

from typing import Final

from coordinator.observe.classic import classic_events
from coordinator.observe.classic_lines import Gathered, Members, gathered_events
from coordinator.observe.group_events import GroupEvents
from coordinator.observe.group_so_far import CLASSIC, EventEmitter
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup
from coordinator.observe.places import Place
from coordinator.observe.records.stored import ClassicGroup

REBALANCE_BEGINS_MS: Final = 60_000
"""So long after a line about a member of a classic group a rebalance may follow that it is part of."""


class ClassicRebalances:
    """`waiting`: what changed the members while no rebalance was in progress, `current`: the one that is."""

    def __init__(self, events: GroupEvents, members: Members, *, has_records: bool) -> None:
        """`has_records`: whether the records of the group can be seen, too."""
        self._events, self._members, self._has_records = events, members, has_records
        self.waiting: list[OfGroup] = []
        self.current: Gathered | None = None

    @property
    def awaits_record(self) -> bool:
        """Whether the lines tell a rebalance to its end, and its record has not come."""
        return self.current is not None and self.current.is_complete

    def may_be_under_way(self, at_ms: int) -> bool:
        begins = any(statement.place.time_ms >= at_ms - REBALANCE_BEGINS_MS for statement in self.waiting)
        return self.current is not None or begins

    def apply_record(self, place: Place, record: ClassicGroup) -> None:
        current = self.current
        if current is not None and record.generation_id == current.generation_id:
            self.finish(place, record)
            return
        if current is not None and record.generation_id > current.generation_id:
            self.finish(place)
        emitter = self._events.emitter(place)
        classic_events(emitter, record)
        self._events.keep(emitter, is_inferred=True)

    def apply_line(self, statement: OfGroup) -> None:
        if isinstance(statement, said.RebalancePrepared):
            self.finish(statement.place)
            self.current = Gathered(statement.generation_before, statement, self.waiting)
            self.waiting = []
        elif isinstance(statement, (said.GroupStabilized, said.AssignmentReceived, said.GroupEmptied)):
            self._apply_step(statement)
        elif isinstance(statement, _CHANGES):
            current = self.current
            (self.waiting if current is None or current.is_complete else current.changes).append(statement)

    def _apply_step(self, statement: said.GroupStabilized | said.AssignmentReceived | said.GroupEmptied) -> None:
        current, so_far = self.current, self._events.so_far
        if current is None or current.generation_id != statement.generation_id:
            if so_far.protocol == CLASSIC and statement.generation_id <= so_far.generation_id:
                return  # its record was there first
            self.finish(statement.place)
            current = self.current = Gathered(statement.generation_id - 1, changes=self.waiting)
            self.waiting = []
        match statement:
            case said.GroupStabilized():
                current.stabilized = statement
            case said.AssignmentReceived():
                current.assigned = statement
            case said.GroupEmptied():
                current.emptied = statement
        if current.is_complete and not self._has_records:
            self.finish(None)

    def finish(self, place: Place | None, record: ClassicGroup | None = None) -> None:
        """Tell the rebalance whose lines are gathered: with its record, or without one as something else follows."""
        rebalance, self.current = self.current, None
        if rebalance is None:
            return
        events = self._events
        emitter = EventEmitter(events.group_id, events.so_far, 0 if place is None else place.time_ms)
        emitter.places = () if place is None or record is None else (place,)
        joins = events.seen.joins_of(rebalance.generation_id)
        gathered_events(emitter, rebalance, record, self._members, joins, until=place)
        events.keep(emitter, is_inferred=False)


_CHANGES: Final = (
    said.MemberAdded,
    said.MemberIdHandedOut,
    said.SessionExpired,
    said.MemberLeft,
    said.MembersDropped,
    said.StaticMemberReturned,
    said.PendingExpired,
)
