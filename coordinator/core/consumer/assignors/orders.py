"""The orders in which Kafka's broker hands members and topics to its assignors.

They decide who has one more partition, and which of several partitions moves.
"""

from collections.abc import Iterable, Mapping, Sequence

from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.hash_map_order import (
    assignment_in_hash_order,
    ids_in_hash_set_order,
    texts_in_hash_map_order,
)


def members_in_order(member_ids: Iterable[str]) -> list[str]:
    """The ids in the order of a Java HashMap; those in one bucket as they are given."""
    return texts_in_hash_map_order(member_ids)


def topics_in_order(topic_ids: Iterable[bytes]) -> list[bytes]:
    """The ids in the order of a Java HashSet; those in one bucket as they are given."""
    return ids_in_hash_set_order(topic_ids)


def names_in_order(names: Iterable[str], among: int) -> list[str]:
    """The names of topics in the order of a Java HashSet of `among` names; those in one bucket as they are given."""
    return texts_in_hash_map_order(names, among)


def target_in_order(target: TopicPartitions) -> Mapping[bytes, Sequence[int]]:
    """A member's target (partitions ascending) in the order of a Java HashMap of HashSets."""
    return assignment_in_hash_order(target)
