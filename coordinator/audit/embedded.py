"""What consumers write into the bytes that a coordinator passes on unread: subscriptions and assignments.

Clients write them, so they may be anything; what cannot be read is told apart from what is empty.
"""

from _wire.embedded import decode_from_peer
from _wire.errors import MalformedMessage
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from coordinator.core.group import Group, TopicPartition

CONSUMER_PROTOCOL_TYPE = "consumer"


def _subscription(group: Group, metadata: bytes) -> ConsumerProtocolSubscription | None:
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    try:
        return decode_from_peer(ConsumerProtocolSubscription, metadata)
    except MalformedMessage:
        return None


def subscribed_topics(group: Group, metadata: bytes) -> list[str]:
    """The topics a member subscribes to; none when the bytes are not a subscription."""
    subscription = _subscription(group, metadata)
    return [] if subscription is None else sorted(subscription.topics)


def claimed_partitions(group: Group, metadata: bytes) -> set[TopicPartition]:
    """The partitions a member says it still owns while it rejoins (KIP-429); none for eager assignors."""
    subscription = _subscription(group, metadata)
    if subscription is None:
        return set()
    return {TopicPartition(owned.topic, index) for owned in subscription.owned_partitions for index in owned.partitions}


def assigned_partitions(group: Group, assignment: bytes) -> set[TopicPartition] | None:
    """The partitions a member is assigned; None when the bytes are no consumer's assignment. Empty bytes: nothing."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    if not assignment:
        return set()
    try:
        decoded = decode_from_peer(ConsumerProtocolAssignment, assignment)
    except MalformedMessage:
        return None
    return {TopicPartition(each.topic, index) for each in decoded.assigned_partitions for index in each.partitions}
