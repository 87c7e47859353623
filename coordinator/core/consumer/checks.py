"""What holds for every consumer group after every step (`groups/checked.py`)."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.states import LEGAL_PREDECESSORS
from coordinator.core.groups.kind import DerivedField, KindChecks


def durable_part(group: ConsumerGroup) -> tuple[object, ...]:
    """What the records keep of a group."""
    members = {
        member.member_id: (member.metadata, member.current, group.target(member.member_id))
        for member in group.members.values()
    }
    epochs = group.epoch, group.metadata_hash, group.target_epoch, group.target_computed_ms
    return group.state, *epochs, members, group.patterns, group.has_partition_metadata


def derived_fields(group: ConsumerGroup) -> Iterator[DerivedField]:
    """The fields that follow from others."""
    members = group.members.values()
    subscriptions = Counter(member.metadata.topics for member in members)
    names = Counter(topic for topics in subscriptions for topic in topics)
    subscribed = Counter(member.metadata.pattern for member in members if member.metadata.pattern)
    votes = Counter(member.metadata.server_assignor for member in members if member.metadata.server_assignor)
    matched = Counter(topic for resolved in group.patterns.values() for topic in resolved.topics)
    holders = {member.group_instance_id: member.member_id for member in members if member.group_instance_id is not None}
    owned = Counter(
        (topic_id, partition)
        for member in members
        for partitions in (member.current.assigned, member.current.pending)
        for topic_id, of_topic in partitions.items()
        for partition in of_topic
    )
    owners = {(topic_id, partition) for topic_id, of_topic in group.owners.items() for partition in of_topic}
    yield DerivedField("static members", group.static_members, holders)
    yield DerivedField("subscriptions by name", group.named_topics.subscriptions, dict(subscriptions))
    yield DerivedField("named topics", group.named_topics.counts, dict(names))
    yield DerivedField("subscribers by pattern", group.pattern_subscribers, dict(subscribed))
    yield DerivedField("topics of patterns", group.pattern_topics, dict(matched))
    yield DerivedField("votes for assignors", group.assignor_votes, dict(votes))
    yield DerivedField("partitions with several owners", [key for key, count in owned.items() if count > 1], [])
    yield DerivedField("owned partitions", owners, set(owned))
    yield DerivedField("targets of nobody", group.targets.keys() - group.members.keys(), set())
    yield DerivedField("patterns of nobody", group.patterns.keys() - group.pattern_subscribers.keys(), set())
    reconciled = sum(member.is_reconciled_to(group.target_epoch) for member in members)
    yield DerivedField("reconciled members", group.reconciled_count, reconciled)
    yield DerivedField("classic members", group.classic_count, sum(member.is_classic for member in members))
    supported = Counter(
        name
        for member in members
        if member.metadata.classic is not None
        for name in {protocol.name for protocol in member.metadata.classic.protocols}
    )
    yield DerivedField("protocols of classic members", group.classic_protocols, dict(supported))
    timed = {member_id for member_id, _ in group.deadlines.by_key}
    yield DerivedField("deadlines of nobody", timed - group.members.keys(), set())


CHECKS: Final = KindChecks(
    legal_predecessors=LEGAL_PREDECESSORS, durable_part=durable_part, derived_fields=derived_fields
)
