"""The assignment of a member as consumers encode it (Kafka's `ConsumerProtocolAssignment`)."""

from collections.abc import Iterable
from typing import Protocol

from _wire.errors import MalformedMessage
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE, decode_assignment_message


class TopicPartitions(Protocol):
    """A topic and some of its partitions, in a message of the protocol."""

    topic: str
    partitions: list[int]


def by_topic(partitions: Iterable[TopicPartitions]) -> dict[str, list[int]]:
    """Group partitions by topic. A topic may occur twice, because a client wrote the bytes."""
    found: dict[str, list[int]] = {}
    for each in partitions:
        found.setdefault(each.topic, []).extend(each.partitions)
    return found


def decode_assignment(data: bytes) -> dict[str, list[int]]:
    """Decode the assignment of a member; empty bytes are an empty assignment.

    Raises:
        MalformedMessage: the bytes are not an assignment.
    """
    return by_topic(decode_assignment_message(data).assigned_partitions)


def readable_partitions(protocol_type: str | None, assignment: bytes) -> dict[str, list[int]] | None:
    """Topic → partition indexes, ascending, of the assignment of a member; empty bytes are none.

    None if the protocol type is not that of consumers, or if the bytes are not an assignment: one such member is no
    reason not to describe the others.
    """
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    try:
        assigned = decode_assignment(assignment)
    except MalformedMessage:
        return None
    return {topic: sorted(indexes) for topic, indexes in assigned.items()}
