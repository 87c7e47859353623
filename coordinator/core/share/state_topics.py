"""The partitions of which a share group has states of records with the share coordinator, or is about to.

Counterpart in Kafka: `ShareGroupStatePartitionMetadataInfo`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from coordinator.core.consumer.assignors.orders import topics_in_order


class StateTopic(msgspec.Struct, frozen=True):
    """A topic with some of its partitions, ascending."""

    name: str
    partitions: tuple[int, ...]


StateTopics = Mapping[bytes, StateTopic]
"""Topic id → topic. No topic without partitions."""
NO_TOPICS: Final[StateTopics] = {}
NONE_DELETED: Final[Mapping[bytes, str]] = {}


class StatePartitions(msgspec.Struct, frozen=True):
    """What ShareGroupStatePartitionMetadata stores, always as a whole. Events replace it."""

    initializing: StateTopics = NO_TOPICS
    """Partitions whose states are being initialized."""
    initialized: StateTopics = NO_TOPICS
    """Those that members may be assigned."""
    deleting: Mapping[bytes, str] = NONE_DELETED
    """Topic id → name of the topics whose states are being deleted."""

    def begin(self, topics: StateTopics) -> "StatePartitions":
        """The states of these partitions are to be initialized."""
        return msgspec.structs.replace(self, initializing=with_topics(self.initializing, topics))

    def succeed(self, topics: StateTopics) -> "StatePartitions":
        """They were initialized."""
        return msgspec.structs.replace(
            self,
            initializing=without_partitions(self.initializing, topics),
            initialized=with_topics(self.initialized, topics),
        )

    def fail(self, topics: StateTopics) -> "StatePartitions":
        """They were not initialized."""
        return msgspec.structs.replace(self, initializing=without_partitions(self.initializing, topics))

    def without(self, gone: Callable[[bytes, str], bool]) -> "StatePartitions":
        """The states but those of topics, by id and name, that are gone; the same object if none is."""
        left = StatePartitions(
            {topic_id: topic for topic_id, topic in self.initializing.items() if not gone(topic_id, topic.name)},
            {topic_id: topic for topic_id, topic in self.initialized.items() if not gone(topic_id, topic.name)},
            {topic_id: name for topic_id, name in self.deleting.items() if not gone(topic_id, name)},
        )
        return self if left == self else left


NO_STATES: Final = StatePartitions()


def with_topics(topics: StateTopics, added: StateTopics) -> StateTopics:
    """The partitions of both, in the order of a Java HashMap of the topic ids."""
    merged = dict(topics)
    for topic_id, topic in added.items():
        had = merged.get(topic_id)
        partitions = topic.partitions if had is None else ascending({*had.partitions, *topic.partitions})
        merged[topic_id] = StateTopic(topic.name, partitions)
    return {topic_id: merged[topic_id] for topic_id in topics_in_order(merged)}


def without_partitions(topics: StateTopics, removed: StateTopics) -> StateTopics:
    """The partitions of the former that are not among the latter."""
    left: dict[bytes, StateTopic] = {}
    for topic_id, topic in topics.items():
        gone = removed.get(topic_id)
        partitions = topic.partitions if gone is None else ascending(set(topic.partitions).difference(gone.partitions))
        if partitions:
            left[topic_id] = StateTopic(topic.name, partitions)
    return left


def common_partitions(topics: StateTopics, others: StateTopics) -> StateTopics:
    """The partitions that are in both."""
    found: dict[bytes, StateTopic] = {}
    for topic_id, topic in topics.items():
        other = others.get(topic_id)
        partitions = () if other is None else ascending(set(topic.partitions).intersection(other.partitions))
        if partitions:
            found[topic_id] = StateTopic(topic.name, partitions)
    return found


def ascending(partitions: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(partitions))
