"""How admin APIs describe a group, at one poll and at the next → the events that the difference stands for.

A poll tells how a group is. What happened between two polls is inferred, and seen at both: it has two places. Why it
happened is not told, and no API tells the generation of a classic group: what polls see of it is counted instead.
Where lines tell what happens, a poll adds how the group is (`group.snapshot`) and nothing that happened.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from coordinator.audit.schema import PARTITIONS_NAMED_MAX, TopicPartitions
from coordinator.explain.generation import CLASSIC, OF_EPOCHS
from coordinator.observe.classic import change_members
from coordinator.observe.consumer import FIRST_EPOCH_MAX
from coordinator.observe.group_so_far import EventEmitter, GroupSoFar, MemberSoFar, Trigger, count
from coordinator.observe.places import Place
from coordinator.observe.records.stored import ClassicGroup, ClassicMember

if TYPE_CHECKING:
    from coordinator.observe.poll import PresentGroup

ASSIGNING: Final = "Assigning"
STABLE: Final = "Stable"
EMPTY: Final = "Empty"
SHARE: Final = "share"
SETTLED: Final = frozenset({STABLE, EMPTY})


def polled_events(emitter: EventEmitter, now: "PresentGroup", before: Place | None, *, was_absent: bool) -> None:
    """Tell what a poll shows. `before` is the poll before it, None at the first one.

    `was_absent`: if nothing is known of the group, that poll saw that there was none.
    A classic group that rebalances is reported once it is stable: until then its members change.
    """
    so_far = emitter.so_far
    if so_far.protocol and (so_far.protocol != now.type or (now.epoch or 0) < _epoch(so_far)):
        was_absent |= not _goes_on(emitter, now)
        so_far = emitter.so_far
    if not so_far.protocol:
        if was_absent:
            emitter.places = _places(before, now.place)
            emitter.create(now.type, now.protocol_type)
        else:
            _begin_in_the_middle(emitter, now)
            return
    _emit_move(emitter, now, before)
    if now.type == CLASSIC and now.state not in SETTLED:
        return
    record = _as_record(now, so_far)
    if emitter.so_far.has_lines:
        _emit_present(emitter, now, record)
    else:
        emitter.places = _places(before, now.place)
        _emit_changes(emitter, now, record)


def _emit_move(emitter: EventEmitter, now: "PresentGroup", before: Place | None) -> None:
    """Another broker coordinates the group than at the poll before; lines tell it themselves."""
    so_far, broker = emitter.so_far, now.place.broker_id
    if so_far.has_lines or broker is None:
        return
    if before is not None and so_far.coordinator is not None and so_far.coordinator != broker:
        so_far.unloaded = msgspec.structs.replace(before, broker_id=so_far.coordinator)
        emitter.load(now.place)
    so_far.coordinator = broker


def absent_events(emitter: EventEmitter, before: Place | None, at: Place) -> None:
    """The group is not there any more."""
    emitter.places = _places(before, at)
    for member_id in list(emitter.so_far.members):
        emitter.leave(member_id)
    emitter.remove()


def _places(before: Place | None, now: Place) -> tuple[Place, ...]:
    return (now,) if before is None else (before, now)


def _epoch(so_far: GroupSoFar) -> int:
    return so_far.generation_id if so_far.protocol in OF_EPOCHS else 0


def _goes_on(emitter: EventEmitter, now: "PresentGroup") -> bool:
    """The protocol changed, or the epoch fell: with a member in common it is the same group, else another one."""
    so_far = emitter.so_far
    if so_far.protocol != now.type and any(member.member_id in so_far.members for member in now.members):
        emitter.convert(now.type)
        return True
    emitter.remove()
    return False


def _begin_in_the_middle(emitter: EventEmitter, now: "PresentGroup") -> None:
    """What was before the first poll is not known, so no event says that the group was made."""
    so_far = emitter.so_far
    so_far.seq += 1
    so_far.created_seq = so_far.seq
    so_far.protocol, so_far.protocol_type = now.type, now.protocol_type
    so_far.coordinator = now.place.broker_id
    record = _as_record(now, so_far)
    _apply_members(so_far, record)
    _emit_snapshot(emitter, now)


def _emit_present(emitter: EventEmitter, now: "PresentGroup", record: ClassicGroup) -> None:
    """Lines tell what happens, and neither who was there before them nor who owns what.

    Nor do most tell when the members of a group of epochs have got there.
    """
    so_far = emitter.so_far
    is_same = {member.member_id for member in record.members} == so_far.members.keys()
    if so_far.is_open and now.epoch == so_far.generation_id and is_same:
        _assign(emitter, record)
        if now.state in SETTLED:
            so_far.is_open = False
            _end(emitter, now, [])
        return
    if _differs(so_far, now, record):
        _apply_members(so_far, record)
        _emit_snapshot(emitter, now)


def _differs(so_far: GroupSoFar, now: "PresentGroup", record: ClassicGroup) -> bool:
    is_newer = so_far.protocol in OF_EPOCHS and (now.epoch or 0) > so_far.generation_id
    return is_newer or _owned(record.members) != _owned(so_far.members.values())


def _owned(members: Iterable[ClassicMember | MemberSoFar]) -> dict[str, tuple[TopicPartitions, int]]:
    return {member.member_id: (member.partitions, member.unnamed_partitions) for member in members}


def _emit_snapshot(emitter: EventEmitter, now: "PresentGroup") -> None:
    so_far = emitter.so_far
    so_far.state, so_far.protocol_name = now.state, now.protocol_name
    so_far.is_open = now.type in OF_EPOCHS and now.state not in SETTLED
    if now.epoch is not None:
        so_far.generation_id = now.epoch
    emitter.emit(
        "group.snapshot",
        group_type=now.type,
        protocol_type=now.protocol_type,
        protocol_name=now.protocol_name,
        leader=so_far.leader,
        members=emitter.snapshots(),
    )


def _apply_members(so_far: GroupSoFar, record: ClassicGroup) -> None:
    members = {}
    for stored in record.members:
        member = so_far.members.get(stored.member_id) or _member(stored)
        member.topics, member.partitions = stored.topics, stored.partitions
        member.unnamed_partitions = stored.unnamed_partitions
        member.client_id, member.client_host = stored.client_id, stored.client_host
        members[stored.member_id] = member
    so_far.members = members


def _emit_changes(emitter: EventEmitter, now: "PresentGroup", record: ClassicGroup) -> None:
    so_far = emitter.so_far
    triggers = change_members(emitter, record)
    has_moved = _owned(record.members) != _owned(so_far.members.values())
    if now.epoch is not None:
        _emit_epoch(emitter, now, record, triggers)
    elif triggers or has_moved:
        _begin(emitter, so_far.generation_id + 1, now, triggers)
        so_far.generation_id += 1
        _start(emitter, now, triggers)
        _assign(emitter, record)
        _end(emitter, now, triggers)
    so_far.state = now.state


def _emit_epoch(emitter: EventEmitter, now: "PresentGroup", record: ClassicGroup, triggers: list[Trigger]) -> None:
    """Members get to an epoch one by one, which polls may see or not."""
    so_far, epoch = emitter.so_far, now.epoch or 0
    is_new = epoch > so_far.generation_id
    if is_new:
        # Whether the one before became stable between the polls is not seen, so nothing says that it did not.
        _begin(emitter, epoch, now, triggers)
        so_far.generation_id, so_far.is_open, so_far.has_target, so_far.state = epoch, True, False, now.state
    if so_far.is_open and not so_far.has_target and now.state != ASSIGNING:
        so_far.has_target = True
        _start(emitter, now, triggers)
    _assign(emitter, record)
    so_far.state = now.state
    if so_far.is_open and now.state in SETTLED:
        so_far.is_open = False
        _end(emitter, now, triggers)


def _begin(emitter: EventEmitter, generation_id: int, now: "PresentGroup", triggers: list[Trigger]) -> None:
    so_far = emitter.so_far
    before = so_far.generation_id or min(generation_id, FIRST_EPOCH_MAX) - 1
    so_far.protocol_type, so_far.protocol_name = now.protocol_type, now.protocol_name
    emitter.begin(generation_id, triggers, None, max(0, generation_id - before - 1))


def _start(emitter: EventEmitter, now: "PresentGroup", triggers: list[Trigger]) -> None:
    if not emitter.so_far.members:
        return
    emitter.emit(
        "generation.started",
        leader=None,
        protocol_type=now.protocol_type,
        protocol_name=now.protocol_name,
        members=len(emitter.so_far.members),
        triggers=triggers,
        join_ms=None,
    )


def _assign(emitter: EventEmitter, record: ClassicGroup) -> None:
    for stored in record.members:
        member = emitter.so_far.members[stored.member_id]
        member.topics = stored.topics or member.topics
        emitter.assign(member, stored.partitions, stored.unnamed_partitions)


def _end(emitter: EventEmitter, now: "PresentGroup", triggers: list[Trigger]) -> None:
    so_far = emitter.so_far
    so_far.state = now.state
    is_shared = now.type == SHARE  # several members read a partition, so it has no owner
    if not so_far.members:
        emitter.emit("group.emptied", rebalance_ms=None, triggers=triggers)
        return
    emitter.emit(
        "generation.stable",
        members=len(so_far.members),
        partitions=None if is_shared else emitter.partition_count(),
        rebalance_ms=None,
    )


def _as_record(now: "PresentGroup", so_far: GroupSoFar) -> ClassicGroup:
    """As the record of a later generation would have it: a client that came back may as well be a new one."""
    counts = {member.member_id: count(member.partitions or {}) for member in now.members}
    are_named = sum(counts.values()) <= PARTITIONS_NAMED_MAX
    members = [
        ClassicMember(
            member.member_id,
            member.client_id,
            member.client_host,
            member.group_instance_id,
            sorted(member.topics) if member.topics else None,
            b"",
            (member.partitions or {}) if are_named else {},
            0 if are_named else counts[member.member_id],
        )
        for member in now.members
    ]
    return ClassicGroup(now.group_id, so_far.generation_id + 1, now.protocol_type, now.protocol_name, None, -1, members)


def _member(classic_member: ClassicMember) -> MemberSoFar:
    who = (
        classic_member.member_id,
        classic_member.client_id,
        classic_member.client_host,
        classic_member.group_instance_id,
    )
    return MemberSoFar(
        *who,
        classic_member.topics,
        partitions=classic_member.partitions,
        unnamed_partitions=classic_member.unnamed_partitions,
    )
