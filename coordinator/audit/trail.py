"""Core events → audit records. Keeps what a reader is told beside the bare event: who owned what, how long it took."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.embedded import assigned_partitions, count_claimed, subscribed_topics
from coordinator.audit.group_trail import GroupTrail, by_topic
from coordinator.audit.observer import Observer
from coordinator.audit.resume import AuditEnd, AuditEnds
from coordinator.audit.schema import Record
from coordinator.core import events, offset_events
from coordinator.core.causes import Cause
from coordinator.core.classic_group import ClassicGroup, Member
from coordinator.core.states import COMPLETING_REBALANCE, DEAD, GroupState


class AuditTrail(Observer):
    """The audit of the groups of one partition."""

    def __init__(self, node_id: int, coordinator_epoch: int = 0) -> None:
        super().__init__(node_id, coordinator_epoch, SAYERS)
        self._ends = AuditEnds()

    def forget(self) -> None:
        """Begin anew: the topic is about to be read."""
        self._ends = AuditEnds()

    def take(self, record: Record) -> None:
        """The next record of the topic. Raises MalformedMessage for one that this coordinator cannot have written."""
        key, value, _ = record
        self._ends.take(key, value)

    def resume(self, groups: Mapping[str, ClassicGroup], now_ms: int) -> list[Record]:
        """Take up each group's `seq` where the records that were taken end.

        Returns a `group.loaded` for each group whose audited state is another than the loaded one, and a
        `group.removed` for each that only the audit knows.
        """
        self.trails.clear()
        ends = self._ends.ends
        self.forget()
        records = []
        for group in groups.values():
            end = ends.pop(group.group_id, None)
            trail = self.trails[group.group_id] = _resume(group, end)
            if end is None or not end.agrees_with(group):
                void_from = None if end is None else end.void_from(group)
                said = _snapshot(group) | {"void_from_seq": void_from, "lost": end is not None and void_from is None}
                before = (DEAD, 0) if end is None else (end.state, end.generation_id)
                after = (group.state, group.generation_id)
                told = self.writer.record(schema.GroupLoaded, group.group_id, trail, now_ms, *before, *after, said)
                records.append(told)
        for group_id, end in ends.items():
            trail = self.trails[group_id] = GroupTrail(end.seq, end.created_seq)
            if end.state is not DEAD:
                before, after = (end.state, end.generation_id), (DEAD, end.generation_id)
                said = {"cause": Cause.NOT_STORED}
                told = self.writer.record(schema.GroupRemoved, group_id, trail, now_ms, *before, *after, said)
                records.append(told)
        return records


def _resume(group: ClassicGroup, end: AuditEnd | None) -> GroupTrail:
    trail = GroupTrail() if end is None else GroupTrail(end.seq, end.created_seq)
    for member in group.members.values():
        trail.know(member, tuple(assigned_partitions(group.protocol_type, member.assignment) or ()))
    return trail


Said = dict[str, Any]
"""The fields that an event has beside the envelope; a member is told by whatever names it (`schema.MemberRef`)."""
Sayings = tuple[tuple[type[schema.AuditEvent], Callable[..., Said | None]], ...]
"""What one event is told as: kinds, and what says their fields (None: not this time)."""


def _created(event: events.GroupCreated, group: ClassicGroup, trail: GroupTrail, state_before: GroupState) -> Said:
    return {}


def _joined(event: events.MemberJoined, group: ClassicGroup, trail: GroupTrail, state_before: GroupState) -> Said:
    member = group.members[event.member_id]
    trail.know(member, ())
    return {
        "member": member,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in event.protocols],
        "subscribed_topics": subscribed_topics(group.protocol_type, event.protocols[0].metadata),
    }


def _rejoined(event: events.MemberRejoined, group: ClassicGroup, trail: GroupTrail, state_before: GroupState) -> Said:
    return {
        "member": group.members[event.member_id],
        "metadata_changed": event.metadata_changed,
        "subscribed_topics": subscribed_topics(group.protocol_type, event.protocols[0].metadata),
        "reason": event.reason,
    }


def _removed(event: events.MemberRemoved, group: ClassicGroup, trail: GroupTrail, state_before: GroupState) -> Said:
    return {"member": trail.members.pop(event.member_id).member, "cause": event.cause, "reason": event.reason}


def _replaced(
    event: events.StaticMemberReplaced, group: ClassicGroup, trail: GroupTrail, state_before: GroupState
) -> Said:
    member = group.members[event.new_member_id]
    owned = trail.members.pop(event.old_member_id).owned
    trail.know(member, owned)
    return {"member": member, "old_member_id": event.old_member_id}


def _superseded(
    event: events.RebalanceStarted, group: ClassicGroup, trail: GroupTrail, state_before: GroupState
) -> Said | None:
    if state_before is not COMPLETING_REBALANCE:
        return None
    return {"rebalance_ms": event.at_ms - trail.rebalance_started_ms}


def _rebalance_started(
    event: events.RebalanceStarted, group: ClassicGroup, trail: GroupTrail, before: GroupState
) -> Said:
    trail.rebalance_started_ms = event.at_ms
    trigger = event.rebalance_reason
    return {"cause": trigger.cause, "member": trigger, "reason": trigger.reason, "members": len(group.members)}


def _generation_started(
    event: events.GenerationStarted, group: ClassicGroup, trail: GroupTrail, before: GroupState
) -> Said:
    trail.begin_generation(event.at_ms)
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": event.protocol_name,
        "leader": event.leader,
        "members": len(group.members),
        "join_ms": event.at_ms - trail.rebalance_started_ms,
    }


def _assigned(event: events.MemberAssigned, group: ClassicGroup, trail: GroupTrail, state_before: GroupState) -> Said:
    member = group.members[event.member_id]
    now = assigned_partitions(group.protocol_type, event.assignment)
    owned = now or set()
    claimed = count_claimed(group.protocol_type, member.metadata_for(group.protocol_name), owned)
    gained, lost, kept = trail.hand_over(event.member_id, owned, claimed)
    return {
        "member": member,
        "readable": now is not None,
        "partitions": by_topic(owned) if gained and kept else gained or kept,
        "gained": gained,
        "lost": lost,
        "kept": kept,
    }


def _stable(event: events.GenerationStable, group: ClassicGroup, trail: GroupTrail, state_before: GroupState) -> Said:
    join_ms = trail.generation_started_ms - trail.rebalance_started_ms
    sync_ms = event.at_ms - trail.generation_started_ms
    rebalance_ms = join_ms + sync_ms
    return {
        "members": len(group.members),
        "partitions": trail.partitions,
        "partitions_moved": trail.moved,
        "join_ms": join_ms,
        "sync_ms": sync_ms,
        "rebalance_ms": rebalance_ms,
        "unowned_partition_ms": trail.unowned * rebalance_ms,
    }


def _emptied(event: events.GroupEmptied, group: ClassicGroup, trail: GroupTrail, state_before: GroupState) -> Said:
    return {"rebalance_ms": event.at_ms - trail.rebalance_started_ms}


def _group_removed(
    event: events.GroupRemoved, group: ClassicGroup, trail: GroupTrail, state_before: GroupState
) -> Said:
    return {"cause": event.cause}


def _expired(
    event: offset_events.OffsetsExpired, group: ClassicGroup, trail: GroupTrail, state_before: GroupState
) -> Said:
    return {"partitions": by_topic(event.partitions)}


def _deleted(
    event: offset_events.OffsetsDeleted, group: ClassicGroup, trail: GroupTrail, state_before: GroupState
) -> Said:
    return {"partitions": by_topic(event.partitions)}


SAYERS: Final[dict[type, Sayings]] = {
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
    offset_events.OffsetsExpired: ((schema.OffsetsExpired, _expired),),
    offset_events.OffsetsDeleted: ((schema.OffsetsDeleted, _deleted),),
}
"""What each event is told as. The others have no kind of their own, or (commits) are counted instead of told each."""


def ref(member: Member) -> schema.MemberRef:
    return schema.MemberRef(member.member_id, member.client_id, member.client_host, member.group_instance_id)


def _snapshot(group: ClassicGroup) -> dict[str, Any]:
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
