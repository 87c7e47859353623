"""The next step of a member towards its target assignment.

Counterpart in Kafka: `CurrentAssignmentBuilder`.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

import msgspec

from coordinator.core.consumer.member import CurrentAssignment, MemberState
from coordinator.core.consumer.topic_partitions import NO_PARTITIONS, EpochsByPartition, TopicPartitions, has_any

NO_OWNERS: Final[Mapping[int, str]] = {}
NO_PENDING: Final[Mapping[int, int]] = {}


class Reconciliation(msgspec.Struct):
    """What the next step of a member depends on."""

    target_epoch: int
    target: TopicPartitions
    subscribed: Container[bytes]
    """The ids of the topics that exist and that the member subscribes to."""
    owners: Mapping[bytes, Mapping[int, str]]
    """Topic id → partition → the member that may use it or has it pending."""
    owned: Sequence[Any] | None
    """What the member says it owns (structs with `topic_id` and `partitions`); None: it does not say."""
    has_subscription_changed: bool

    def still_owns(self, partitions: EpochsByPartition) -> bool:
        """Whether the member has not shown that it gave these partitions up. One that says nothing has not."""
        return bool(partitions) and (self.owned is None or has_any(self.owned, partitions))


def reconcile(current: CurrentAssignment, asked: Reconciliation) -> CurrentAssignment | None:
    """The next assignment of the member; None if it is in a state of a later version and has to rejoin."""
    match current.state:
        case MemberState.STABLE:
            if current.epoch != asked.target_epoch:
                return _next(current, asked)
            return _unsubscribed(current, asked) if asked.has_subscription_changed else current
        case MemberState.UNREVOKED_PARTITIONS:
            if not asked.still_owns(current.pending):
                return _next(current, asked)
            return _unsubscribed(current, asked) if asked.has_subscription_changed else current
        case MemberState.UNRELEASED_PARTITIONS:
            return _next(current, asked)
        case MemberState.UNKNOWN:
            if asked.owned is None or asked.owned:
                return None
            return _next(current, asked)


def _unsubscribed(current: CurrentAssignment, asked: Reconciliation) -> CurrentAssignment:
    """Take away the topics that the member no longer subscribes to, without a look at its target assignment."""
    kept: EpochsByPartition = {
        topic_id: partitions for topic_id, partitions in current.assigned.items() if topic_id in asked.subscribed
    }
    if len(kept) == len(current.assigned):
        return current
    pending = {topic_id: dict(partitions) for topic_id, partitions in current.pending.items()}
    for topic_id, partitions in current.assigned.items():
        if topic_id not in kept:
            pending.setdefault(topic_id, {}).update(partitions)
    if asked.still_owns(pending):
        return CurrentAssignment(current.epoch, current.epoch, MemberState.UNREVOKED_PARTITIONS, kept, pending)
    return msgspec.structs.replace(current, previous_epoch=current.epoch, assigned=kept)


def _next(current: CurrentAssignment, asked: Reconciliation) -> CurrentAssignment:
    """The assignment on the way to the target: first give up, then get what is free."""
    kept: dict[bytes, dict[int, int]] = {}
    revoked: dict[bytes, dict[int, int]] = {}
    for topic_id, partitions in current.assigned.items():
        target_partitions = asked.target.get(topic_id, ()) if topic_id in asked.subscribed else ()
        _split(topic_id, partitions, frozenset(target_partitions), kept, revoked)
    if revoked and asked.still_owns(revoked):
        return CurrentAssignment(current.epoch, current.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    has_unreleased = False
    for topic_id, target_partitions in asked.target.items():
        if topic_id not in asked.subscribed:
            continue
        of_topic = kept.get(topic_id)
        missing = [index for index in target_partitions if index not in of_topic] if of_topic else target_partitions
        if not missing:
            continue
        own_pending, owners = current.pending.get(topic_id, NO_PENDING), asked.owners.get(topic_id, NO_OWNERS)
        added = [index for index in missing if index not in owners or index in own_pending]
        has_unreleased = has_unreleased or len(added) < len(missing)
        if added:
            gained = dict.fromkeys(added, asked.target_epoch)
            kept[topic_id] = {**of_topic, **gained} if of_topic else gained
    state = MemberState.UNRELEASED_PARTITIONS if has_unreleased else MemberState.STABLE
    assigned = kept or NO_PARTITIONS
    return CurrentAssignment(asked.target_epoch, current.epoch, state, assigned, NO_PARTITIONS)


def _split(
    topic_id: bytes,
    partitions: dict[int, int] | Any,
    target_partitions: frozenset[int],
    kept: dict[bytes, dict[int, int]],
    revoked: dict[bytes, dict[int, int]],
) -> None:
    """Divide the assigned partitions of a topic into those that the member keeps and those that it gives up."""
    if target_partitions.issuperset(partitions):
        kept[topic_id] = partitions
        return
    keeps = {index: epoch for index, epoch in partitions.items() if index in target_partitions}
    if keeps:
        kept[topic_id] = keeps
    if len(keeps) < len(partitions):
        revoked[topic_id] = {index: epoch for index, epoch in partitions.items() if index not in target_partitions}
