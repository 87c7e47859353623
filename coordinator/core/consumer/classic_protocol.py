"""The subscriptions and assignments of members of the classic protocol, in bytes, as consumer groups have them.

Counterpart in Kafka: `ConsumerProtocol`, `Utils.toTopicPartitions`, `Utils.toConsumerProtocolAssignment`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from _wire.embedded import encode_versioned, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages.consumer_group_heartbeat import TopicPartitions as OwnedPartitions
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment, TopicPartition
from coordinator.core.assignment import by_topic
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.consumer_protocol import decode_assignment_message, decode_subscription_message
from coordinator.core.decision import Topics

NO_TOPIC_ID: Final = bytes(16)
VERSION_MAX: Final = 3
"""The newest version of subscriptions and assignments."""


class Subscription(msgspec.Struct, frozen=True):
    """What a member of the classic protocol asks for."""

    topics: tuple[str, ...]
    """In ascending order, without doubles."""
    rack_id: str | None
    owned: list[Any]
    """What it says it owns (structs with `topic_id` and `partitions`); before version 1: nothing."""


def read_subscription(metadata: bytes, topics: Topics) -> Subscription | None:
    """The subscription of a member; None if the bytes are none."""
    try:
        decoded = decode_subscription_message(metadata)
    except MalformedMessage:
        return None
    owned = [
        OwnedPartitions(topic_id=topic_id, partitions=indexes)
        for name, indexes in by_topic(decoded.owned_partitions).items()
        if (topic_id := topics.topic_id(name)) != NO_TOPIC_ID
    ]
    return Subscription(tuple(sorted(set(decoded.topics))), decoded.rack_id, owned)


def read_assignment(assignment: bytes, topics: Topics) -> TopicPartitions | str:
    """The partitions of topics that exist; or what is wrong with the assignment, to go on after its name."""
    if not assignment:
        return {}
    try:
        decoded = decode_assignment_message(assignment)
    except MalformedMessage:
        return "is not readable"
    if decoded.user_data:
        return "has user data of its assignor, which would be lost"
    return {
        topic_id: tuple(sorted(set(indexes)))
        for name, indexes in by_topic(decoded.assigned_partitions).items()
        if indexes and (topic_id := topics.topic_id(name)) != NO_TOPIC_ID
    }


def assignment_bytes(partitions: Mapping[bytes, Iterable[int]], subscription: bytes, topics: Topics) -> bytes:
    """The assignment in the version of the member's subscription; topics that do not exist are left out."""
    assigned = [
        TopicPartition(topic=name, partitions=sorted(indexes))
        for topic_id, indexes in partitions.items()
        if (name := topics.topic_name(topic_id)) is not None
    ]
    version = min(max(prefix_of(subscription), 0), VERSION_MAX)
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None), version)
