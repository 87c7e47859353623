"""The next step of a member towards its target assignment.

Counterpart in Kafka: `CurrentAssignmentBuilder`.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import msgspec

from coordinator.core.consumer.member import (
    MEMBER_STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
    CurrentAssignment,
)
from coordinator.core.consumer.owners import divide, gain
from coordinator.core.consumer.topic_partitions import NO_PARTITIONS, EpochsByPartition, TopicPartitions, has_any


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
    state = current.state
    if state is MEMBER_STABLE:
        if current.epoch != asked.target_epoch:
            return _next(current, asked)
        return _unsubscribed(current, asked) if asked.has_subscription_changed else current
    if state is UNREVOKED_PARTITIONS:
        if not asked.still_owns(current.pending):
            return _next(current, asked)
        return _unsubscribed(current, asked) if asked.has_subscription_changed else current
    if state is not UNRELEASED_PARTITIONS and (asked.owned is None or asked.owned):
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
        return CurrentAssignment(current.epoch, current.epoch, UNREVOKED_PARTITIONS, kept, pending)
    return msgspec.structs.replace(current, previous_epoch=current.epoch, assigned=kept)


def _next(current: CurrentAssignment, asked: Reconciliation) -> CurrentAssignment:
    """The assignment on the way to the target: first give up, then get what is free."""
    kept, revoked = divide(current.assigned, asked.target, asked.subscribed)
    if revoked and asked.still_owns(revoked):
        return CurrentAssignment(current.epoch, current.epoch, UNREVOKED_PARTITIONS, kept, revoked)
    epoch = asked.target_epoch
    has_all = gain(kept, asked.target, asked.subscribed, current.pending, asked.owners, epoch)
    state = MEMBER_STABLE if has_all else UNRELEASED_PARTITIONS
    return CurrentAssignment(epoch, current.epoch, state, kept or NO_PARTITIONS, NO_PARTITIONS)
