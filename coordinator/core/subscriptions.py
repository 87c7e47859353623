"""Which topics a group reads: asked before its offsets are deleted (KIP-496) or expire (KIP-211)."""

from _wire.embedded import PREFIX_BYTES, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from coordinator.core.classic_group import CONSUMER_PROTOCOL_TYPE, ClassicGroup


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """The topics that the members of the last generation subscribe to.

    None when that cannot be known: not a consumer group, no generation yet, or bytes that are no subscription.
    """
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or group.subscriptions is None:
        return None
    try:
        return frozenset(topic for metadata in group.subscriptions for topic in _topics(metadata))
    except MalformedMessage:
        return None


def is_subscribed(group: ClassicGroup, topics: frozenset[str] | None, topic: str) -> bool:
    """Whether the group reads the topic. If the topics are unknown (None), a consumer group counts as reading it."""
    return group.protocol_type == CONSUMER_PROTOCOL_TYPE if topics is None else topic in topics


def _topics(metadata: bytes) -> list[str]:
    """Every version of a subscription begins as version 0 does, and the topics come first."""
    if prefix_of(metadata) < 0:
        raise MalformedMessage("ConsumerProtocolSubscription", prefix_of(metadata), "", 0, "version is less than 0")
    return ConsumerProtocolSubscription.decode(metadata, 0, PREFIX_BYTES, whole=False).topics
