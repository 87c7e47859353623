"""What the members of a consumer group subscribe to together, with the change that a request brings.

Counterpart in Kafka: `computeSubscribedTopicNames`, `subscriptionType` and `updateSubscriptionMetadata`.
"""

from collections.abc import Collection, Mapping

import msgspec

from coordinator.core.consumer.group import ConsumerGroup, ResolvedPattern, is_homogeneous
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.metadata_hash import metadata_hash
from coordinator.core.consumer.named_topics import ChangedNames
from coordinator.core.consumer.names import change_counts
from coordinator.core.decision import Topics


class Subscriptions(msgspec.Struct, frozen=True):
    """The subscriptions of the members of a group."""

    named: ChangedNames
    """What members name."""
    by_pattern: Mapping[str, int]
    """Regular expression → how many members subscribe to it."""
    pattern_topics: Mapping[str, int]
    """Topic → how many resolved regular expressions match it."""
    member_count: int

    @property
    def is_homogeneous(self) -> bool:
        return is_homogeneous(self.named, self.by_pattern, self.pattern_topics, self.member_count)

    def hash_of_topics(self, topics: Topics) -> int:
        """The hash of the subscribed topics that exist; 0 if there are none."""
        existing = self.named.existing(topics) | topics.existing(self.pattern_topics.keys())
        return metadata_hash((name, topics.topic_id(name), topics.partition_count(name)) for name in existing)


def current_subscriptions(group: ConsumerGroup) -> Subscriptions:
    named = ChangedNames(group.named_topics)
    return Subscriptions(named, group.pattern_subscribers, group.pattern_topics, len(group.members))


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
    named = group.named_topics.after([metadata.topics for metadata in gone], [metadata.topics for metadata in come])
    by_pattern = _changed(group.pattern_subscribers, _patterns(gone), _patterns(come))
    changes = dict(patterns or {})
    for metadata in gone:
        if metadata.pattern and metadata.pattern not in by_pattern:
            changes.setdefault(metadata.pattern, None)
    old = [group.patterns[pattern].topics for pattern in changes if pattern in group.patterns]
    new = [resolved.topics for resolved in changes.values() if resolved is not None]
    pattern_topics = _changed(group.pattern_topics, old, new)
    return Subscriptions(named, by_pattern, pattern_topics, len(group.members) - len(gone) + len(come))


def _patterns(members: Collection[MemberMetadata]) -> list[tuple[str, ...]]:
    return [(member.pattern,) for member in members if member.pattern]


def _changed(counts: Mapping[str, int], gone: list[tuple[str, ...]], come: list[tuple[str, ...]]) -> Mapping[str, int]:
    if gone == come:
        return counts
    changed = dict(counts)
    for by, several in ((-1, gone), (+1, come)):
        for names in several:
            change_counts(changed, names, by)
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
    return frozenset(map(topics.topic_id, topics.existing(topics_of(metadata, patterns))))
