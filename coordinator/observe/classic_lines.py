"""Lines of brokers about a classic group, with its records where there are some → events.

The lines tell why a rebalance began and when; the record of the generation that it led to tells who is in it, from
which host, and what each was assigned. So the lines of a rebalance are gathered until its record is there, or it is
clear that there is none, and told in the order of the audit.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.folded_group import COMPLETING, EMPTY, PREPARING, STABLE
from coordinator.observe.classic import change_members, copy_header
from coordinator.observe.group_so_far import CLASSIC, EventEmitter, MemberSoFar, Removed, Trigger, trigger
from coordinator.observe.logs import statements as said
from coordinator.observe.logs.statements import OfGroup, Reason, RebalancePrepared
from coordinator.observe.places import Place
from coordinator.observe.records.stored import ClassicGroup
from coordinator.observe.seen_member import JoinSeen

UUID_CHARACTERS: Final = 36
BEGUN_WITH_MS: Final = 50
"""A line that is so much later than the begin of a rebalance may tell of what began it: it is written after it."""

JOINS: Final = frozenset({Reason.NEW_MEMBER, Reason.JOINED_DURING})
SUBSCRIPTION_CHANGED: Final = "subscription has changed"
REVOKED: Final = "need to revoke partitions and re-join"
"""What Java's consumer says (KIP-800): it subscribes to other topics, or gave up partitions."""


class Gathered(msgspec.Struct):
    """What the lines tell of one rebalance. `changes` are those of its members, in order of time."""

    generation_before: int
    prepared: RebalancePrepared | None = None
    changes: list[OfGroup] = []
    stabilized: said.GroupStabilized | None = None
    assigned: said.AssignmentReceived | None = None
    emptied: said.GroupEmptied | None = None

    @property
    def generation_id(self) -> int:
        return self.generation_before + 1

    @property
    def is_complete(self) -> bool:
        return self.assigned is not None or self.emptied is not None


class Members:
    """What is known of members beside the lines: who has which member id, by all records of the group."""

    def __init__(self, by_id: dict[str, MemberSoFar] | None = None) -> None:
        self.by_id = {} if by_id is None else by_id

    def of(self, member_id: str, group_instance_id: str | None = None) -> MemberSoFar:
        """A member by its id. An id is the client id, or that of a static instance, and a UUID."""
        found = self.by_id.get(member_id)
        if found is not None:
            # What it subscribes to may have changed since this record, or after it.
            return msgspec.structs.replace(found, topics=None, digest=b"", partitions={}, unnamed_partitions=0)
        client_id = ""
        if group_instance_id is None and is_generated(member_id):
            client_id = member_id[: -UUID_CHARACTERS - 1]
        return MemberSoFar(member_id, client_id, "", group_instance_id)


def is_generated(member_id: str) -> bool:
    """Whether a broker made the id: `NAME-UUID`."""
    uuid = member_id[-UUID_CHARACTERS:]
    return len(member_id) > UUID_CHARACTERS and member_id[-UUID_CHARACTERS - 1] == "-" and uuid.count("-") == 4


def gathered_events(
    emitter: EventEmitter,
    rebalance: Gathered,
    record: ClassicGroup | None,
    members: Members,
    joins: Mapping[str, JoinSeen],
    *,
    until: Place | None,
) -> None:
    """Tell a rebalance whose lines are gathered. `until` is where the next one begins; None: there is none yet.

    `joins`: member id → when it joined and synced, of those of whom that was seen.
    """
    so_far = emitter.so_far
    seen = _Rebalance(emitter, rebalance, record, members, joins)
    if so_far.protocol != CLASSIC or rebalance.generation_before < so_far.generation_id:
        _at(emitter, _first_place(rebalance))
        emitter.remove()
        emitter.create(CLASSIC, "" if record is None else record.protocol_type)
    seen.emit(until)


def _first_place(rebalance: Gathered) -> Place:
    of = (*rebalance.changes, rebalance.prepared, rebalance.stabilized, rebalance.assigned, rebalance.emptied)
    return min((statement.place for statement in of if statement is not None), key=lambda place: place.time_ms)


def _at(emitter: EventEmitter, *places: Place) -> None:
    """The next events were seen at these places, and happened at the time of the first."""
    emitter.time_ms, emitter.places = places[0].time_ms, places


