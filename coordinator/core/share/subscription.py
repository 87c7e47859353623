"""What the members of a share group subscribe to, and which partitions of that are not initialized or not assigned.

Counterpart in Kafka: `initializedAssignmentPending` and `subscribedTopicsChangeMap` of `GroupMetadataManager`.
"""

from coordinator.core.consumer.metadata_hash import metadata_hash
from coordinator.core.consumer.named_topics import ChangedNames
from coordinator.core.decision import Topics
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.state_topics import StateTopic, StateTopics


def hash_of_topics(named: ChangedNames, topics: Topics) -> int:
    """The hash of the subscribed topics that exist; 0 if there are none."""
    return metadata_hash((name, topics.topic_id(name), topics.partition_count(name)) for name in named.existing(topics))


def has_unassigned(group: ShareGroup, topics: Topics) -> bool:
    """Whether an initialized partition of a subscribed topic has nobody: then a new target is due.

    As on Kafka a topic of which more partitions are assigned than initialized counts, too. One that no longer exists,
    and that is not forgotten yet, does not: no target would change that.
    """
    version, found = topics.topics_version, group.found_unassigned
    if found is None or found[0] != version:
        found = group.found_unassigned = version, _find_unassigned(group, topics)
    return found[1]


def _find_unassigned(group: ShareGroup, topics: Topics) -> bool:
    if not group.members or not group.states.initialized:
        return False
    assigned: dict[bytes, set[int]] = {}
    for target in group.targets.values():
        for topic_id, partitions in target.items():
            assigned.setdefault(topic_id, set()).update(partitions)
    return any(
        topic.name in group.named_topics
        and assigned.get(topic_id) != set(topic.partitions)
        and topics.topic_id(topic.name) == topic_id
        for topic_id, topic in group.states.initialized.items()
    )


def uninitialized_now(group: ShareGroup, topics: Topics) -> StateTopics:
    """The partitions of the topics that the members subscribe to by now that are not initialized."""
    version = topics.topics_version
    found = group.found_uninitialized
    if found is None or found[0] != version:
        found = group.found_uninitialized = version, uninitialized(group, ChangedNames(group.named_topics), topics)
    return found[1]


def uninitialized(group: ShareGroup, named: ChangedNames, topics: Topics) -> StateTopics:
    """The same of what the members name after a change."""
    found: dict[bytes, StateTopic] = {}
    for name in sorted(named.existing(topics)):
        topic_id, count = topics.topic_id(name), topics.partition_count(name)
        has = group.states.initialized.get(topic_id)
        if has is None:
            found[topic_id] = StateTopic(name, tuple(range(count)))
        elif len(has.partitions) != count:
            missing = set(range(count)).difference(has.partitions)
            if missing:
                found[topic_id] = StateTopic(name, tuple(sorted(missing)))
    return found


def not_begun(group: ShareGroup, topics: StateTopics, retry_interval_ms: int, now_ms: int) -> StateTopics:
    """Those that nobody began to initialize, or that long ago that it is to be tried again."""
    begun = group.states.initializing
    if not begun:
        return topics
    found: dict[bytes, StateTopic] = {}
    for topic_id, topic in topics.items():
        since_ms, was_begun = group.initializing_since_ms.get(topic_id), begun.get(topic_id)
        if was_begun is None or since_ms is None or now_ms - since_ms >= retry_interval_ms:
            found[topic_id] = topic
            continue
        missing = set(topic.partitions).difference(was_begun.partitions)
        if missing:
            found[topic_id] = StateTopic(topic.name, tuple(sorted(missing)))
    return found
