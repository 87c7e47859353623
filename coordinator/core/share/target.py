"""The target assignment of a share group: which partitions each member is to read.

Counterpart in Kafka: `TargetAssignmentBuilder.ShareTargetAssignmentBuilder`.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Final

import msgspec

from coordinator.core.consumer.assignors.orders import members_in_order, names_in_order, target_in_order
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import Topics
from coordinator.core.share.assignors.simple import ShareSubscriber, assignment_steps
from coordinator.core.share.member import NO_PARTITIONS
from coordinator.core.share.state_topics import StateTopics

Names = tuple[str, ...]
PLACES_AT_ONCE: Final = 500
"""Places of members in partitions, and members, of the largest target that is computed in the request: up to 5 ms."""


class ShareTargetInput(msgspec.Struct, frozen=True):
    """What a target assignment is computed from."""

    subscriptions: Mapping[str, Names]
    """Member id → the topics that it subscribes to, as the request leaves it."""
    targets: Mapping[str, TopicPartitions]
    """The targets of these members so far."""
    initialized: StateTopics
    is_homogeneous: bool

    def __repr__(self) -> str:
        """Short: an event with it may be part of an error message."""
        return f"ShareTargetInput({len(self.subscriptions)} members)"


def is_large(asked: ShareTargetInput) -> bool:
    """Whether a target takes too long for a request."""
    members, partitions = len(asked.subscriptions), sum(len(topic.partitions) for topic in asked.initialized.values())
    return members + max(members, partitions) > PLACES_AT_ONCE


def share_target_steps(asked: ShareTargetInput, topics: Topics) -> Generator[None, None, dict[str, TopicPartitions]]:
    """The targets that differ from those so far, by member id, and one for each member that had none, in steps."""
    ids: dict[Names, Sequence[bytes]] = {}
    subscribers = []
    for member_id in members_in_order(list(asked.subscriptions)):
        names = asked.subscriptions[member_id]
        subscribed = ids.get(names)
        if subscribed is None:
            ordered = names_in_order(sorted(topics.existing(names)), len(names))
            subscribed = ids[names] = [topics.topic_id(name) for name in ordered]
        target = target_in_order(asked.targets.get(member_id, NO_PARTITIONS))
        subscribers.append(ShareSubscriber(member_id, subscribed, target))
    yield
    initialized = {topic_id: topic.partitions for topic_id, topic in asked.initialized.items()}
    computed = yield from assignment_steps(subscribers, initialized, asked.is_homogeneous)
    return {
        member_id: computed[member_id]
        for member_id in asked.subscriptions
        if computed[member_id] != asked.targets.get(member_id)
    }
