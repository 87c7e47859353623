"""Core events → audit records. Keeps what a reader is told beside the bare event: who owned what, how long it took."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.embedded import assigned_partitions, count_claimed, subscribed_topics
from coordinator.audit.ownership import by_topic, hand_over
from coordinator.audit.records import RecordWriter
from coordinator.audit.resume import AuditEnd, AuditEnds
from coordinator.audit.schema import Record
from coordinator.core import events
from coordinator.core.causes import Cause
from coordinator.core.group import Group, Member
from coordinator.core.states import GroupState

Partition = tuple[str, int]
"""Topic and partition index."""


@dataclass(slots=True)
class KnownMember:
    """A member, and the partitions it owned last; known until its end is told, when its group has forgotten it."""

    member: Member
    owned: tuple[Partition, ...] = ()


@dataclass(slots=True)
class GroupTrail:
    """What is remembered of a group between its events.

    `owners` keeps a partition's last owner until another member gets it, so that a partition that was without an
    owner for a generation (cooperative assignors) still counts as moved.
    """

    seq: int = 0
    created_seq: int = 0
    members: dict[str, KnownMember] = field(default_factory=dict)
    owners: dict[Partition, str] = field(default_factory=dict)
    rebalance_started_ms: int = 0
    generation_started_ms: int = 0
    partitions: int = 0
    moved: int = 0
    unowned: int = 0


class AuditTrail:
    """The audit of the groups of one partition."""

    def __init__(self, node_id: int, coordinator_epoch: int = 0) -> None:
        self._writer = RecordWriter(node_id, coordinator_epoch)
        self._trails: dict[str, GroupTrail] = {}
        self._ends = AuditEnds()

    def observe(
        self, event: events.Event, group: Group, state_before: GroupState, generation_before: int, into: list[Record]
    ) -> None:
        """Append the audit records for an event that was just applied to `group`; most have one, some none."""
        for kind, say in SAYERS.get(type(event), ()):
            trail = self._trails.get(group.group_id)
            if trail is None:
                trail = self._trails[group.group_id] = GroupTrail()
            said = say(event, group, trail, state_before)
            if said is not None:
                into.append(self._record(kind, group, trail, event.at_ms, state_before, generation_before, said))

    def forget(self) -> None:
        """Begin anew: the topic is about to be read."""
        self._ends = AuditEnds()

    def take(self, record: Record) -> None:
        """The next record of the topic. Raises MalformedMessage for one that this coordinator cannot have written."""
        key, value, _ = record
        self._ends.take(key, value)

    def resume(self, groups: Mapping[str, Group], now_ms: int) -> list[Record]:
        """Take up each group's `seq` where the records that were taken end.

        Returns a `group.loaded` for each group whose audited state is another than the loaded one, and a
        `group.removed` for each that only the audit knows.
        """
        self._trails, ends = {}, self._ends.ends
        self.forget()
        records = []
        for group in groups.values():
            end = ends.pop(group.group_id, None)
            trail = self._trails[group.group_id] = _resume(group, end)
            if end is None or not end.agrees_with(group):
                void_from = None if end is None else end.void_from(group)
                said = _snapshot(group) | {"void_from_seq": void_from, "lost": end is not None and void_from is None}
                before = (GroupState.DEAD, 0) if end is None else (end.state, end.generation_id)
                records.append(self._record(schema.GroupLoaded, group, trail, now_ms, *before, said))
        for group_id, end in ends.items():
            if end.state is not GroupState.DEAD:
                trail = self._trails[group_id] = GroupTrail(end.seq, end.created_seq)
                gone = Group(group_id, state=GroupState.DEAD, generation_id=end.generation_id)
                said = {"cause": Cause.NOT_STORED}
                before = (end.state, end.generation_id)
                records.append(self._record(schema.GroupRemoved, gone, trail, now_ms, *before, said))
            else:
                self._trails[group_id] = GroupTrail(end.seq, end.created_seq)
        return records

    def _record(
        self,
        kind: type[schema.AuditEvent],
        group: Group,
        trail: GroupTrail,
        at_ms: int,
        state_before: GroupState,
        generation_before: int,
        said: dict[str, Any],
    ) -> Record:
        trail.seq += 1
        if kind is schema.GroupCreated or not trail.created_seq:
            trail.created_seq = trail.seq
        return self._writer.record(
            kind,
            group.group_id,
            trail.seq,
            trail.created_seq,
            at_ms,
            state_before,
            generation_before,
            state_before if kind is schema.RebalanceSuperseded else group.state,
            group.generation_id,
            said,
        )


def _resume(group: Group, end: AuditEnd | None) -> GroupTrail:
    trail = GroupTrail() if end is None else GroupTrail(end.seq, end.created_seq)
    for member in group.members.values():
        owned = tuple(assigned_partitions(group.protocol_type, member.assignment) or ())
        trail.members[member.member_id] = KnownMember(member, owned)
        trail.owners.update(dict.fromkeys(owned, member.member_id))
    return trail


Said = dict[str, Any]
"""The fields that an event has beside the envelope; a member is told by whatever names it (`schema.MemberRef`)."""


def _created(event: events.GroupCreated, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    return {}


def _joined(event: events.MemberJoined, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    member = group.members[event.member_id]
    trail.members[event.member_id] = KnownMember(member)
    return {
        "member": member,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in event.protocols],
        "subscribed_topics": subscribed_topics(group.protocol_type, event.protocols[0].metadata),
    }


def _rejoined(event: events.MemberRejoined, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    return {
        "member": group.members[event.member_id],
        "metadata_changed": event.metadata_changed,
        "subscribed_topics": subscribed_topics(group.protocol_type, event.protocols[0].metadata),
        "reason": event.reason,
    }


def _removed(event: events.MemberRemoved, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    return {"member": trail.members.pop(event.member_id).member, "cause": event.cause, "reason": event.reason}


def _replaced(event: events.StaticMemberReplaced, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    member = group.members[event.new_member_id]
    owned = trail.members.pop(event.old_member_id).owned
    trail.members[event.new_member_id] = KnownMember(member, owned)
    trail.owners.update(dict.fromkeys(owned, event.new_member_id))
    return {"member": member, "old_member_id": event.old_member_id}


def _superseded(
    event: events.RebalanceStarted, group: Group, trail: GroupTrail, state_before: GroupState
) -> Said | None:
    if state_before is not GroupState.COMPLETING_REBALANCE:
        return None
    return {"rebalance_ms": event.at_ms - trail.rebalance_started_ms}


def _rebalance_started(event: events.RebalanceStarted, group: Group, trail: GroupTrail, before: GroupState) -> Said:
    trail.rebalance_started_ms = event.at_ms
    trigger = event.trigger
    return {"cause": trigger.cause, "member": trigger, "reason": trigger.reason, "members": len(group.members)}


def _generation_started(event: events.GenerationStarted, group: Group, trail: GroupTrail, before: GroupState) -> Said:
    trail.generation_started_ms = event.at_ms
    trail.partitions = trail.moved = trail.unowned = 0
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": event.protocol_name,
        "leader": event.leader,
        "members": len(group.members),
        "join_ms": event.at_ms - trail.rebalance_started_ms,
    }


def _assigned(event: events.MemberAssigned, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    known = trail.members[event.member_id]
    now = assigned_partitions(group.protocol_type, event.assignment)
    owned = now or set()
    gained, lost, kept, moved = hand_over(event.member_id, owned, known.owned, trail.owners)
    if gained or lost:
        known.owned = tuple(owned)
    metadata = known.member.metadata_for(group.protocol_name)
    trail.partitions += len(owned)
    trail.moved += moved
    trail.unowned += len(owned) - count_claimed(group.protocol_type, metadata, owned)
    return {
        "member": known.member,
        "readable": now is not None,
        "partitions": by_topic(owned) if kept else gained,
        "gained": gained,
        "lost": lost,
        "kept": kept,
    }


def _stable(event: events.GenerationStable, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    rebalance_ms = event.at_ms - trail.rebalance_started_ms
    return {
        "members": len(group.members),
        "partitions": trail.partitions,
        "partitions_moved": trail.moved,
        "join_ms": trail.generation_started_ms - trail.rebalance_started_ms,
        "sync_ms": event.at_ms - trail.generation_started_ms,
        "rebalance_ms": rebalance_ms,
        "unowned_partition_ms": trail.unowned * rebalance_ms,
    }


def _emptied(event: events.GroupEmptied, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    return {"rebalance_ms": event.at_ms - trail.rebalance_started_ms}


def _group_removed(event: events.GroupRemoved, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    return {"cause": event.cause}


def _expired(event: events.OffsetsExpired, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    return {"partitions": by_topic(event.partitions)}


def _deleted(event: events.OffsetsDeleted, group: Group, trail: GroupTrail, state_before: GroupState) -> Said:
    return {"partitions": by_topic(event.partitions)}


SAYERS: Final[dict[type, tuple[tuple[type[schema.AuditEvent], Callable[..., Said | None]], ...]]] = {
    events.GroupCreated: ((schema.GroupCreated, _created),),
    events.MemberJoined: ((schema.MemberJoined, _joined),),
    events.MemberRejoined: ((schema.MemberRejoined, _rejoined),),
    events.MemberRemoved: ((schema.MemberRemoved, _removed),),
    events.StaticMemberReplaced: ((schema.StaticMemberReplaced, _replaced),),
    events.RebalanceStarted: (
        (schema.RebalanceSuperseded, _superseded),
        (schema.RebalanceStarted, _rebalance_started),
    ),
    events.GenerationStarted: ((schema.GenerationStarted, _generation_started),),
    events.MemberAssigned: ((schema.MemberAssigned, _assigned),),
    events.GenerationStable: ((schema.GenerationStable, _stable),),
    events.GroupEmptied: ((schema.GroupEmptied, _emptied),),
    events.GroupRemoved: ((schema.GroupRemoved, _group_removed),),
    events.OffsetsExpired: ((schema.OffsetsExpired, _expired),),
    events.OffsetsDeleted: ((schema.OffsetsDeleted, _deleted),),
}
"""What each event is told as: kinds, and what says their fields (None: not this time).

Events that are not here have no kind of their own, or (commits) are counted instead of told each.
"""


def ref(member: Member) -> schema.MemberRef:
    return schema.MemberRef(member.member_id, member.client_id, member.client_host, member.group_instance_id)


def _snapshot(group: Group) -> dict[str, Any]:
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": group.protocol_name or "",
        "leader": group.leader or "",
        "members": [
            schema.MemberSnapshot(
                ref(member),
                subscribed_topics(group.protocol_type, member.metadata_for(group.protocol_name)),
                by_topic(assigned_partitions(group.protocol_type, member.assignment) or set()),
            )
            for member in group.members.values()
        ],
    }
