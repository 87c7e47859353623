"""Partitions by topic id, as consumer groups have them, and in messages and records."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

TopicPartitions = dict[bytes, tuple[int, ...]]
"""Topic id (16 bytes) → partition indexes, ascending unless said otherwise. No topic without partitions."""

EpochsByPartition = Mapping[bytes, Mapping[int, int]]
"""Topic id → partition index → the epoch in which the member was assigned it. No topic without partitions."""

NO_PARTITIONS: Final[EpochsByPartition] = {}

T = TypeVar("T")


def has_partition(partitions: EpochsByPartition, topic_id: bytes, index: int) -> bool:
    of_topic = partitions.get(topic_id)
    return of_topic is not None and index in of_topic


def is_subset(claimed: Iterable[Any], partitions: EpochsByPartition) -> bool:
    """Whether all partitions of a request (structs with `topic_id` and `partitions`) are among `partitions`."""
    return all(has_partition(partitions, topic.topic_id, index) for topic in claimed for index in topic.partitions)


def has_any(claimed: Iterable[Any], partitions: EpochsByPartition) -> bool:
    """Whether some partition of a request (structs with `topic_id` and `partitions`) is among `partitions`."""
    for topic in claimed:
        of_topic = partitions.get(topic.topic_id)
        if of_topic is not None and not of_topic.keys().isdisjoint(topic.partitions):
            return True
    return False


def not_among(claimed: Iterable[Any], partitions: EpochsByPartition) -> EpochsByPartition:
    """Those of `partitions` that a request (structs with `topic_id` and `partitions`) does not name."""
    named = {topic.topic_id: topic.partitions for topic in claimed}
    left: dict[bytes, Mapping[int, int]] = {}
    for topic_id, of_topic in partitions.items():
        indexes = of_topic.keys() - named.get(topic_id, ())
        if indexes:
            left[topic_id] = {index: of_topic[index] for index in indexes}
    return left