class _Rebalance:
    def __init__(
        self,
        emitter: EventEmitter,
        rebalance: Gathered,
        record: ClassicGroup | None,
        members: Members,
        joins: Mapping[str, JoinSeen],
    ) -> None:
        self._emitter = emitter
        self._rebalance = rebalance
        self._record = record
        self._members = members
        self._joins = joins
        self._stored = {} if record is None else {stored.member_id: stored for stored in record.members}
        self._triggers: list[Trigger] = []
        self._handed_out: list[said.MemberIdHandedOut] = []
        self._pending_left: set[str] = set()
        """Who left and had never joined."""
        self._record_places = emitter.places
        """Where the record was seen, if there is one."""
        self._record_time_ms = emitter.time_ms

    def emit(self, until: Place | None) -> None:
        began, changes = self._rebalance.prepared, self._rebalance.changes
        before = [change for change in changes if began is not None and change.place.time_ms <= began.place.time_ms]
        for statement in before:
            self._change(statement)
        if began is not None:
            # What the old coordinator writes after the begin, and what began it.
            with_it = [change for change in changes if change not in before and _is_of_the_begin(change, began)]
            for statement in with_it:
                self._change(statement)
            before += with_it
            self._begin(began)
        for change in changes:
            if change not in before:
                self._change(change)
        self._end(until)

    # ---- changes of the members

    def _change(self, statement: OfGroup) -> None:
        _at(self._emitter, statement.place, *statement.also)
        match statement:
            case said.MemberAdded() if statement.member_id not in self._members_so_far:
                self._join(statement.member_id, statement.group_instance_id)
            case said.MemberIdHandedOut():
                self._handed_out.append(statement)
            case said.SessionExpired():
                self._leave([statement.member_id], Removed(Cause.SESSION_EXPIRED))
            case said.MemberLeft(is_pending=True):
                self._pending_left.add(statement.member_id)
            case said.MemberLeft(is_pending=False):
                self._leave([statement.member_id], Removed(Cause.MEMBER_LEFT, _reason(statement.client_reason)))
            case said.MembersDropped():
                self._leave(statement.member_ids, Removed(Cause.REBALANCE_TIMEOUT))
            case said.StaticMemberReturned(member_id=str() as member_id):
                self._return(member_id, statement)

    @property
    def _members_so_far(self) -> dict[str, MemberSoFar]:
        return self._emitter.so_far.members

    def _join(self, member_id: str, group_instance_id: str | None = None, reason: str = "") -> None:
        member = self._members.of(member_id, group_instance_id)
        if member_id in self._stored:
            member.topics = self._stored[member_id].topics
        self._emitter.join(member)
        self._triggers.append(trigger(Cause.NEW_MEMBER, member, self._emitter.time_ms, reason))

    def _leave(self, member_ids: Iterable[str], how: Removed) -> None:
        for member_id in member_ids:
            if member_id not in self._members_so_far:
                if not self._may_be_unknown(member_id):
                    continue
                self._members_so_far[member_id] = self._members.of(member_id)
            self._triggers.append(self._emitter.leave(member_id, how))

    def _may_be_unknown(self, member_id: str) -> bool:
        """Whether it may be a member that joined before the lines began, and is not told of twice."""
        return bool(member_id) and all(
            (trigger["member"] or {}).get("member_id") != member_id for trigger in self._triggers
        )

    def _return(self, member_id: str, statement: said.StaticMemberReturned) -> None:
        if statement.old_member_id not in self._members_so_far:
            instance_id = statement.group_instance_id
            self._members_so_far[statement.old_member_id] = self._members.of(statement.old_member_id, instance_id)
        member = self._members.of(member_id, statement.group_instance_id)
        self._emitter.replace(statement.old_member_id, member)
        self._triggers.append(trigger(Cause.STATIC_REPLACED, member, self._emitter.time_ms))

    # ---- the begin

    def _begin(self, began: RebalancePrepared) -> None:
        emitter, rebalance = self._emitter, self._rebalance
        _at(emitter, began.place)
        self._apply_reason(began)
        # Of a consumer group that became a classic one, whatever is said of the rebalance that follows.
        converted, emitter.so_far.triggers = emitter.so_far.triggers, []
        self._triggers = [*converted, *self._triggers]
        cause = self._cause_of(began)
        if cause is not None and not converted:
            same = [trigger for trigger in self._triggers if _is_same(trigger, cause)]
            self._triggers = [*(same or [cause]), *(trigger for trigger in self._triggers if trigger not in same)]
        emitter.so_far.state = PREPARING
        unseen = rebalance.generation_before - emitter.so_far.generation_id
        emitter.so_far.generation_id = rebalance.generation_before
        emitter.begin(rebalance.generation_id, self._triggers, began.place.time_ms, unseen)

    def _apply_reason(self, began: RebalancePrepared) -> None:
        """Let those that the reason names come or go, if no line of their own said so."""
        named, reason = began.member_ids, _reason(began.client_reason)
        if began.reason is Reason.SESSION_EXPIRED:
            self._leave(named, Removed(Cause.SESSION_EXPIRED))
        elif began.reason is Reason.LEFT:
            pending = [member_id for member_id in named if member_id in self._pending_left]
            for member_id in pending:
                who = self._members.of(member_id)
                self._triggers.append(
                    trigger(InferredCause.PENDING_MEMBER_LEFT, who, began.place.time_ms, reason or "")
                )
            self._leave(
                (member_id for member_id in named if member_id not in pending), Removed(Cause.MEMBER_LEFT, reason)
            )
        elif began.reason is Reason.SYNC_TIMEOUT:
            self._leave(named, Removed(Cause.SYNC_TIMEOUT))
        elif began.reason in JOINS:
            for member_id in named:
                if member_id and member_id not in self._members_so_far:
                    self._join(member_id, began.group_instance_id, reason or "")

    def _cause_of(self, began: RebalancePrepared) -> Trigger | None:
        """What began it, if that is not among the changes: they have their own triggers."""
        named = next((member_id for member_id in began.member_ids if member_id), None)
        at_ms, reason = began.place.time_ms, _reason(began.client_reason) or ""
        cause: Cause | InferredCause | None = _CAUSES.get(began.reason)
        if began.reason in (Reason.UPDATED, Reason.LEADER_REJOINED):
            cause = self._why_rejoined(began, named)
        if cause is None:
            return None
        member = None
        if named is not None:
            member = self._members_so_far.get(named) or self._members.of(named, began.group_instance_id)
        return trigger(cause, member, at_ms, reason)

    def _why_rejoined(self, began: RebalancePrepared, member_id: str | None) -> Cause | InferredCause:
        """A line does not tell what a member said differently: its client's reason may, or its records."""
        is_leader = began.reason is Reason.LEADER_REJOINED
        reason = began.client_reason or ""
        if SUBSCRIPTION_CHANGED in reason or self._has_other_topics(member_id):
            return Cause.METADATA_CHANGED
        if REVOKED in reason:
            return Cause.MEMBER_REJOINED
        if self._record is None and not _reason(reason):
            return InferredCause.LEADER_REJOINED_OR_CHANGED if is_leader else InferredCause.REJOINED_OR_CHANGED
        return Cause.LEADER_REJOINED if is_leader else Cause.MEMBER_REJOINED

    def _has_other_topics(self, member_id: str | None) -> bool:
        before = self._members_so_far.get(member_id or "")
        stored = () if self._record is None else self._record.members
        now = next((member.topics for member in stored if member.member_id == member_id), None)
        return before is not None and None not in (before.topics, now) and before.topics != now

    # ---- the end

    def _end(self, until: Place | None) -> None:
        rebalance = self._rebalance
        if rebalance.emptied is not None:
            self._empty(rebalance.emptied.place, rebalance.emptied.generation_id)
        elif self._record is not None and not self._record.members:
            self._empty(self._record_places[0], self._record.generation_id)
        elif rebalance.stabilized is not None or self._record is not None or rebalance.assigned is not None:
            self._start()
            self._become_stable(until)

    def _empty(self, place: Place, generation_id: int) -> None:
        emitter = self._emitter
        _at(emitter, *dict.fromkeys((place, *self._record_places)))
        for member_id in list(self._members_so_far):
            self._triggers.append(emitter.leave(member_id))
        emitter.so_far.state, emitter.so_far.generation_id = EMPTY, generation_id
        if self._record is not None:
            copy_header(emitter.so_far, self._record)
        emitter.emit("group.emptied", rebalance_ms=self._since_begin(place), triggers=self._triggers)

    def _start(self) -> None:
        emitter, rebalance, record = self._emitter, self._rebalance, self._record
        ended = rebalance.stabilized or rebalance.assigned
        if ended is not None:
            _at(emitter, ended.place, *self._record_places)
        else:
            emitter.time_ms, emitter.places = self._record_time_ms, self._record_places
        if record is not None:
            self._triggers += change_members(emitter, record)
            copy_header(emitter.so_far, record)
        else:
            self._join_handed_out()
        so_far = emitter.so_far
        so_far.generation_id = rebalance.generation_id
        so_far.state = COMPLETING
        if rebalance.assigned is not None and rebalance.assigned.leader:
            so_far.leader = rebalance.assigned.leader
        emitter.emit(
            "generation.started",
            leader=so_far.leader,
            protocol_type=so_far.protocol_type,
            protocol_name=so_far.protocol_name,
            members=self._member_count(),
            triggers=self._triggers,
            started_ms=emitter.time_ms,
            join_ms=None if rebalance.stabilized is None else self._since_begin(rebalance.stabilized.place),
            **self._slowest_join(),
        )

    def _slowest_join(self) -> dict[str, Any]:
        """The member that joined last, if all of them were seen to join and did not do so at once."""
        took = {member_id: self._join_ms(member_id) for member_id in self._members_so_far}
        slowest = max(took, key=lambda member_id: took[member_id] or 0, default=None)
        if slowest is None or None in took.values() or not took[slowest]:
            return {}
        return {
            "slowest_member": self._members_so_far[slowest].reference(),
            "slowest_join_ms": took[slowest],
        }

    def _join_ms(self, member_id: str) -> int | None:
        """How long after the begin of the rebalance a member sent JoinGroup."""
        began, join = self._rebalance.prepared, self._joins.get(member_id)
        return None if began is None or join is None else max(0, join.joined_ms - began.place.time_ms)

    def _sync_ms(self, member_id: str) -> int | None:
        """How long after the begin of the generation it sent SyncGroup; None: not before the one of the leader."""
        stabilized, join = self._rebalance.stabilized, self._joins.get(member_id)
        if stabilized is None or join is None or join.synced_ms is None:
            return None
        return max(0, join.synced_ms - stabilized.place.time_ms)

    def _join_handed_out(self) -> None:
        """Who joined with the id that it was handed out has no line of the old coordinator: it follows from counts."""
        stabilized, so_far = self._rebalance.stabilized, self._members_so_far
        new = [
            member_id_handed_out
            for member_id_handed_out in self._handed_out
            if member_id_handed_out.member_id not in so_far
        ]
        if stabilized is None or stabilized.members != len(so_far) + len(new):
            return
        for member_id in new:
            _at(self._emitter, member_id.place)
            self._join(member_id.member_id)
        _at(self._emitter, stabilized.place)

    def _member_count(self) -> int | None:
        said_by = (self._rebalance.stabilized, self._rebalance.assigned)
        counts = [
            group_stabilized.members
            for group_stabilized in said_by
            if group_stabilized is not None and group_stabilized.members is not None
        ]
        if self._record is not None:
            return len(self._record.members)
        return counts[0] if counts else None

    def _become_stable(self, until: Place | None) -> None:
        emitter, record, assigned = self._emitter, self._record, self._rebalance.assigned
        if record is None and assigned is None:
            if until is not None:
                _at(emitter, until)
                emitter.emit("rebalance.superseded", rebalance_ms=self._since_begin(until))
            return
        places = (() if assigned is None else (assigned.place,)) + (self._record_places if record is not None else ())
        _at(emitter, *places)
        if record is not None:
            for stored in record.members:
                member = emitter.so_far.members[stored.member_id]
                member.topics, member.digest = stored.topics, stored.digest
                took_ms = self._join_ms(stored.member_id), self._sync_ms(stored.member_id)
                emitter.assign(member, stored.partitions, stored.unnamed_partitions, *took_ms)
        emitter.so_far.state = STABLE
        stabilized = self._rebalance.stabilized
        emitter.emit(
            "generation.stable",
            members=self._member_count(),
            partitions=None if record is None else emitter.partition_count(),
            rebalance_ms=self._since_begin(places[0]),
            join_ms=None if stabilized is None else self._since_begin(stabilized.place),
            sync_ms=None if stabilized is None else max(0, places[0].time_ms - stabilized.place.time_ms),
        )

    def _since_begin(self, place: Place) -> int | None:
        began = self._rebalance.prepared
        return None if began is None else max(0, place.time_ms - began.place.time_ms)


_CAUSES: Final[Mapping[Reason, Cause]] = {
    Reason.STATIC_UPDATED: Cause.STATIC_REPLACED,
    Reason.OVER_CAPACITY: Cause.GROUP_TOO_LARGE,
    Reason.STORE_FAILED: Cause.STORE_FAILED,
}
"""Of reasons that name nobody who comes or goes."""


def _reason(text: str | None) -> str | None:
    """What a client said; a coordinator writes "not provided" where it said nothing."""
    return None if not text or text == "not provided" else text


def _is_same(found: Trigger, cause: Trigger) -> bool:
    return bool(found["cause"] == cause["cause"] and found["member"] == cause["member"])


def _is_of_the_begin(change: OfGroup, began: RebalancePrepared) -> bool:
    """Whether a change that is written after the begin is what began it: the old coordinator writes leaves so."""
    is_soon = change.place.time_ms <= began.place.time_ms + BEGUN_WITH_MS
    return is_soon and began.reason is Reason.LEFT and getattr(change, "member_id", None) in began.member_ids
