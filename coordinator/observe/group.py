"""What was seen of one group, in order of time → its events: what comes in of which kind, and what each does."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from coordinator.audit.schema.sighted import Unseen
from coordinator.audit.schema.unseen import UnseenBecause
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.generation import OF_EPOCHS
from coordinator.observe.classic_lines import Gathered, Members
from coordinator.observe.classic_rebalances import ClassicRebalances
from coordinator.observe.consumer import TopicNames, consumer_events
from coordinator.observe.consumer_lines import end_epoch, removed_by
from coordinator.observe.evidence import ObservedEvent
from coordinator.observe.group_events import GroupEvents
from coordinator.observe.group_so_far import CLASSIC, GroupSoFar, MemberSoFar, Removed
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.statements import OfGroup, Statement
from coordinator.observe.ordering import Logged, Seen, in_order, members_of
from coordinator.observe.places import Place
from coordinator.observe.polled import absent_events, polled_events
from coordinator.observe.records.stored import ClassicGroup, GroupRecord
from coordinator.observe.refusals import Refusals
from coordinator.observe.refused_clients import RefusedClients
from coordinator.observe.seen import SeenGroup
from coordinator.observe.seen_member import ALWAYS_THERE, NodesThere

if TYPE_CHECKING:
    from coordinator.observe.poll import PresentGroup

WITHOUT_RECORDS: Final = frozenset({"share", "streams"})


class ObserverState(msgspec.Struct):
    """What an observer of a group has gathered and not told yet, and what it tells it by."""

    so_far: GroupSoFar
    current: Gathered | None
    waiting: list[OfGroup]
    explained: dict[str, Removed]
    line_places: dict[tuple[str, object], Place]
    members: dict[str, MemberSoFar]
    gone: tuple[Place, Cause] | None = None
    refusals: Refusals = msgspec.field(default_factory=Refusals)
    seen: SeenGroup = msgspec.field(default_factory=SeenGroup)


class GroupObserver:
    """Makes the events of a group. Those that `drain` returns are not changed by anything seen later."""

    def __init__(
        self,
        group_id: str,
        name_of: TopicNames,
        members: Members,
        *,
        has_records: bool,
        is_whole: bool = True,
        explained: Mapping[str, Removed] | None = None,
        presence: NodesThere = ALWAYS_THERE,
    ) -> None:
        """`name_of`: topic id → name. `has_records`: whether the records of the group can be seen, too.

        `is_whole`: no line was left out. `explained`: member id → how it went, where no line of a broker says it.
        `presence` says which nodes look at what passes.
        """
        self.group_id = group_id
        self._name_of = name_of
        self._members = members
        self._has_records = has_records
        self._events = GroupEvents(group_id, presence, is_whole=is_whole, explained=explained)
        self._rebalances = ClassicRebalances(self._events, members, has_records=has_records)
        self._refused = RefusedClients(self._events, members)

    def apply(self, seen: Seen) -> None:
        if isinstance(seen, ClientStatement):
            self.apply_client(seen)
        elif isinstance(seen, Statement):
            if isinstance(seen, said.InstanceFenced):
                if seen.holder in self.so_far.members:  # the line names no group
                    self._refused.apply_line(seen)
            elif isinstance(seen, said.GroupsDeleted):
                if f", {self.group_id}, " in f", {seen.text}, ":
                    self._deleted(seen, Cause.ADMIN)
            elif isinstance(seen, OfGroup) and seen.group_id == self.group_id:
                self._apply_statement(seen)
        else:
            self._apply_record(*seen)

    def apply_client(self, statement: ClientStatement) -> None:
        self._refused.apply_client(statement)

    def end(self) -> None:
        """Nothing more is seen: tell what is still open."""
        self._rebalances.finish(None)

    def drain(self) -> list[ObservedEvent]:
        """The events since it was called before."""
        found, self._events.kept = self._events.kept, []
        return found

    def leave_lines_out(self) -> None:
        """From now on, what no line says may have happened: a line was left out."""
        self._events.lines.is_whole = False

    @property
    def so_far(self) -> GroupSoFar:
        """The group by what has been told of it."""
        return self._events.so_far

    @property
    def awaits_record(self) -> bool:
        """Whether the lines tell a rebalance to its end, and it is not told yet because its record has not come."""
        return self._rebalances.awaits_record

    @property
    def state(self) -> ObserverState:
        """All that what is seen later is told by, events that are not drained aside."""
        events = self._events
        return ObserverState(
            events.so_far,
            self._rebalances.current,
            self._rebalances.waiting,
            events.explained,
            events.lines.places,
            self._members.by_id,
            events.gone,
            self._refused.refusals,
            events.seen,
        )

    def go_on(self, state: ObserverState) -> None:
        """Take the state of an observer of the same group, which this one goes on from."""
        events = self._events
        events.so_far, events.explained, events.lines.places = state.so_far, state.explained, state.line_places
        events.gone, events.seen = state.gone, state.seen
        self._rebalances.current, self._rebalances.waiting = state.current, state.waiting
        self._refused.refusals, self._members.by_id = state.refusals, state.members

    # ---- records

    def _apply_record(self, place: Place, record: GroupRecord) -> None:
        events = self._events
        if events.so_far.polled is not None:  # records may be read by now, and count otherwise than polls do
            events.so_far = GroupSoFar(seq=events.so_far.seq)
        if isinstance(record, ClassicGroup):
            self._rebalances.apply_record(place, record)
            return
        if events.so_far.protocol == CLASSIC:
            self._rebalances.finish(place)
        if events.so_far.protocol == CLASSIC and events.so_far.is_converting:
            self._remove_departed(place)
        emitter = events.emitter(place)
        consumer_events(emitter, record, self._name_of)
        events.keep(emitter, is_inferred=True)

    def _remove_departed(self, place: Place) -> None:
        """Members that left, if the group got the other protocol before it rebalanced: no record tells of them."""
        emitter = self._events.emitter(place)
        for member_id in self._events.seen.departed(emitter.so_far.members):
            emitter.leave(member_id)
        self._events.keep(emitter, is_inferred=True)

    # ---- who watches

    def be_watched(self, is_watched: bool, place: Place) -> bool:
        """Whether a rule watches the group from now on; return whether that is a change. The time between is told."""
        seen = self._events.seen
        since_ms = seen.unwatched_ms
        if is_watched is (since_ms is None) or not self.so_far.protocol:
            return False
        if since_ms is None:
            seen.unwatched_ms = place.time_ms
            return True
        seen.unwatched_ms = None
        seen.be_unseen(since_ms)
        begin = msgspec.structs.replace(place, time_ms=since_ms)
        self._events.emit_unseen(begin, because=UnseenBecause.NOT_WATCHED, from_ms=since_ms, until_ms=place.time_ms)
        return True

    def leave(self, place: Place) -> None:
        """Others coordinate the group from now on, and tell of it: they got it when nobody was in it."""
        self._rebalances.finish(place)
        so_far = self.so_far
        if so_far.protocol == CLASSIC and so_far.members:
            emptied = ClassicGroup(self.group_id, so_far.generation_id + 1, so_far.protocol_type)
            self._rebalances.apply_record(place, emptied)
        emitter = self._events.emitter(place)
        for member_id in list(emitter.so_far.members):
            emitter.leave(member_id)
        emitter.removed_because = InferredCause.ADOPTED
        if emitter.so_far.protocol in OF_EPOCHS:
            end_epoch(emitter, self.group_id)
        emitter.remove()
        self._events.keep(emitter, is_inferred=False)

    # ---- polls

    def apply_poll(self, now: "PresentGroup", before: Place | None, *, was_absent: bool) -> bool:
        """What a poll shows of the group, see `polled_events`; return False if it was left out.

        That it is in the middle of a rebalance that lines tell, or if the group may not be described.
        """
        if self._rebalances.may_be_under_way(now.place.time_ms) or not now.is_described:
            return False
        emitter = self._events.emitter(now.place)
        polled_events(emitter, now, before, was_absent=was_absent)
        if emitter.events or emitter.so_far.polled is None:
            emitter.so_far.polled = now.place
        self._events.keep(emitter, is_inferred=True)
        return True

    def apply_absence(self, before: Place | None, at: Place) -> bool:
        """A poll shows that there is no such group; return False if that is left to the lines."""
        if not self.so_far.protocol or self.so_far.has_lines:
            return False
        emitter = self._events.emitter(at)
        absent_events(emitter, before, at)
        emitter.so_far.polled = at
        self._events.keep(emitter, is_inferred=True)
        return True

    # ---- lines, and what nodes saw

    def _apply_sighting(self, statement: said.Sighted) -> None:
        """What a node saw pass. Of a classic group it may mean what a line of its coordinator says."""
        sighting = statement.sighting
        if isinstance(sighting, Unseen):
            self._events.emit_unseen(
                statement.place,
                because=sighting.because,
                from_ms=sighting.from_ms,
                until_ms=sighting.at_ms,
                by_node=sighting.node_id,
            )
        self._refused.apply_sighting(statement)
        for found in self._events.seen.apply(statement, self.so_far.generation_id):
            if self.so_far.protocol not in OF_EPOCHS:
                self._apply_statement(found)

    def _apply_statement(self, statement: OfGroup) -> None:
        if isinstance(statement, said.Sighted):
            self._apply_sighting(statement)
            return
        if isinstance(statement, (said.GroupLoaded, said.GroupUnloaded)):
            self._apply_move(statement)
            return
        if not self._is_of_records(statement):
            self.so_far.has_lines = True
        # A group that becomes a classic one prepares a rebalance before its records say so.
        is_epochs = self.so_far.protocol in OF_EPOCHS and not isinstance(statement, _OF_CLASSIC_GROUPS)
        if isinstance(statement, _OF_CONSUMER_GROUPS) or is_epochs:
            self._apply_consumer_line(statement)
        elif isinstance(statement, said.GroupDied):
            self._deleted(statement, Cause.NO_OFFSETS)
        else:
            self._rebalances.apply_line(statement)

    def _is_of_records(self, statement: Statement) -> bool:
        """Whether records tell what the line says: those of share and streams groups are not read."""
        kinds = {self.so_far.protocol, getattr(statement, "protocol", None)}
        return self._has_records and not kinds & WITHOUT_RECORDS

    def _apply_move(self, statement: said.GroupLoaded | said.GroupUnloaded) -> None:
        """A broker gave the group up, or took it: a broker that did not have it last gives up nothing."""
        so_far, place = self.so_far, statement.place
        if isinstance(statement, said.GroupUnloaded):
            if so_far.coordinator in (None, place.broker_id):
                so_far.unloaded = place
            return
        self._rebalances.finish(place)
        if not self.so_far.protocol:
            self.so_far.coordinator = place.broker_id
            return
        emitter = self._events.emitter(place)
        emitter.load(place)
        self._events.keep(emitter, is_inferred=False)

    def _deleted(self, statement: Statement, cause: Cause) -> None:
        """The group is gone. Where its records can be seen, one of them says so then, and the line why."""
        if self._is_of_records(statement):
            self._events.gone = statement.place, cause
            return
        self._rebalances.finish(statement.place)
        emitter = self._events.emitter(statement.place)
        emitter.removed_because = cause
        if emitter.so_far.protocol in OF_EPOCHS:
            end_epoch(emitter, self.group_id)
        emitter.remove()
        self._events.keep(emitter, is_inferred=False)

    def _apply_consumer_line(self, statement: OfGroup) -> None:
        if isinstance(statement, said.JoinRefused):
            self._refused.apply_line(statement)
            return
        events = self._events
        how = removed_by(statement)
        if how is not None:
            events.explained[getattr(statement, "member_id", "")] = how
        events.lines.note(statement)
        if not self._is_of_records(statement):
            emitter = events.emitter(statement.place)
            events.lines.emit(emitter, statement, self._members)
            events.keep(emitter, is_inferred=False)


_OF_CONSUMER_GROUPS: Final = (
    said.ConsumerJoined,
    said.ConsumerReplaced,
    said.ConsumerLate,
    said.LeftForAMoment,
    said.JoinRefused,
    said.EpochBumped,
    said.TargetComputed,
    said.PatternsScanned,
    said.SubscriptionUpdated,
    said.GroupConverted,
    said.MemberReconciled,
)
_OF_CLASSIC_GROUPS: Final = (
    said.RebalancePrepared,
    said.GroupStabilized,
    said.AssignmentReceived,
    said.GroupEmptied,
    said.GroupDied,
)


def observed_events(
    group_id: str,
    records: Sequence[tuple[Place, GroupRecord]],
    statements: Iterable[Logged],
    name_of: TopicNames = str,
    *,
    has_records: bool | None = None,
    is_whole: bool = True,
    explained: Mapping[str, Removed] | None = None,
) -> Iterator[ObservedEvent]:
    """All events of a group, of all that was seen of it; `is_whole`: no line was left out."""
    has = bool(records) if has_records is None else has_records
    observer = GroupObserver(
        group_id, name_of, members_of(records), has_records=has, is_whole=is_whole, explained=explained
    )
    for seen in in_order(records, statements):
        observer.apply(seen)
    observer.end()
    yield from observer.drain()
