"""Which topics a group reads: asked before its offsets are deleted (KIP-496) or expire (KIP-211)."""

from _wire.errors import MalformedMessage
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE, subscription_topics


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """The topics that the members of the last generation subscribe to.

    None when that cannot be known: not a consumer group, no generation yet, or bytes that are no subscription.
    """
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or group.subscriptions is None:
        return None
    try:
        return frozenset(topic for metadata in group.subscriptions for topic in subscription_topics(metadata))
    except MalformedMessage:
        return None


def is_subscribed(group: ClassicGroup, topics: frozenset[str] | None, topic: str) -> bool:
    """Whether the group reads the topic. If the topics are unknown (None), a consumer group counts as reading it."""
    return group.protocol_type == CONSUMER_PROTOCOL_TYPE if topics is None else topic in topics
