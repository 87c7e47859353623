"""Records of a classic group → events.

Kafka writes such a record when a generation has become stable or empty, when a static member was replaced, and when
the group is deleted. A generation that never became stable has no record: the number of the next one shows that it was.
Compaction may have removed records too; it keeps the newest of each group.
"""

from typing import Any

from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.folded_group import COMPLETING
from coordinator.observe.group_so_far import (
    CLASSIC,
    CONSUMER,
    EventEmitter,
    GroupSoFar,
    MemberSoFar,
    Trigger,
    delete_or_convert,
    renamed,
    trigger,
)
from coordinator.observe.records.stored import ClassicGroup, ClassicMember


def classic_events(emitter: EventEmitter, record: ClassicGroup) -> None:
    """Tell what the record changes, and take it over."""
    so_far = emitter.so_far
    if record.is_deleted:
        if so_far.protocol == CLASSIC:
            delete_or_convert(emitter)
        return
    if so_far.protocol == CONSUMER and so_far.is_converting:
        _downgrade(emitter, record)
        return
    if so_far.protocol != CLASSIC or so_far.is_converting or record.generation_id < so_far.generation_id:
        emitter.remove()
        emitter.create(CLASSIC, record.protocol_type)
        if record.generation_id > 1:
            _begin_in_the_middle(emitter, record)
            return
    so_far = emitter.so_far
    is_new = record.generation_id > so_far.generation_id
    unseen = record.generation_id - so_far.generation_id - 1
    triggers = change_members(emitter, record)
    if is_new:
        if not triggers:
            # A member that joined again does not show: the others have other owned partitions in their metadata, too.
            triggers = [trigger(InferredCause.NO_CHANGE_SEEN, None, emitter.time_ms)]
        emitter.begin(record.generation_id, triggers, None, unseen)
    copy_header(so_far, record)
    if is_new and record.members:
        emitter.emit("generation.started", **_started(emitter, record, triggers))
    for stored in record.members:
        member = so_far.members[stored.member_id]
        member.topics, member.digest = stored.topics, stored.digest
        emitter.assign(member, stored.partitions, stored.unnamed_partitions)
    if is_new:
        _end(emitter, triggers)


def _downgrade(emitter: EventEmitter, record: ClassicGroup) -> None:
    """A consumer group whose last member with the new protocol has left goes on as a classic one."""
    so_far, now = emitter.so_far, {stored.member_id: stored for stored in record.members}
    gone = [member_id for member_id in so_far.members if member_id not in now]
    triggers = [emitter.leave(member_id) for member_id in gone]
    for stored in record.members:
        before = so_far.members.get(stored.member_id)
        if before is not None:
            ids = renamed(before.partitions, stored.partitions)
            so_far.labels = {
                **so_far.labels,
                **{topic: topic_id for topic, topic_id in ids.items() if topic_id in so_far.topic_names},
            }
    for stored in record.members:
        member = so_far.members[stored.member_id] = _member(stored)
        member.partitions, member.unnamed_partitions = emitter.labelled(stored.partitions), stored.unnamed_partitions
    copy_header(so_far, record)
    emitter.convert(CLASSIC)
    so_far.triggers = triggers  # of the rebalance that follows


def _member(record: ClassicMember) -> MemberSoFar:
    who = (record.member_id, record.client_id, record.client_host, record.group_instance_id)
    return MemberSoFar(
        *who,
        record.topics,
        record.digest,
        session_timeout_ms=record.session_timeout_ms or None,
        rebalance_timeout_ms=record.rebalance_timeout_ms or None,
    )


def change_members(emitter: EventEmitter, record: ClassicGroup) -> list[Trigger]:
    """Let members come, go and be replaced; return that, and whose subscription changed, as triggers."""
    so_far, now = emitter.so_far, {stored.member_id: stored for stored in record.members}
    at_ms = emitter.time_ms
    gone = [before for before in so_far.members.values() if before.member_id not in now]
    instances = {before.group_instance_id: before for before in gone if before.group_instance_id is not None}
    triggers: list[Trigger] = []
    for stored in record.members:
        if stored.member_id in so_far.members:
            continue
        member = _member(stored)
        old = instances.pop(stored.group_instance_id, None) if stored.group_instance_id is not None else None
        if old is not None:
            emitter.replace(old.member_id, member)
            is_same = record.generation_id == so_far.generation_id
            cause = Cause.STATIC_REPLACED if is_same else InferredCause.STATIC_REPLACED_OR_BACK
            triggers.append(trigger(cause, member, at_ms))
            if old.topics != stored.topics:
                triggers.append(trigger(Cause.METADATA_CHANGED, member, at_ms))
        else:
            emitter.join(member)
            triggers.append(trigger(Cause.NEW_MEMBER, member, at_ms))
    for departed in gone:
        if departed.member_id in so_far.members:
            triggers.append(emitter.leave(departed.member_id))
    for member in so_far.members.values():
        stored = now[member.member_id]
        if stored.topics is not None and member.topics is not None and stored.topics != member.topics:
            emitter.resubscribe(member, stored.topics)
            triggers.append(trigger(Cause.METADATA_CHANGED, member, at_ms))
    return triggers


def _begin_in_the_middle(emitter: EventEmitter, record: ClassicGroup) -> None:
    """The records before this one were compacted away, so who came in which generation is not known."""
    so_far = emitter.so_far
    for stored in record.members:
        member = so_far.members[stored.member_id] = _member(stored)
        member.partitions, member.unnamed_partitions = stored.partitions, stored.unnamed_partitions
    unseen = record.generation_id - 1
    emitter.begin(record.generation_id, [], None, unseen)
    copy_header(so_far, record)
    emitter.emit("group.snapshot", members=emitter.snapshots(), state=COMPLETING)
    if record.members:
        emitter.emit("generation.started", **_started(emitter, record, []))
    _end(emitter, [])


def copy_header(so_far: GroupSoFar, record: ClassicGroup) -> None:
    so_far.generation_id, so_far.leader = record.generation_id, record.leader
    so_far.protocol_type, so_far.protocol_name = record.protocol_type, record.protocol_name
    so_far.state = "Stable" if record.members else "Empty"


def _started(emitter: EventEmitter, record: ClassicGroup, triggers: list[Trigger]) -> dict[str, Any]:
    """Kafka stores the group before it becomes stable: the state that it was in since then is CompletingRebalance."""
    started_ms = record.state_since_ms if 0 <= record.state_since_ms <= emitter.time_ms else None
    return {
        "leader": record.leader,
        "protocol_type": record.protocol_type,
        "protocol_name": record.protocol_name,
        "members": len(record.members),
        "triggers": triggers,
        "started_ms": started_ms,
        "join_ms": None,
    }


def _end(emitter: EventEmitter, triggers: list[Trigger]) -> None:
    if not emitter.so_far.members:
        emitter.emit("group.emptied", rebalance_ms=None, triggers=triggers)
        return
    emitter.emit(
        "generation.stable",
        members=len(emitter.so_far.members),
        partitions=emitter.partition_count(),
        rebalance_ms=None,
    )
