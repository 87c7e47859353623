"""Records of a consumer group (KIP-848) → events.

Each change is a record of its own. What changes a group comes before the record of the epoch that it raises; then the
target assignment is made for that epoch, and each member gets to the epoch as soon as it holds what it shall. When all
have, the generation is stable. So its times are known, unlike those of a classic group.

Counterpart in Kafka: `GroupMetadataManager.consumerGroupHeartbeat` and the `replay` methods of its records.
"""

from collections.abc import Callable
from typing import Any, Final

from coordinator.audit.schema import TopicPartitions
from coordinator.core.causes import Cause
from coordinator.observe.known import (
    CLASSIC,
    CONSUMER,
    EventEmitter,
    GroupSoFar,
    KnownMember,
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
    if isinstance(record, GroupEpoch) and record.epoch is None:
        if emitter.known.protocol == CONSUMER:
            delete_or_convert(emitter)
        return
    if emitter.known.protocol != CONSUMER or emitter.known.is_converting:
        if isinstance(record, ConsumerMember) and record.topics is None:
            return  # of a group that is gone
        if emitter.known.protocol == CLASSIC and emitter.known.is_converting:
            _upgrade(emitter)
        else:
            emitter.remove()
            emitter.create(CONSUMER, "consumer")
    match record:
        case ConsumerMember(topics=None):
            _member_gone(emitter, record.member_id)
        case ConsumerMember():
            _member(emitter, record)
        case GroupEpoch():
            epoch_events(emitter, record)
        case GroupTopics():
            named = emitter.known.topic_names
            emitter.known.topic_names = {
                **record.names,
                **{member_id: name for member_id, name in named.items() if name == member_id},
            }
        case TargetEpoch():
            target_events(emitter, record)
        case MatchedTopics():
            add_trigger(emitter, trigger(Cause.TOPICS_CHANGED, None, emitter.time_ms))
        case CurrentAssignment():
            _current(emitter, record, name_of)


def add_trigger(emitter: EventEmitter, found: dict[str, Any]) -> None:
    triggers = emitter.known.triggers
    if len(triggers) < TRIGGERS_KEPT_MAX and found not in triggers:
        triggers.append(found)


def _upgrade(emitter: EventEmitter) -> None:
    """A classic group goes on as a consumer group, because a first member has the new protocol."""
    for member in emitter.known.members.values():
        member.digest = UNKNOWN_DIGEST
        member.epoch, member.is_settled = emitter.known.generation_id, True
        member.holds_names = True
    emitter.known.protocol_name = emitter.known.leader = None
    emitter.convert(CONSUMER)


def _member(emitter: EventEmitter, record: ConsumerMember) -> None:
    known = emitter.known
    departed_id = _removed_with(known, record.group_instance_id)
    member = known.members.get(record.member_id)
    if member is not None:
        known.removed.pop(record.member_id, None)
        if member.digest not in (record.digest, UNKNOWN_DIGEST):
            if member.topics != record.topics:
                emitter.resubscribe(member, record.topics or [])
            add_trigger(emitter, trigger(Cause.METADATA_CHANGED, member, emitter.time_ms))
        member.topics, member.digest = record.topics, record.digest
        member.client_id, member.client_host = record.client_id, record.client_host
        return
    came = KnownMember(
        record.member_id, record.client_id, record.client_host, record.group_instance_id, record.topics, record.digest
    )
    known.protocol_name = record.server_assignor or known.protocol_name
    if departed_id is None:
        emitter.join(came)
        add_trigger(emitter, trigger(Cause.NEW_MEMBER, came, emitter.time_ms))
        return
    del known.removed[departed_id]
    if known.members[departed_id].digest != record.digest:
        add_trigger(emitter, trigger(Cause.METADATA_CHANGED, came, emitter.time_ms))
    emitter.replace(departed_id, came)


def _removed_with(known: GroupSoFar, instance_id: str | None) -> str | None:
    """The static member that was removed and had this instance id."""
    if instance_id is None:
        return None
    return next((member_id for member_id, reason in known.removed.items() if reason == instance_id), None)


def _member_gone(emitter: EventEmitter, member_id: str) -> None:
    """The next records say what became of it."""
    member = emitter.known.members.get(member_id)
    if member is not None:
        emitter.known.removed[member_id] = member.group_instance_id


def _let_removed_go(emitter: EventEmitter) -> None:
    known = emitter.known
    for member_id in known.removed:
        add_trigger(emitter, emitter.leave(member_id))
    known.removed = {}


def epoch_events(emitter: EventEmitter, record: GroupEpoch) -> None:
    epoch = record.epoch or 0
    if epoch < emitter.known.generation_id:  # the records between were compacted away
        emitter.remove()
        emitter.create(CONSUMER, "consumer")
    known = emitter.known
    if epoch == known.generation_id:
        known.metadata_hash = record.metadata_hash
        return
    _let_removed_go(emitter)
    if known.is_open:
        emitter.emit("rebalance.superseded", rebalance_ms=since(emitter))
    if not known.triggers and known.metadata_hash not in (None, record.metadata_hash):
        add_trigger(emitter, trigger(Cause.TOPICS_CHANGED, None, emitter.time_ms))
    begins_in_the_middle = known.generation_id == 0 and epoch > FIRST_EPOCH_MAX
    triggers = [] if begins_in_the_middle else known.triggers
    before = known.generation_id or min(epoch, FIRST_EPOCH_MAX) - 1
    emitter.begin(epoch, triggers, emitter.time_ms, epoch - before - 1)
    known.generation_id, known.metadata_hash, known.triggers = epoch, record.metadata_hash, []
    known.started_ms, known.is_open, known.state = emitter.time_ms, True, "Assigning"
    if not known.members:
        known.is_open, known.state = False, "Empty"
        emitter.emit("group.emptied", rebalance_ms=0, triggers=triggers)


def target_events(emitter: EventEmitter, record: TargetEpoch) -> None:
    """The target of an older epoch is told too: a coordinator may compute it until after the epoch has risen again."""
    known = emitter.known
    if not known.is_open or known.state != "Assigning" or not 0 < record.epoch <= known.generation_id:
        return
    is_late = record.epoch < known.generation_id
    if not is_late:
        known.state = "Reconciling"
    emitter.emit(
        "generation.started",
        leader=None,
        protocol_type="consumer",
        protocol_name=known.protocol_name,
        members=len(known.members),
        join_ms=None if is_late else since(emitter),
        target_epoch=record.epoch,
    )


def _current(emitter: EventEmitter, record: CurrentAssignment, name_of: TopicNames) -> None:
    known = emitter.known
    member = known.members.get(record.member_id)
    if member is None:
        return
    partitions = _named(known, member, record.partitions, name_of)
    member.epoch, member.is_settled, member.holds_names = record.epoch, record.is_settled, False
    emitter.assign(member, partitions, record.unnamed_partitions)
    if not known.is_open or not is_stable(known):
        return
    known.is_open, known.state = False, "Stable"
    took_ms = since(emitter)
    emitter.emit(
        "generation.stable",
        members=len(known.members),
        partitions=emitter.partition_count(),
        rebalance_ms=took_ms,
        slowest_member=member.reference(),
        slowest_sync_ms=took_ms,
    )


def _named(known: GroupSoFar, member: KnownMember, by_id: TopicPartitions, name_of: TopicNames) -> TopicPartitions:
    """By names, as far as they are known; a topic keeps the one that it was told by first.

    Of a group that was a classic one the names may follow from what a member held then.
    """
    new = [member_id for member_id in by_id if member_id not in known.topic_names]
    names = known.topic_names | {member_id: name_of(member_id) for member_id in new}
    unknown = [member_id for member_id in new if names[member_id] == member_id]
    if unknown and member.holds_names:
        by_name = {names[member_id]: by_id[member_id] for member_id in by_id}
        names |= renamed(member.partitions, by_name)
    if new:
        known.topic_names = {**known.topic_names, **{member_id: names[member_id] for member_id in new}}
    return {names[member_id]: indexes for member_id, indexes in by_id.items()}


def is_stable(known: GroupSoFar) -> bool:
    """Whether all members have got to the epoch of the group."""
    return all(member.is_settled and member.epoch == known.generation_id for member in known.members.values())


def since(emitter: EventEmitter) -> int:
    """Since the epoch began. The clocks of two coordinators may differ."""
    started_ms = emitter.known.started_ms
    return 0 if started_ms is None else max(0, emitter.time_ms - started_ms)
