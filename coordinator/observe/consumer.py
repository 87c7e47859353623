"""Records of a consumer group (KIP-848), and of share and streams groups, which have epochs, too → events.

Each change is a record of its own. What changes a group comes before the record of the epoch that it raises; then the
target assignment is made for that epoch, and each member gets to the epoch as soon as it holds what it shall. When all
have, the generation is stable. So its times are known, unlike those of a classic group.

Counterpart in Kafka: `GroupMetadataManager.consumerGroupHeartbeat` and the `replay` methods of its records.
"""

from collections.abc import Callable
from typing import Any, Final

from coordinator.audit.schema import TopicPartitions
from coordinator.core.causes import Cause
from coordinator.observe.group_so_far import (
    CLASSIC,
    CONSUMER,
    SHARE,
    STREAMS,
    EventEmitter,
    GroupSoFar,
    MemberSoFar,
    delete_or_convert,
    renamed,
    trigger,
)
from coordinator.observe.records.stored import (
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    GroupTopics,
    MatchedTopics,
    TargetEpoch,
    TopologyTopics,
)

TopicNames = Callable[[str], str]
"""Topic id (hex) → the topic's name, or the id itself if nobody knows it."""

FIRST_EPOCH_MAX: Final = 2
"""The first epoch of a group that has a record: 1 or 2, depending on the version of Kafka."""

TRIGGERS_KEPT_MAX: Final = 1_000

UNKNOWN_DIGEST: Final = b""
"""Of a member that came along from the other protocol: its first record is no change."""


def consumer_events(emitter: EventEmitter, record: Any, name_of: TopicNames) -> None:
    """Tell what the record changes, and take it over."""
    kind = getattr(record, "group_type", CONSUMER)
    if isinstance(record, GroupEpoch) and record.epoch is None:
        if emitter.so_far.protocol == kind:
            (delete_or_convert if kind == CONSUMER else EventEmitter.remove)(emitter)
        return
    if emitter.so_far.protocol != kind or emitter.so_far.is_converting:
        if isinstance(record, ConsumerMember) and record.topics is None:
            return  # of a group that is gone
        if kind == CONSUMER and emitter.so_far.protocol == CLASSIC and emitter.so_far.is_converting:
            _upgrade(emitter)
        else:
            emitter.remove()
            emitter.create(kind, kind)
    match record:
        case ConsumerMember(topics=None):
            _member_gone(emitter, record.member_id)
        case ConsumerMember():
            _member(emitter, record)
        case GroupEpoch():
            epoch_events(emitter, record)
        case GroupTopics():
            named = emitter.so_far.topic_names
            emitter.so_far.topic_names = {
                **record.names,
                **{member_id: name for member_id, name in named.items() if name == member_id},
            }
        case TargetEpoch():
            target_events(emitter, record)
        case MatchedTopics():
            add_trigger(emitter, trigger(Cause.TOPICS_CHANGED, None, emitter.time_ms))
        case CurrentAssignment():
            _current(emitter, record, name_of)
        case TopologyTopics():
            emitter.so_far.reads = record.reads


def add_trigger(emitter: EventEmitter, found: dict[str, Any]) -> None:
    triggers = emitter.so_far.triggers
    if len(triggers) < TRIGGERS_KEPT_MAX and found not in triggers:
        triggers.append(found)


def _upgrade(emitter: EventEmitter) -> None:
    """A classic group goes on as a consumer group, because a first member has the new protocol."""
    for member in emitter.so_far.members.values():
        member.digest = UNKNOWN_DIGEST
        member.epoch, member.is_settled = emitter.so_far.generation_id, True
        member.holds_names = True
    emitter.so_far.protocol_name = emitter.so_far.leader = None
    emitter.convert(CONSUMER)


def _member(emitter: EventEmitter, record: ConsumerMember) -> None:
    so_far = emitter.so_far
    departed_id = _removed_with(so_far, record.group_instance_id)
    member = so_far.members.get(record.member_id)
    if member is not None:
        so_far.removed.pop(record.member_id, None)
        if _subscribes_otherwise(member, record):
            if member.topics != record.topics:
                emitter.resubscribe(member, record.topics or [])
            add_trigger(emitter, trigger(Cause.METADATA_CHANGED, member, emitter.time_ms))
        member.topics, member.digest, member.server_assignor = record.topics, record.digest, record.server_assignor
        member.client_id, member.client_host = record.client_id, record.client_host
        return
    came = MemberSoFar(
        record.member_id, record.client_id, record.client_host, record.group_instance_id, record.topics, record.digest
    )
    came.server_assignor = record.server_assignor
    so_far.protocol_name = record.server_assignor or so_far.protocol_name
    if departed_id is None:
        emitter.join(came)
        add_trigger(emitter, trigger(Cause.NEW_MEMBER, came, emitter.time_ms))
        return
    del so_far.removed[departed_id]
    if _subscribes_otherwise(so_far.members[departed_id], record):
        add_trigger(emitter, trigger(Cause.METADATA_CHANGED, came, emitter.time_ms))
    emitter.replace(departed_id, came)


def _subscribes_otherwise(member: MemberSoFar, record: ConsumerMember) -> bool:
    """Whether that raises the epoch: the choice of an assignor, which the digest has, too, does not."""
    if member.digest in (record.digest, UNKNOWN_DIGEST):
        return False
    return member.topics != record.topics or member.server_assignor == record.server_assignor


