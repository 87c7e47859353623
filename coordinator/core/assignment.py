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
    for partition in partitions:
        found.setdefault(partition.topic, []).extend(partition.partitions)
    return found


def decode_assignment(data: bytes) -> dict[str, list[int]]:
    """Decode the assignment of a member; empty bytes are an empty assignment.

    Raises:
        MalformedMessage: the bytes are not an assignment.
    """
    return by_topic(decode_assignment_message(data).assigned_partitions)


NO_USER_DATA = b"\xff\xff\xff\xff"
"""Null, in place of the user data that are missing."""


def readable_partitions(protocol_type: str | None, assignment: bytes) -> dict[str, list[int]] | None:
    """Topic → partition indexes, ascending, of the assignment of a member; empty bytes are none.

    None if the protocol type is not that of consumers, or if the bytes are not an assignment: one such member is no
    reason not to describe the others. An assignment that is cut short has its partitions, see `is_cut_short`.
    """
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    assigned = _decoded(assignment)
    if assigned is None:
        assigned = _decoded(assignment + NO_USER_DATA)
    return None if assigned is None else {topic: sorted(indexes) for topic, indexes in assigned.items()}


def is_cut_short(protocol_type: str | None, assignment: bytes) -> bool:
    """Whether the assignment ends with its partitions: Kafka's client needs the user data after them, if only null."""
    if protocol_type != CONSUMER_PROTOCOL_TYPE or _decoded(assignment) is not None:
        return False
    return _decoded(assignment + NO_USER_DATA) is not None


def _decoded(assignment: bytes) -> dict[str, list[int]] | None:
    try:
        return decode_assignment(assignment)
    except MalformedMessage:
        return None
