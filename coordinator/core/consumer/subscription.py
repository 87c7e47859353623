"""What the members of a consumer group subscribe to together, with the change that a request brings.

Counterpart in Kafka: `computeSubscribedTopicNames`, `subscriptionType` and `updateSubscriptionMetadata`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from coordinator.core.consumer.group import (
    ConsumerGroup,
    ResolvedPattern,
    change_count,
    is_homogeneous,
    subscribed_topics,
)
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.metadata_hash import metadata_hash
from coordinator.core.decision import Topics

NO_TOPIC_ID = bytes(16)


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The subscriptions of the members of a group."""

    by_name: Mapping[str, int]
    """Topic → how many members name it."""
    by_pattern: Mapping[str, int]
    """Regular expression → how many members subscribe to it."""
    pattern_topics: Mapping[str, int]
    """Topic → how many resolved regular expressions match it."""
    member_count: int

    @property
    def is_homogeneous(self) -> bool:
        return is_homogeneous(self.by_name, self.by_pattern, self.pattern_topics, self.member_count)

    def hash_of_topics(self, topics: Topics) -> int:
        """The hash of the subscribed topics that exist; 0 if there are none."""
        return metadata_hash(
            (name, topic_id, topics.partition_count(name))
            for name in subscribed_topics(self.by_name, self.pattern_topics)
            if (topic_id := topics.topic_id(name)) != NO_TOPIC_ID
        )


def current_subscriptions(group: ConsumerGroup) -> Subscriptions:
    return Subscriptions(group.topic_subscribers, group.pattern_subscribers, group.pattern_topics, len(group.members))


def changed_subscriptions(
    group: ConsumerGroup,
    gone: Collection[MemberMetadata],
    come: Collection[MemberMetadata],
    patterns: Mapping[str, ResolvedPattern | None] | None = None,
) -> Subscriptions:
    """The subscriptions after some members have gone and others come; a member that changes does both.

    `patterns` are regular expressions that were resolved now; None: forgotten. Those that nobody subscribes to any more
    count no longer.
    """
    by_name = _changed(group.topic_subscribers, (each.topics for each in gone), (each.topics for each in come))
    by_pattern = _changed(group.pattern_subscribers, _patterns(gone), _patterns(come))
    changes = dict(patterns or {})
    for each in gone:
        if each.pattern and each.pattern not in by_pattern:
            changes.setdefault(each.pattern, None)
    old = [group.patterns[pattern].topics for pattern in changes if pattern in group.patterns]
    new = [resolved.topics for resolved in changes.values() if resolved is not None]
    pattern_topics = _changed(group.pattern_topics, old, new)
    return Subscriptions(by_name, by_pattern, pattern_topics, len(group.members) - len(gone) + len(come))


def _patterns(members: Iterable[MemberMetadata]) -> list[tuple[str, ...]]:
    return [(each.pattern,) for each in members if each.pattern]


def _changed(
    counts: Mapping[str, int], gone: Iterable[Iterable[str]], come: Iterable[Iterable[str]]
) -> Mapping[str, int]:
    changes: dict[str, int] = {}
    for by, several in ((-1, gone), (+1, come)):
        for names in several:
            for name in names:
                change_count(changes, name, by)
    if not changes:
        return counts
    changed = dict(counts)
    for name, by in changes.items():
        change_count(changed, name, by)
    return changed


def topics_of(metadata: MemberMetadata, patterns: Mapping[str, ResolvedPattern]) -> Collection[str]:
    """The topics that a member subscribes to; a regular expression that is not resolved matches none."""
    resolved = patterns.get(metadata.pattern) if metadata.pattern else None
    if resolved is None or not resolved.topics:
        return metadata.topics
    return {*metadata.topics, *resolved.topics} if metadata.topics else resolved.topics


def subscribed_ids(
    metadata: MemberMetadata, patterns: Mapping[str, ResolvedPattern], topics: Topics
) -> frozenset[bytes]:
    """The ids of the topics that a member subscribes to and that exist."""
    found = frozenset(map(topics.topic_id, topics_of(metadata, patterns)))
    return found - {NO_TOPIC_ID} if NO_TOPIC_ID in found else found
