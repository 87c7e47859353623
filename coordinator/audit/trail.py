"""Core events → audit records. Keeps what a reader is told beside the bare event: who owned what, how long it took."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.embedded import (
    assigned_partitions,
    by_topic,
    claimed_partitions,
    subscribed_topics,
)
from coordinator.audit.resume import AuditEnd, AuditEnds
from coordinator.core import events
from coordinator.core.causes import Cause
from coordinator.core.group import Group, Member
from coordinator.core.states import GroupState

Header = tuple[str, bytes | None]
Partition = tuple[str, int]
"""Topic and partition index."""

SPEC_VERSION: Final = ("ce_specversion", b"1.0")
CONTENT_TYPE: Final = ("content-type", b"application/json")
TYPES: Final = {kind: ("ce_type", tag.encode()) for kind, tag in schema.TAGS.items()}
Record = tuple[bytes, bytes, tuple[Header, ...]]
"""Key, value and headers of an audit record."""


@dataclass(slots=True)
class GroupTrail:
    """What is remembered of a group between its events.

    `owners` keeps a partition's last owner until another member gets it, so that a partition that was without an
    owner for a generation (cooperative assignors) still counts as moved.
    """

    seq: int = 0
    created_seq: int = 0
    members: dict[str, schema.MemberRef] = field(default_factory=dict)
    owned: dict[str, tuple[Partition, ...]] = field(default_factory=dict)
    owners: dict[Partition, str] = field(default_factory=dict)
    rebalance_started_ms: int = 0
    generation_started_ms: int = 0
    partitions: int = 0
    moved: int = 0
    unowned: int = 0


class AuditTrail:
    """The audit of the groups of one partition."""

    def __init__(self, node_id: int, coordinator_epoch: int = 0) -> None:
        self._node_id = node_id
        self._coordinator_epoch = coordinator_epoch
        self._source = ("ce_source", f"/kafka-group-coordinator/nodes/{node_id}".encode())
        self._trails: dict[str, GroupTrail] = {}
        self._ends = AuditEnds()

    def observe(
        self, event: events.Event, group: Group, state_before: GroupState, generation_before: int, into: list[Record]
    ) -> None:
        """Append the audit records for an event that was just applied to `group`; most have one, some none."""
        say = SAYERS.get(type(event))
        if say is None:
            return
        trail = self._trails.get(group.group_id)
        if trail is None:
            trail = self._trails[group.group_id] = GroupTrail()
        before = (state_before, generation_before)
        for kind, said in say(event, group, trail, before):
            into.append(self._record(kind, group, trail, event.at_ms, before, said))

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
                records.append(self._record(schema.GroupLoaded, group, trail, now_ms, before, said))
        for group_id, end in ends.items():
            if end.state is not GroupState.DEAD:
                trail = self._trails[group_id] = GroupTrail(end.seq, end.created_seq)
                gone = Group(group_id, state=GroupState.DEAD, generation_id=end.generation_id)
                said = {"cause": Cause.NOT_STORED}
                before = (end.state, end.generation_id)
                records.append(self._record(schema.GroupRemoved, gone, trail, now_ms, before, said))
            else:
                self._trails[group_id] = GroupTrail(end.seq, end.created_seq)
        return records

    def _record(
        self,
        kind: type[schema.AuditEvent],
        group: Group,
        trail: GroupTrail,
        at_ms: int,
        before: tuple[GroupState, int],
        said: dict[str, Any],
    ) -> Record:
        trail.seq += 1
        if kind is schema.GroupCreated or not trail.created_seq:
            trail.created_seq = trail.seq
        event = kind(
            group_id=group.group_id,
            seq=trail.seq,
            created_seq=trail.created_seq,
            time_ms=at_ms,
            node_id=self._node_id,
            coordinator_epoch=self._coordinator_epoch,
            generation_id_before=before[1],
            generation_id=group.generation_id,
            state_before=before[0],
            state=before[0] if kind is schema.RebalanceSuperseded else group.state,
            **said,
        )
        key = group.group_id.encode()
        ce_id = ("ce_id", b"%b/%d" % (key, trail.seq))
        headers = (SPEC_VERSION, ce_id, TYPES[kind], self._source, _time_header(at_ms), CONTENT_TYPE)
        return key, schema.encode_event(event), headers


@lru_cache(maxsize=1)
def _time_header(at_ms: int) -> Header:
    """The same for all events of a turn."""
    return "ce_time", datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").encode()


def _resume(group: Group, end: AuditEnd | None) -> GroupTrail:
    trail = GroupTrail() if end is None else GroupTrail(end.seq, end.created_seq)
    for member in group.members.values():
        trail.members[member.member_id] = ref(member)
        owned = trail.owned[member.member_id] = tuple(assigned_partitions(group.protocol_type, member.assignment) or ())
        trail.owners.update(dict.fromkeys(owned, member.member_id))
    return trail


def ref(member: Member) -> schema.MemberRef:
    return schema.MemberRef(member.member_id, member.client_id, member.client_host, member.group_instance_id)


Said = tuple[tuple[type[schema.AuditEvent], dict[str, Any]], ...]
"""Kinds of audit events, with the fields each has beside the envelope."""
Before = tuple[GroupState, int]
"""State and generation id before the event."""


def _created(event: events.GroupCreated, group: Group, trail: GroupTrail, before: Before) -> Said:
    return ((schema.GroupCreated, {}),)


def _joined(event: events.MemberJoined, group: Group, trail: GroupTrail, before: Before) -> Said:
    member = trail.members[event.member_id] = ref(group.members[event.member_id])
    said = {
        "member": member,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in event.protocols],
        "subscribed_topics": subscribed_topics(group.protocol_type, event.protocols[0].metadata),
    }
    return ((schema.MemberJoined, said),)


def _rejoined(event: events.MemberRejoined, group: Group, trail: GroupTrail, before: Before) -> Said:
    said = {
        "member": trail.members[event.member_id],
        "metadata_changed": event.metadata_changed,
        "subscribed_topics": subscribed_topics(group.protocol_type, event.protocols[0].metadata),
        "reason": event.reason,
    }
    return ((schema.MemberRejoined, said),)


def _removed(event: events.MemberRemoved, group: Group, trail: GroupTrail, before: Before) -> Said:
    trail.owned.pop(event.member_id, None)
    member = trail.members.pop(event.member_id)
    return ((schema.MemberRemoved, {"member": member, "cause": event.cause, "reason": event.reason}),)


def _replaced(event: events.StaticMemberReplaced, group: Group, trail: GroupTrail, before: Before) -> Said:
    del trail.members[event.old_member_id]
    member = trail.members[event.new_member_id] = ref(group.members[event.new_member_id])
    owned = trail.owned.pop(event.old_member_id, ())
    trail.owned[event.new_member_id] = owned
    trail.owners.update(dict.fromkeys(owned, event.new_member_id))
    return ((schema.StaticMemberReplaced, {"member": member, "old_member_id": event.old_member_id}),)


def _rebalance_started(event: events.RebalanceStarted, group: Group, trail: GroupTrail, before: Before) -> Said:
    trigger = event.trigger
    who = (trigger.member_id, trigger.client_id, trigger.client_host, trigger.group_instance_id)
    said = {
        "cause": trigger.cause,
        "member": schema.MemberRef(*who),
        "reason": trigger.reason,
        "members": len(group.members),
    }
    started_ms, trail.rebalance_started_ms = trail.rebalance_started_ms, event.at_ms
    if before[0] is not GroupState.COMPLETING_REBALANCE:
        return ((schema.RebalanceStarted, said),)
    given_up = {"rebalance_ms": event.at_ms - started_ms}
    return (schema.RebalanceSuperseded, given_up), (schema.RebalanceStarted, said)


def _generation_started(event: events.GenerationStarted, group: Group, trail: GroupTrail, before: Before) -> Said:
    trail.generation_started_ms = event.at_ms
    trail.partitions = trail.moved = trail.unowned = 0
    said = {
        "protocol_type": group.protocol_type or "",
        "protocol_name": event.protocol_name,
        "leader": event.leader,
        "members": len(group.members),
        "join_ms": event.at_ms - trail.rebalance_started_ms,
    }
    return ((schema.GenerationStarted, said),)


def _assigned(event: events.MemberAssigned, group: Group, trail: GroupTrail, before: Before) -> Said:
    now = assigned_partitions(group.protocol_type, event.assignment)
    owned = now or set()
    before_this = set(trail.owned.get(event.member_id, ()))
    gained = owned - before_this
    trail.partitions += len(owned)
    trail.moved += sum([trail.owners.get(partition, event.member_id) != event.member_id for partition in gained])
    metadata = group.members[event.member_id].metadata_for(group.protocol_name)
    trail.unowned += len(owned - claimed_partitions(group.protocol_type, metadata))
    if gained or len(owned) != len(before_this):
        trail.owned[event.member_id] = tuple(owned)
    trail.owners.update(dict.fromkeys(owned, event.member_id))
    said = {
        "member": trail.members[event.member_id],
        "readable": now is not None,
        "partitions": by_topic(owned),
        "gained": by_topic(gained),
        "lost": by_topic(before_this - owned),
        "kept": by_topic(owned & before_this),
    }
    return ((schema.MemberAssigned, said),)


def _stable(event: events.GenerationStable, group: Group, trail: GroupTrail, before: Before) -> Said:
    rebalance_ms = event.at_ms - trail.rebalance_started_ms
    said = {
        "members": len(group.members),
        "partitions": trail.partitions,
        "partitions_moved": trail.moved,
        "join_ms": trail.generation_started_ms - trail.rebalance_started_ms,
        "sync_ms": event.at_ms - trail.generation_started_ms,
        "rebalance_ms": rebalance_ms,
        "unowned_partition_ms": trail.unowned * rebalance_ms,
    }
    return ((schema.GenerationStable, said),)


def _emptied(event: events.GroupEmptied, group: Group, trail: GroupTrail, before: Before) -> Said:
    return ((schema.GroupEmptied, {"rebalance_ms": event.at_ms - trail.rebalance_started_ms}),)


def _group_removed(event: events.GroupRemoved, group: Group, trail: GroupTrail, before: Before) -> Said:
    return ((schema.GroupRemoved, {"cause": event.cause}),)


def _expired(event: events.OffsetsExpired, group: Group, trail: GroupTrail, before: Before) -> Said:
    return ((schema.OffsetsExpired, {"partitions": by_topic(event.partitions)}),)


def _deleted(event: events.OffsetsDeleted, group: Group, trail: GroupTrail, before: Before) -> Said:
    return ((schema.OffsetsDeleted, {"partitions": by_topic(event.partitions)}),)


SAYERS: Final[dict[type, Callable[..., Said]]] = {
    events.GroupCreated: _created,
    events.MemberJoined: _joined,
    events.MemberRejoined: _rejoined,
    events.MemberRemoved: _removed,
    events.StaticMemberReplaced: _replaced,
    events.RebalanceStarted: _rebalance_started,
    events.GenerationStarted: _generation_started,
    events.MemberAssigned: _assigned,
    events.GenerationStable: _stable,
    events.GroupEmptied: _emptied,
    events.GroupRemoved: _group_removed,
    events.OffsetsExpired: _expired,
    events.OffsetsDeleted: _deleted,
}
"""What each event is told as. The others have no kind of their own, or (commits) are counted instead of told each."""


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
