"""Core events → audit records. Keeps what a reader is told beside the bare event: who owned what, how long it took."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from coordinator.audit import schema
from coordinator.audit.embedded import assigned_partitions, claimed_partitions, subscribed_topics
from coordinator.audit.resume import AuditEnd, AuditEnds
from coordinator.core import events
from coordinator.core.causes import Cause
from coordinator.core.group import Group, Member, TopicPartition
from coordinator.core.states import GroupState

CLOUDEVENTS_VERSION: Final = b"1.0"
NOT_TOLD: Final = frozenset(
    {
        events.MemberIdReserved,
        events.MemberIdReleased,
        events.MemberSynced,
        events.RebalanceProlonged,
        events.OffsetsCommitted,
        events.OffsetsHeldBack,
        events.TransactionEnded,
    }
)
"""Events that the topic has no kind for, or (commits) counts instead of telling each."""

Record = tuple[bytes, bytes, tuple[tuple[str, bytes | None], ...]]
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
    owned: dict[str, set[TopicPartition]] = field(default_factory=dict)
    owners: dict[TopicPartition, str] = field(default_factory=dict)
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
        self._source = f"/kafka-group-coordinator/nodes/{node_id}".encode()
        self._trails: dict[str, GroupTrail] = {}
        self._ends = AuditEnds()

    def observe(
        self, event: events.Event, group: Group, state_before: GroupState, generation_before: int
    ) -> list[Record]:
        """The audit records for an event that was just applied to `group`; most events have one, some none."""
        if type(event) in NOT_TOLD:
            return []
        trail = self._trails.get(group.group_id)
        if trail is None:
            trail = self._trails[group.group_id] = GroupTrail()
        before = (state_before, generation_before)
        return [
            self._record(kind, group, trail, event.at_ms, before, said)
            for kind, said in self._say(event, group, trail, before)
        ]

    def _say(
        self, event: events.Event, group: Group, trail: GroupTrail, before: tuple[GroupState, int]
    ) -> Iterator[tuple[type[schema.AuditEvent], dict[str, Any]]]:
        match event:
            case events.GroupCreated():
                yield schema.GroupCreated, {}
            case events.MemberJoined():
                yield schema.MemberJoined, _joined(event, group, trail)
            case events.MemberRejoined():
                yield schema.MemberRejoined, _rejoined(event, group, trail)
            case events.MemberRemoved():
                trail.owned.pop(event.member_id, None)
                member = trail.members.pop(event.member_id)
                yield schema.MemberRemoved, {"member": member, "cause": event.cause, "reason": event.reason}
            case events.StaticMemberReplaced():
                yield schema.StaticMemberReplaced, _replaced(event, group, trail)
            case events.RebalanceStarted():
                if before[0] is GroupState.COMPLETING_REBALANCE:
                    yield schema.RebalanceSuperseded, {"rebalance_ms": event.at_ms - trail.rebalance_started_ms}
                trail.rebalance_started_ms = event.at_ms
                yield schema.RebalanceStarted, _rebalance_started(event, group)
            case events.GenerationStarted():
                yield schema.GenerationStarted, _generation_started(event, group, trail)
            case events.MemberAssigned():
                yield schema.MemberAssigned, _assigned(event, group, trail)
            case events.GenerationStable():
                yield schema.GenerationStable, _stable(event, group, trail)
            case events.GroupEmptied():
                yield schema.GroupEmptied, {"rebalance_ms": event.at_ms - trail.rebalance_started_ms}
            case events.GroupRemoved():
                yield schema.GroupRemoved, {"cause": event.cause}
            case events.OffsetsExpired():
                yield schema.OffsetsExpired, {"partitions": by_topic(event.partitions)}
            case events.OffsetsDeleted():
                yield schema.OffsetsDeleted, {"partitions": by_topic(event.partitions)}

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
        superseded = kind is schema.RebalanceSuperseded
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
            state=before[0] if superseded else group.state,
            **said,
        )
        key = group.group_id.encode()
        headers = (
            ("ce_specversion", CLOUDEVENTS_VERSION),
            ("ce_id", key + b"/%d" % trail.seq),
            ("ce_type", kind.__struct_config__.tag.encode()),  # type: ignore[union-attr]
            ("ce_source", self._source),
            ("ce_time", datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").encode()),
            ("content-type", b"application/json"),
        )
        return key, schema.encode_event(event), headers


def _resume(group: Group, end: AuditEnd | None) -> GroupTrail:
    trail = GroupTrail() if end is None else GroupTrail(end.seq, end.created_seq)
    for member in group.members.values():
        trail.members[member.member_id] = ref(member)
        owned = trail.owned[member.member_id] = assigned_partitions(group, member.assignment) or set()
        trail.owners.update(dict.fromkeys(owned, member.member_id))
    return trail


def ref(member: Member) -> schema.MemberRef:
    return schema.MemberRef(member.member_id, member.client_id, member.client_host, member.group_instance_id)


def by_topic(partitions: "set[TopicPartition] | tuple[TopicPartition, ...]") -> schema.TopicPartitions:
    topics: schema.TopicPartitions = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


def _joined(event: events.MemberJoined, group: Group, trail: GroupTrail) -> dict[str, Any]:
    member = trail.members[event.member_id] = ref(group.members[event.member_id])
    return {
        "member": member,
        "session_timeout_ms": event.session_timeout_ms,
        "rebalance_timeout_ms": event.rebalance_timeout_ms,
        "protocols": [protocol.name for protocol in event.protocols],
        "subscribed_topics": subscribed_topics(group, event.protocols[0].metadata),
    }


def _rejoined(event: events.MemberRejoined, group: Group, trail: GroupTrail) -> dict[str, Any]:
    return {
        "member": trail.members[event.member_id],
        "metadata_changed": event.metadata_changed,
        "subscribed_topics": subscribed_topics(group, event.protocols[0].metadata),
        "reason": event.reason,
    }


def _replaced(event: events.StaticMemberReplaced, group: Group, trail: GroupTrail) -> dict[str, Any]:
    del trail.members[event.old_member_id]
    member = trail.members[event.new_member_id] = ref(group.members[event.new_member_id])
    owned = trail.owned.pop(event.old_member_id, set())
    trail.owned[event.new_member_id] = owned
    trail.owners.update(dict.fromkeys(owned, event.new_member_id))
    return {"member": member, "old_member_id": event.old_member_id}


def _rebalance_started(event: events.RebalanceStarted, group: Group) -> dict[str, Any]:
    trigger = event.trigger
    who = (trigger.member_id, trigger.client_id, trigger.client_host, trigger.group_instance_id)
    return {
        "cause": trigger.cause,
        "member": schema.MemberRef(*who),
        "reason": trigger.reason,
        "members": len(group.members),
    }


def _generation_started(event: events.GenerationStarted, group: Group, trail: GroupTrail) -> dict[str, Any]:
    trail.generation_started_ms = event.at_ms
    trail.partitions = trail.moved = trail.unowned = 0
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": event.protocol_name,
        "leader": event.leader,
        "members": len(group.members),
        "join_ms": event.at_ms - trail.rebalance_started_ms,
    }


def _assigned(event: events.MemberAssigned, group: Group, trail: GroupTrail) -> dict[str, Any]:
    now = assigned_partitions(group, event.assignment)
    owned = now or set()
    before = trail.owned.get(event.member_id, set())
    gained = owned - before
    trail.partitions += len(owned)
    trail.moved += sum(1 for partition in gained if trail.owners.get(partition, event.member_id) != event.member_id)
    member = group.members[event.member_id]
    trail.unowned += len(owned - claimed_partitions(group, member.metadata_for(group.protocol_name)))
    trail.owned[event.member_id] = owned
    trail.owners.update(dict.fromkeys(owned, event.member_id))
    return {
        "member": trail.members[event.member_id],
        "readable": now is not None,
        "partitions": by_topic(owned),
        "gained": by_topic(gained),
        "lost": by_topic(before - owned),
        "kept": by_topic(owned & before),
    }


def _stable(event: events.GenerationStable, group: Group, trail: GroupTrail) -> dict[str, Any]:
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


def _snapshot(group: Group) -> dict[str, Any]:
    return {
        "protocol_type": group.protocol_type or "",
        "protocol_name": group.protocol_name or "",
        "leader": group.leader or "",
        "members": [
            schema.MemberSnapshot(
                ref(member),
                subscribed_topics(group, member.metadata_for(group.protocol_name)),
                by_topic(assigned_partitions(group, member.assignment) or set()),
            )
            for member in group.members.values()
        ],
    }
