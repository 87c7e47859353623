"""What was seen of one group, in order of time → its events, each with the places where it was seen."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from coordinator.audit.schema.sighted import Unseen
from coordinator.audit.schema.unseen import UnseenBecause
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.generation import OF_EPOCHS
from coordinator.observe.classic import classic_events
from coordinator.observe.classic_lines import Gathered, Members, gathered_events
from coordinator.observe.consumer import TopicNames, consumer_events
from coordinator.observe.consumer_lines import ConsumerLines, end_epoch, removed_by
from coordinator.observe.evidence import ObservedEvent
from coordinator.observe.group_so_far import CLASSIC, Event, EventEmitter, GroupSoFar, MemberSoFar, Removed
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.statements import OfGroup, Statement
from coordinator.observe.ordering import Logged, Seen, in_order, members_of
from coordinator.observe.places import Place, Source
from coordinator.observe.polled import absent_events, polled_events
from coordinator.observe.records.stored import ClassicGroup, GroupRecord
from coordinator.observe.refusals import Refusal, Refusals, refusal_of
from coordinator.observe.seen import SeenGroup
from coordinator.observe.seen_member import ALWAYS_THERE, NodesThere
from coordinator.observe.seen_refusals import refused
from coordinator.observe.typed import with_causes

if TYPE_CHECKING:
    from coordinator.observe.poll import PresentGroup

GONE_AT_ONCE_MS: Final = 1_000
WITHOUT_RECORDS: Final = frozenset({"share", "streams"})
REBALANCE_BEGINS_MS: Final = 60_000
"""So long after a line about a member of a classic group a rebalance may follow that it is part of."""


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
    """Makes the events of a group. `events` are those that nothing seen later changes."""

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
        self.events: list[ObservedEvent] = []
        self._so_far = GroupSoFar()
        self._name_of = name_of
        self._members = members
        self._has_records = has_records
        self._waiting: list[OfGroup] = []
        """What changed the members of a classic group while no rebalance was in progress."""
        self._current: Gathered | None = None
        self._explained = dict(explained or {})
        self._gone: tuple[Place, Cause] | None = None
        """Where a line says that the group was deleted, and why."""
        self._lines = ConsumerLines(is_whole=is_whole)
        self._refusals = Refusals()
        self._seen = SeenGroup()
        self._presence = presence

    def apply(self, seen: Seen) -> None:
        if isinstance(seen, ClientStatement):
            self.apply_client(seen)
        elif isinstance(seen, Statement):
            if isinstance(seen, said.InstanceFenced):
                if seen.holder in self._so_far.members:  # the line names no group
                    self._refused(seen)
            elif isinstance(seen, said.GroupsDeleted):
                if f", {self.group_id}, " in f", {seen.text}, ":
                    self._deleted(seen, Cause.ADMIN)
            elif isinstance(seen, OfGroup) and seen.group_id == self.group_id:
                self._apply_statement(seen)
        else:
            self._apply_record(*seen)

    def end(self) -> None:
        """Nothing more is seen: tell what is still open."""
        self._finish(None)

    def leave_lines_out(self) -> None:
        """From now on, what no line says may have happened: a line was left out."""
        self._lines.is_whole = False

    @property
    def so_far(self) -> GroupSoFar:
        """The group by what has been told of it."""
        return self._so_far

    @property
    def awaits_record(self) -> bool:
        """Whether the lines tell a rebalance to its end, and it is not told yet because its record has not come."""
        return self._current is not None and self._current.is_complete

    @property
    def state(self) -> ObserverState:
        """All that what is seen later is told by, `events` aside."""
        return ObserverState(
            self._so_far,
            self._current,
            self._waiting,
            self._explained,
            self._lines.places,
            self._members.by_id,
            self._gone,
            self._refusals,
            self._seen,
        )

    def go_on(self, state: ObserverState) -> None:
        """Take the state of an observer of the same group, which this one goes on from."""
        self._so_far, self._current, self._waiting = state.so_far, state.current, state.waiting
        self._explained, self._lines.places = state.explained, state.line_places
        self._members, self._gone = Members(state.members), state.gone
        self._refusals, self._seen = state.refusals, state.seen

    # ---- records

    def _apply_record(self, place: Place, record: GroupRecord) -> None:
        if self._so_far.polled is not None:  # records may be read by now, and count otherwise than polls do
            self._so_far = GroupSoFar(seq=self._so_far.seq)
        if isinstance(record, ClassicGroup):
            self._apply_classic(place, record)
            return
        if self._so_far.protocol == CLASSIC:
            self._finish(place)
        emitter = self._emitter(place)
        consumer_events(emitter, record, self._name_of)
        self._keep(emitter, is_inferred=True)

    def _apply_classic(self, place: Place, record: ClassicGroup) -> None:
        current = self._current
        if current is not None and record.generation_id == current.generation_id:
            self._finish(place, record)
            return
        if current is not None and record.generation_id > current.generation_id:
            self._finish(place)
        emitter = self._emitter(place)
        classic_events(emitter, record)
        self._keep(emitter, is_inferred=True)

    def _emitter(self, place: Place) -> EventEmitter:
        emitter = EventEmitter(self.group_id, self._so_far, place.time_ms, self._explained)
        emitter.places = (place,)
        if self._gone is not None and abs(self._gone[0].time_ms - place.time_ms) <= GONE_AT_ONCE_MS:
            emitter.removed_because = self._gone[1]
        return emitter

    def _keep(self, emitter: EventEmitter, *, is_inferred: bool) -> None:
        self._so_far = emitter.so_far
        for event in emitter.events:
            seen = self._seen.add_to(event, self._presence)
            places = (*emitter.places_of.get(event["seq"], ()), *self._lines.of(event), *seen)
            whole = with_causes(event)
            is_open = getattr(whole, "cause", None) in _UNDECIDED
            self.events.append(ObservedEvent(whole, places, is_open or (is_inferred and _is_inferred(event, places))))
        of_records = any(place.source is Source.RECORD for place in emitter.places)
        for event in emitter.events if of_records else ():
            if event["kind"] in _JOINS and self._seen.bypassed(event, self._presence):
                self._emit_unseen(emitter.places[0], because=UnseenBecause.NOT_THROUGH_NODES, member=event["member"])

    def _emit_unseen(self, place: Place, **fields: Any) -> None:
        """That something may have happened which nobody saw."""
        emitter = self._emitter(place)
        emitter.emit("group.unseen", **fields)
        self._keep(emitter, is_inferred=False)

    def be_watched(self, is_watched: bool, place: Place) -> bool:
        """Whether a rule watches the group from now on; return whether that is a change. The time between is told."""
        since_ms = self._seen.unwatched_ms
        if is_watched is (since_ms is None) or not self._so_far.protocol:
            return False
        if since_ms is None:
            self._seen.unwatched_ms = place.time_ms
            return True
        self._seen.unwatched_ms = None
        self._seen.be_unseen(since_ms)
        begin = msgspec.structs.replace(place, time_ms=since_ms)
        self._emit_unseen(begin, because=UnseenBecause.NOT_WATCHED, from_ms=since_ms, until_ms=place.time_ms)
        return True

    def leave(self, place: Place) -> None:
        """Others coordinate the group from now on, and tell of it: they got it when nobody was in it."""
        self._finish(place)
        so_far = self._so_far
        if so_far.protocol == CLASSIC and so_far.members:
            emptied = ClassicGroup(self.group_id, so_far.generation_id + 1, so_far.protocol_type)
            self._apply_classic(place, emptied)
        emitter = self._emitter(place)
        for member_id in list(emitter.so_far.members):
            emitter.leave(member_id)
        emitter.removed_because = InferredCause.ADOPTED
        if emitter.so_far.protocol in OF_EPOCHS:
            end_epoch(emitter, self.group_id)
        emitter.remove()
        self._keep(emitter, is_inferred=False)

    # ---- polls

    def apply_poll(self, now: "PresentGroup", before: Place | None, *, was_absent: bool) -> bool:
        """What a poll shows of the group, see `polled_events`; return False if it was left out.

        That it is in the middle of a rebalance that lines tell, or if the group may not be described.
        """
        lately_ms = now.place.time_ms - REBALANCE_BEGINS_MS
        begins = any(group_id.place.time_ms >= lately_ms for group_id in self._waiting)
        if self._current is not None or begins or not now.is_described:
            return False
        emitter = self._emitter(now.place)
        polled_events(emitter, now, before, was_absent=was_absent)
        if emitter.events or emitter.so_far.polled is None:
            emitter.so_far.polled = now.place
        self._keep(emitter, is_inferred=True)
        return True

    def apply_absence(self, before: Place | None, at: Place) -> bool:
        """A poll shows that there is no such group; return False if that is left to the lines."""
        if not self._so_far.protocol or self._so_far.has_lines:
            return False
        emitter = self._emitter(at)
        absent_events(emitter, before, at)
        emitter.so_far.polled = at
        self._keep(emitter, is_inferred=True)
        return True

    # ---- lines

    def _apply_sighting(self, statement: said.Sighted) -> None:
        """What a node saw pass. Of a classic group it may mean what a line of its coordinator says."""
        sighting = statement.sighting
        if isinstance(sighting, Unseen):
            self._emit_unseen(
                statement.place,
                because=sighting.because,
                from_ms=sighting.from_ms,
                until_ms=sighting.at_ms,
                by_node=sighting.node_id,
            )
        refusal = refused(sighting, self._seen)
        if refusal is not None:
            self._emit_refusal(refusal, statement.place, self._holder(refusal))
        for found in self._seen.apply(statement, self._so_far.generation_id):
            if self._so_far.protocol not in OF_EPOCHS:
                self._apply_statement(found)

    def _apply_statement(self, statement: OfGroup) -> None:
        if isinstance(statement, said.Sighted):
            self._apply_sighting(statement)
            return
        if isinstance(statement, (said.GroupLoaded, said.GroupUnloaded)):
            self._apply_move(statement)
            return
        if not self._is_of_records(statement):
            self._so_far.has_lines = True
        # A group that becomes a classic one prepares a rebalance before its records say so.
        is_epochs = self._so_far.protocol in OF_EPOCHS and not isinstance(statement, _OF_CLASSIC_GROUPS)
        if isinstance(statement, _OF_CONSUMER_GROUPS) or is_epochs:
            self._apply_consumer_line(statement)
        elif isinstance(statement, said.RebalancePrepared):
            self._finish(statement.place)
            self._current = Gathered(statement.generation_before, statement, self._waiting)
            self._waiting = []
        elif isinstance(statement, (said.GroupStabilized, said.AssignmentReceived, said.GroupEmptied)):
            self._apply_step(statement)
        elif isinstance(statement, _CHANGES):
            current = self._current
            (self._waiting if current is None or current.is_complete else current.changes).append(statement)
        elif isinstance(statement, said.GroupDied):
            self._deleted(statement, Cause.NO_OFFSETS)

    def _is_of_records(self, statement: Statement) -> bool:
        """Whether records tell what the line says: those of share and streams groups are not read."""
        kinds = {self._so_far.protocol, getattr(statement, "protocol", None)}
        return self._has_records and not kinds & WITHOUT_RECORDS

    def _apply_move(self, statement: said.GroupLoaded | said.GroupUnloaded) -> None:
        """A broker gave the group up, or took it: a broker that did not have it last gives up nothing."""
        so_far, place = self._so_far, statement.place
        if isinstance(statement, said.GroupUnloaded):
            if so_far.coordinator in (None, place.broker_id):
                so_far.unloaded = place
            return
        self._finish(place)
        if not self._so_far.protocol:
            self._so_far.coordinator = place.broker_id
            return
        emitter = self._emitter(place)
        emitter.load(place)
        self._keep(emitter, is_inferred=False)

    def _apply_step(self, statement: said.GroupStabilized | said.AssignmentReceived | said.GroupEmptied) -> None:
        current = self._current
        if current is None or current.generation_id != statement.generation_id:
            if self._so_far.protocol == CLASSIC and statement.generation_id <= self._so_far.generation_id:
                return  # its record was there first
            self._finish(statement.place)
            current = self._current = Gathered(statement.generation_id - 1, changes=self._waiting)
            self._waiting = []
        match statement:
            case said.GroupStabilized():
                current.stabilized = statement
            case said.AssignmentReceived():
                current.assigned = statement
            case said.GroupEmptied():
                current.emptied = statement
        if current.is_complete and not self._has_records:
            self._finish(None)

    def _finish(self, place: Place | None, record: ClassicGroup | None = None) -> None:
        """Tell the rebalance whose lines are gathered: with its record, or without one as something else follows."""
        rebalance, self._current = self._current, None
        if rebalance is None:
            return
        emitter = EventEmitter(self.group_id, self._so_far, 0 if place is None else place.time_ms)
        emitter.places = () if place is None or record is None else (place,)
        joins = self._seen.joins_of(rebalance.generation_id)
        gathered_events(emitter, rebalance, record, self._members, joins, until=place)
        self._keep(emitter, is_inferred=False)

    def _deleted(self, statement: Statement, cause: Cause) -> None:
        """The group is gone. Where its records can be seen, one of them says so then, and the line why."""
        if self._is_of_records(statement):
            self._gone = statement.place, cause
            return
        self._finish(statement.place)
        emitter = self._emitter(statement.place)
        emitter.removed_because = cause
        if emitter.so_far.protocol in OF_EPOCHS:
            end_epoch(emitter, self.group_id)
        emitter.remove()
        self._keep(emitter, is_inferred=False)

    def _refused(self, statement: said.JoinRefused | said.InstanceFenced) -> None:
        """A client that was refused, as another one has its static instance id."""
        is_fenced = isinstance(statement, said.InstanceFenced) or statement.is_fenced
        api = (
            _REFUSING.get(getattr(statement, "operation", None) or "", "JoinGroup")
            if isinstance(statement, said.InstanceFenced)
            else "ConsumerGroupHeartbeat"
        )
        instance_id = statement.group_instance_id
        error = "FENCED_INSTANCE_ID" if is_fenced else "UNRELEASED_INSTANCE_ID"
        refusal = Refusal(api, error, self._members.of(statement.member_id, instance_id))
        self._emit_refusal(refusal, statement.place, self._members.of(statement.holder, instance_id))

    def _holder(self, refusal: Refusal) -> MemberSoFar | None:
        """The member that has the instance id of a refused client: by the records, or as nodes have seen it."""
        instance_id = refusal.member.group_instance_id
        if not refusal.is_about_instance or instance_id is None:
            return None
        recorded = next((each for each in self._so_far.members.values() if each.group_instance_id == instance_id), None)
        holder_id = self._seen.holder_of(instance_id) if recorded is None else recorded.member_id
        seen = self._seen.members.get(holder_id)
        if seen is None or not seen.client.client_id:
            return recorded
        return MemberSoFar(holder_id, seen.client.client_id, seen.client.host, instance_id)

    def apply_client(self, statement: ClientStatement) -> None:
        """What a client's own log says of a request that was refused: brokers log next to none of these."""
        refusal = refusal_of(statement)
        if refusal is not None:
            self._emit_refusal(refusal, statement.place, None)

    def _emit_refusal(self, refusal: Refusal, place: Place, holder: MemberSoFar | None) -> None:
        times = self._refusals.count(refusal, place.time_ms)
        if times is None:
            return
        emitter = self._emitter(place)
        software, _, version = refusal.software.rpartition(" ")
        member = {**refusal.member.reference(), "client_software_name": software, "client_software_version": version}
        emitter.emit(
            "request.rejected",
            api=refusal.api,
            error=refusal.error,
            member=member,
            holder=None if holder is None else holder.reference(),
            count=times,
            request_generation_id=refusal.generation_id,
            protocol_type=refusal.protocol_type,
            protocols=list(refusal.protocols),
            group_protocol_type=self._so_far.protocol_type if refusal.protocols else "",
            group_protocols=self._seen.shared_protocols(self._so_far.members) if refusal.protocols else [],
        )
        self._keep(emitter, is_inferred=False)

    def _apply_consumer_line(self, statement: OfGroup) -> None:
        if isinstance(statement, said.JoinRefused):
            self._refused(statement)
            return
        how = removed_by(statement)
        if how is not None:
            self._explained[getattr(statement, "member_id", "")] = how
        self._lines.note(statement)
        if not self._is_of_records(statement):
            emitter = self._emitter(statement.place)
            self._lines.emit(emitter, statement, self._members)
            self._keep(emitter, is_inferred=False)


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
_REFUSING: Final = {"heartbeat": "Heartbeat", "offset-commit": "OffsetCommit", "sync-group": "SyncGroup"}
"""Operation in a line of a fenced member → the API; another one is JoinGroup's."""
_OF_CLASSIC_GROUPS: Final = (
    said.RebalancePrepared,
    said.GroupStabilized,
    said.AssignmentReceived,
    said.GroupEmptied,
    said.GroupDied,
)
_CHANGES: Final = (
    said.MemberAdded,
    said.MemberIdHandedOut,
    said.SessionExpired,
    said.MemberLeft,
    said.MembersDropped,
    said.StaticMemberReturned,
    said.PendingExpired,
)


def _is_inferred(event: Event, places: Sequence[Place]) -> bool:
    """Whether no line says it, and no record alone."""
    is_logged = any(place.source in (Source.BROKER_LOG, Source.NODE) for place in places)
    return event["kind"] in _SAID_BY_LINES and not is_logged


_UNDECIDED: Final = frozenset(InferredCause) - {InferredCause.ADOPTED}
"""Causes that leave open which of two it is, also if the rest of the rebalance was seen."""
_JOINS: Final = frozenset({"member.joined", "static_member.replaced"})
_SAID_BY_LINES: Final = frozenset({"member.removed", "rebalance.started", "member.joined", "static_member.replaced"})
"""Events of which records show the result alone: what they say of why is inferred."""


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
    yield from observer.events
