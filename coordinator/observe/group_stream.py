"""One group of a Kafka that is watched: its records and lines as they come, in the order in which they are told.

Lines and records of the same thing arrive at different times, each kind in its own order. So what arrives is held
until nothing can come any more that belongs before it; the caller knows when that is.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Container, Iterable
from itertools import islice
from typing import Any, Final

import msgspec

from coordinator.core.causes import Cause
from coordinator.observe.alignment import is_confirmed, member_ids, record_key
from coordinator.observe.classic_lines import Members
from coordinator.observe.consumer import TopicNames
from coordinator.observe.evidence import ObservedEvent
from coordinator.observe.group import GroupObserver
from coordinator.observe.group_so_far import Removed
from coordinator.observe.kept_group import KeptGroup, LineMark, kept_group, observer_state
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.statements import OfGroup, Sighted
from coordinator.observe.ordering import ahead_ms, members_in
from coordinator.observe.places import Place
from coordinator.observe.poll import LIST_GROUPS, PresentGroup
from coordinator.observe.records.stored import GroupRecord
from coordinator.observe.seen_member import ALWAYS_THERE, NodesThere
from coordinator.observe.sources import logs_reason

CONFIRMED_WITHIN_MS: Final = 1_000
"""A record that is written later than this after a line confirms it no more: it may not be read yet when the line is
told, and the events must not depend on that."""
GONE_MEMBERS_KEPT: Final = 200
RECENT_RECORDS: Final = 20
KEPT_MAX: Final = 1_000
"""Of each kind of thing that is gathered and belongs to no rebalance yet: a client can make as many as it likes."""


class LoggedStatement(msgspec.Struct, frozen=True):
    """A statement, and which line of which log it is. `order_ms` is its time, never less than of a line before it."""

    statement: OfGroup
    log: str
    mark: LineMark
    order_ms: int


class LoggedClient(msgspec.Struct, frozen=True):
    """A statement of a client's log, and which line of which log it is."""

    statement: ClientStatement
    log: str
    mark: LineMark


class PollOfGroup(msgspec.Struct, frozen=True):
    """What a poll shows of a group: `group`, None if there is none. It was asked for at `asked_at` (caller's clock).

    `absent_ms` is when the poll before began, if it showed that there was no such group.
    """

    group: PresentGroup | None
    place: Place
    asked_at: float
    absent_ms: int | None = None


class Waiting(msgspec.Struct, frozen=True):
    """A record, line or poll that is not told yet. `arrived` is when it was read, in seconds of the caller's clock."""

    time_ms: int
    arrived: float
    of: tuple[Place, GroupRecord] | LoggedStatement | PollOfGroup
    member_ids: frozenset[str] = frozenset()
    """The members that the record describes. Each forged line is compared with them, and of these there may be many."""

    @property
    def log(self) -> str | None:
        """The log that has it; None: it is a record or a poll."""
        return self.of.log if isinstance(self.of, LoggedStatement) else None


def _order(line: Waiting) -> tuple[int, str, LineMark]:
    assert isinstance(line.of, LoggedStatement)
    return line.time_ms, line.of.log, line.of.mark


