"""Which topics a group reads: asked before its offsets are deleted (KIP-496) or expire (KIP-211), and when it joins."""

from collections.abc import Container
from typing import Final

from _wire.errors import MalformedMessage
from coordinator.core.classic.group import ClassicGroup, Protocol
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE, is_same_subscription, subscription_topics

PROTOCOLS_WITH_HISTORY: Final = frozenset({"sticky", "cooperative-sticky"})
"""Assignors whose user data tell what a member owned, and in which generation: it differs at each JoinGroup.

So do `StickyAssignor` and `CooperativeStickyAssignor` of Kafka's clients, and those of other languages after them.
"""


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


class _EveryTopic:
    def __contains__(self, topic: object) -> bool:
        return True


EVERY_TOPIC: Final = _EveryTopic()
NO_TOPICS: Final[frozenset[str]] = frozenset()


def topics_read(group: ClassicGroup) -> Container[str]:
    """The topics that the group reads. If they are unknown, a consumer group counts as reading all of them."""
    topics = subscribed_topics(group)
    if topics is not None:
        return topics
    return EVERY_TOPIC if group.protocol_type == CONSUMER_PROTOCOL_TYPE else NO_TOPICS


def is_another_subscription(
    protocol_type: str | None, before: tuple[Protocol, ...], after: tuple[Protocol, ...]
) -> bool:
    """Whether the member asks for something else: other protocols, topics, user data or rack.

    What it says that it owns (KIP-429), and since which generation (KIP-792), is history. Metadata that is no
    subscription is another one if any byte of it is.
    """
    if [protocol.name for protocol in before] != [name.name for name in after]:
        return True
    return any(
        old.metadata != new.metadata
        and not (
            protocol_type == CONSUMER_PROTOCOL_TYPE
            and is_same_subscription(old.metadata, new.metadata, old.name not in PROTOCOLS_WITH_HISTORY)
        )
        for old, new in zip(before, after, strict=True)
    )