def _removed_with(so_far: GroupSoFar, instance_id: str | None) -> str | None:
    """The static member that was removed and had this instance id."""
    if instance_id is None:
        return None
    return next((member_id for member_id, reason in so_far.removed.items() if reason == instance_id), None)


def _member_gone(emitter: EventEmitter, member_id: str) -> None:
    """The next records say what became of it."""
    member = emitter.so_far.members.get(member_id)
    if member is not None:
        emitter.so_far.removed[member_id] = member.group_instance_id


def _let_removed_go(emitter: EventEmitter) -> None:
    so_far = emitter.so_far
    for member_id in so_far.removed:
        add_trigger(emitter, emitter.leave(member_id))
    so_far.removed = {}


def epoch_events(emitter: EventEmitter, record: GroupEpoch) -> None:
    epoch = record.epoch or 0
    if epoch < emitter.so_far.generation_id:  # the records between were compacted away
        emitter.remove()
        emitter.create(record.group_type, record.group_type)
    so_far = emitter.so_far
    if epoch == so_far.generation_id:
        so_far.metadata_hash = record.metadata_hash
        return
    _let_removed_go(emitter)
    if so_far.is_open:
        emitter.emit("rebalance.superseded", rebalance_ms=since(emitter))
    if not so_far.triggers and so_far.metadata_hash not in (None, record.metadata_hash):
        add_trigger(emitter, trigger(Cause.TOPICS_CHANGED, None, emitter.time_ms))
    begins_in_the_middle = so_far.generation_id == 0 and epoch > FIRST_EPOCH_MAX
    triggers = [] if begins_in_the_middle else so_far.triggers
    before = so_far.generation_id or min(epoch, FIRST_EPOCH_MAX) - 1
    emitter.begin(epoch, triggers, emitter.time_ms, epoch - before - 1)
    so_far.generation_id, so_far.metadata_hash, so_far.triggers = epoch, record.metadata_hash, []
    so_far.started_ms, so_far.is_open, so_far.has_target = emitter.time_ms, True, False
    so_far.state = "Stable" if so_far.protocol == SHARE else "Assigning"  # a share group has no other states
    if not so_far.members:
        so_far.is_open, so_far.state = False, "Empty"
        emitter.emit("group.emptied", rebalance_ms=0, triggers=triggers)


def target_events(emitter: EventEmitter, record: TargetEpoch) -> None:
    """The target of an older epoch is told too: a coordinator may compute it until after the epoch has risen again."""
    so_far = emitter.so_far
    awaits = not so_far.has_target if so_far.protocol == SHARE else so_far.state == "Assigning"
    if not so_far.is_open or not awaits or not 0 < record.epoch <= so_far.generation_id:
        return
    is_late = record.epoch < so_far.generation_id
    if not is_late:
        so_far.has_target = True
        so_far.state = "Stable" if so_far.protocol == SHARE else "Reconciling"
    emitter.emit(
        "generation.started",
        leader=None,
        protocol_type=so_far.protocol,
        protocol_name=so_far.protocol_name,
        members=len(so_far.members),
        join_ms=None if is_late else since(emitter),
        target_epoch=record.epoch,
    )


def _current(emitter: EventEmitter, record: CurrentAssignment, name_of: TopicNames) -> None:
    so_far = emitter.so_far
    member = so_far.members.get(record.member_id)
    if member is None:
        return
    partitions = _named(so_far, member, record.partitions, name_of)
    member.epoch, member.is_settled, member.holds_names = record.epoch, record.is_settled, False
    emitter.assign(member, partitions, record.unnamed_partitions)
    if not so_far.is_open or not is_stable(so_far):
        return
    so_far.is_open, so_far.state = False, "Stable"
    took_ms = since(emitter)
    emitter.emit(
        "generation.stable",
        members=len(so_far.members),
        partitions=emitter.partition_count(),
        rebalance_ms=took_ms,
        slowest_member=member.reference(),
        slowest_sync_ms=took_ms,
    )


def _named(so_far: GroupSoFar, member: MemberSoFar, by_id: TopicPartitions, name_of: TopicNames) -> TopicPartitions:
    """By names, as far as they are known; a topic keeps the one that it was told by first.

    Of a group that was a classic one the names may follow from what a member held then. Tasks are told by what they
    read.
    """
    if so_far.protocol == STREAMS:
        read: TopicPartitions = {}
        for subtopology, numbers in by_id.items():
            for topic in so_far.reads.get(subtopology, (subtopology,)):
                read[topic] = sorted({*read.get(topic, ()), *numbers})
        return read
    new = [member_id for member_id in by_id if member_id not in so_far.topic_names]
    names = so_far.topic_names | {member_id: name_of(member_id) for member_id in new}
    unknown = [member_id for member_id in new if names[member_id] == member_id]
    if unknown and member.holds_names:
        by_name = {names[member_id]: by_id[member_id] for member_id in by_id}
        names |= renamed(member.partitions, by_name)
    if new:
        so_far.topic_names = {**so_far.topic_names, **{member_id: names[member_id] for member_id in new}}
    return {names[member_id]: indexes for member_id, indexes in by_id.items()}


def is_stable(so_far: GroupSoFar) -> bool:
    """Whether all members have got to the epoch of the group."""
    return all(member.is_settled and member.epoch == so_far.generation_id for member in so_far.members.values())


def since(emitter: EventEmitter) -> int:
    """Since the epoch began. The clocks of two coordinators may differ."""
    started_ms = emitter.so_far.started_ms
    return 0 if started_ms is None else max(0, emitter.time_ms - started_ms)