class GroupStream:
    """Give it what is read with `put`, and have it told with `emit`."""

    def __init__(
        self,
        group_id: str,
        name_of: TopicNames,
        *,
        has_records: bool,
        seq: int = 0,
        presence: NodesThere = ALWAYS_THERE,
    ) -> None:
        """`seq` is that of the last event of an earlier group with this id, which is forgotten.

        `presence` says which nodes look at what passes.
        """
        self.group_id = group_id
        self._name_of, self._has_records, self._presence = name_of, has_records, presence
        self._observer = self._new_observer(seq)
        self._records: deque[Waiting] = deque()
        self._lines: list[Waiting] = []
        self._kept = KeptGroup(group_id, self._observer.so_far, None, [], {}, [], {})
        """Of it, what the observer does not have counts."""
        self._completed_at: float | None = None
        self._poll: Waiting | None = None
        """The last poll, if it is not told."""
        self._absent_ms: int | None = None
        """When a poll began that saw no such group, if no poll after it could tell of the group."""
        self._arrived = float("-inf")
        """When the last record or line was read."""
        self._polled: Place | None = None
        """The last poll that was told, also if it told nothing new."""
        self.is_changed = False
        """Whether what is kept has changed since this was set to False."""
        self.lines_left_out = 0
        """Lines that may be forged or cut, and that no record confirms."""

    def _new_observer(self, seq: int) -> GroupObserver:
        observer = GroupObserver(
            self.group_id, self._name_of, Members(), has_records=self._has_records, presence=self._presence
        )
        observer.so_far.seq = seq
        return observer

    @property
    def is_gone(self) -> bool:
        """Whether nothing of the group is there or expected."""
        state = self._observer.state
        return not state.so_far.protocol and state.current is None and not self.has_waiting

    def came_by(self, node_id: int) -> bool:
        """Whether a member came by way of this node last, by what is reported or waiting."""
        return self._observer.state.seen.came_by(node_id) or any(
            isinstance(line.of, LoggedStatement)
            and isinstance(line.of.statement, Sighted)
            and line.of.statement.sighting.node_id == node_id
            for line in self._lines
        )

    @property
    def seq(self) -> int:
        return self._observer.so_far.seq

    # ---- what is read

    def put_record(self, place: Place, record: GroupRecord, arrived: float) -> bool:
        """Return False if it was told before."""
        assert place.position is not None
        if place.position <= self._kept.read_to:
            return False
        self._records.append(Waiting(place.time_ms, arrived, (place, record), member_ids(record)))
        self._arrived = arrived
        return True

    def put_line(self, line: LoggedStatement, arrived: float) -> bool:
        """Return False if it was told before."""
        previous = self._kept.lines_to.get(line.log)
        if previous is not None and line.mark <= previous:
            return False
        insort(self._lines, Waiting(line.order_ms, arrived, line), key=_order)
        self._arrived = arrived
        return True

    def put_client(self, line: LoggedClient) -> bool:
        """Return False if it was read before. It is taken at once: what it explains is told later."""
        read_to = self._kept.lines_to.get(line.log)
        if read_to is not None and line.mark <= read_to:
            return False
        self._kept.lines_to = {**self._kept.lines_to, line.log: line.mark}
        self._observer.apply_client(line.statement)
        said = self._kept.clients.put(line.statement)
        if said is not None:
            self._observer.state.explained[said.who] = Removed(Cause.MEMBER_LEFT, said.reason)
        self.is_changed = True
        return True

    def emitted_at_once(self) -> list[ObservedEvent]:
        """The events of lines of clients, which wait for nothing."""
        return self._pop_events()

    def put_poll(self, poll: PollOfGroup, arrived: float) -> None:
        """It takes the place of one that is not told yet: what that showed may have been over by then."""
        self._poll = Waiting(poll.place.time_ms, arrived, poll)
        self._absent_ms = poll.absent_ms or self._absent_ms

    @property
    def has_waiting(self) -> bool:
        return bool(self._records or self._lines or self._poll)

    @property
    def waiting(self) -> int:
        return len(self._records) + len(self._lines)

    @property
    def first_record(self) -> int | None:
        """The offset of the first record that is not told."""
        return None if not self._records else self._records[0].of[0].position  # type: ignore[index]

    def first_lines(self) -> Iterable[tuple[str, LineMark]]:
        """The first line of each log that is not told. One log may come more than once."""
        return ((line.of.log, line.of.mark) for line in self._lines if isinstance(line.of, LoggedStatement))

    @property
    def next(self) -> Waiting | None:
        """What comes next, of what is there."""
        if not self._lines or not self._records:
            return self._lines[0] if self._lines else (self._records[0] if self._records else self._poll)
        line, record = self._lines[0], self._records[0]
        assert isinstance(line.of, LoggedStatement)
        return line if line.time_ms - ahead_ms(line.of.statement) <= record.time_ms else record

    # ---- telling

    def emit(self, is_due: Callable[[Waiting], bool], now: float) -> list[ObservedEvent]:
        """The events of all that is due, in order, up to the first that is not."""
        found: list[ObservedEvent] = []
        while (following := self.next) is not None and is_due(following):
            if isinstance(following.of, PollOfGroup):
                self._poll = None
                self._emit_poll(following.of)
            elif isinstance(following.of, LoggedStatement):
                self._lines.pop(0)
                self._emit_line(following.of)
                self.is_changed = True
            else:
                self._records.popleft()
                self._emit_record(*following.of)
                self.is_changed = True
            found += self._pop_events()
            if not self._observer.awaits_record:
                self._completed_at = None
            elif self._completed_at is None:
                self._completed_at = now
        return found

    def emit_without_record(self, before: float) -> list[ObservedEvent]:
        """The events of a rebalance that is over by its lines, since `before`, and whose record has not come."""
        if not self._observer.awaits_record or self._completed_at is None or self._completed_at > before:
            return []
        self._completed_at = None
        self._observer.end()
        return self._pop_events()

    @property
    def awaits_record(self) -> bool:
        return self._observer.awaits_record

    def _emit_record(self, place: Place, record: GroupRecord) -> None:
        assert place.position is not None
        self._observer.state.members.update(members_in(record))
        self._observer.apply((place, record))
        self._kept.read_to = place.position
        key = record_key(record)
        if key is not None:
            self._kept.recent = [*self._kept.recent, (*key, place.time_ms)][-RECENT_RECORDS:]

    def _emit_poll(self, poll: PollOfGroup) -> None:
        """One that was asked for before something else was read may be older than that: the next one is not."""
        if self._arrived >= poll.asked_at:
            return
        before = self._polled or self._observer.so_far.polled
        if before is None and self._absent_ms is not None:
            before = msgspec.structs.replace(poll.place, name=LIST_GROUPS, time_ms=self._absent_ms, broker_id=None)
        so_far = self._observer.so_far.polled
        if poll.group is None:
            is_applied = self._observer.apply_absence(before, poll.place)
        else:
            is_applied = self._observer.apply_poll(poll.group, before, was_absent=before is not None)
        if is_applied:
            self._polled, self._absent_ms = poll.place, None
        self.is_changed |= so_far is not self._observer.so_far.polled

    def _emit_line(self, line: LoggedStatement) -> None:
        self._kept.lines_to = {**self._kept.lines_to, line.log: line.mark}
        if line.statement.is_doubtful and not self._is_confirmed(line.statement):
            self.lines_left_out += 1
            if self._kept.is_whole:
                self._kept.is_whole = False
                self._observer.leave_lines_out()
            return
        statement = self._kept.clients.explained(line.statement)
        self._kept.reasons_are_seen = self._kept.reasons_are_seen or logs_reason(line.statement)
        self._observer.apply(statement)

    def _is_confirmed(self, statement: OfGroup) -> bool:
        times: dict[tuple[str, int], list[int]] = {}
        for kind, number, time_ms in self._kept.recent:
            times.setdefault((kind, number), []).append(time_ms)
        near: list[Container[str]] = [self._observer.state.members]
        for waiting in self._records:
            place, record = waiting.of  # type: ignore[misc]
            if place.time_ms > statement.place.time_ms + CONFIRMED_WITHIN_MS:
                break
            near.append(waiting.member_ids)
            key = record_key(record)
            if key is not None:
                times.setdefault(key, []).append(place.time_ms)
        return is_confirmed(statement, lambda member_id: any(member_id in ids for ids in near), times)

    def _pop_events(self) -> list[ObservedEvent]:
        found = self._observer.drain()
        if self._kept.reasons_are_seen:
            found = [msgspec.structs.replace(observed_event, reasons_are_seen=True) for observed_event in found]
        if found:
            self._forget()
        return found

    def _forget(self) -> None:
        """Keep the state bounded, whatever clients do."""
        state = self._observer.state
        gone = [member for member in state.members if member not in state.so_far.members]
        for member_id in islice(gone, max(0, len(gone) - GONE_MEMBERS_KEPT)):
            del state.members[member_id]
        _keep_newest(state.explained)
        _keep_newest(state.line_places)
        del state.waiting[: max(0, len(state.waiting) - KEPT_MAX)]

    def be_watched(self, is_watched: bool, place: Place) -> list[ObservedEvent]:
        """Whether a rule watches the group from now on. The time between is told, if something was told before it."""
        self.is_changed |= self._observer.be_watched(is_watched, place)
        return self._pop_events()

    # ---- a group that others coordinate for a time

    def leave(self, place: Place, seq_max: int, now: float) -> list[ObservedEvent]:
        """Tell what is read, and that others tell of the group from now on; no event has a number above `seq_max`."""
        found = self.emit(lambda _: True, now)
        self._observer.leave(place)
        found += self._pop_events()
        self.renew(self.seq)
        return [observed for observed in found if observed.event.seq <= seq_max]

    def renew(self, seq: int) -> None:
        """Begin again, with numbers above `seq`: others have reported the group meanwhile."""
        self._observer = self._new_observer(max(self.seq, seq))
        self._completed_at = None
        self.is_changed = True

    # ---- what is kept

    @property
    def kept(self) -> KeptGroup:
        """All that another stream of the group goes on from, which gets again what was put and is not told."""
        own = kept_group(self.group_id, self._observer.state)
        beside = self._kept
        return msgspec.structs.replace(
            own,
            read_to=beside.read_to,
            lines_to=beside.lines_to,
            recent=beside.recent,
            is_whole=beside.is_whole,
            reasons_are_seen=beside.reasons_are_seen,
            clients=beside.clients,
        )

    def go_on(self, kept: KeptGroup, now: float) -> None:
        """Take what another stream kept. What was put before is to be put after this."""
        self._kept = kept
        self._observer.go_on(observer_state(kept))
        if not kept.is_whole:
            self._observer.leave_lines_out()
        self._completed_at = now if self._observer.awaits_record else None


def _keep_newest(found: dict[Any, Any]) -> None:
    for key in list(islice(found, max(0, len(found) - KEPT_MAX))):
        del found[key]
