"""The target assignment of a consumer group: what each member is to own.

Counterpart in Kafka: `TargetAssignmentBuilder`.
"""

from collections.abc import Generator, Iterable, Mapping
from typing import Final

import msgspec

from coordinator.core.consumer.assignors.model import Subscriber
from coordinator.core.consumer.assignors.orders import (
    members_in_order,
    names_in_order,
    target_in_order,
    topics_in_order,
)
from coordinator.core.consumer.assignors.registry import ASSIGNORS, result_of
from coordinator.core.consumer.group import NEVER, NO_TARGET, ResolvedPattern
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.subscription import subscribed_ids, topics_of
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import Topics

NOTHING_OWNED: Final[TopicPartitions] = {}
MEMBERS_AT_ONCE: Final = 500
"""Members that a step goes through."""
NAMES_PER_MEMBER: Final = 200
"""So many topics that a member names take as long as a member that names few."""


class TargetInput(msgspec.Struct, frozen=True):
    """What a target assignment is computed from."""

    assignor: str
    members: Mapping[str, MemberMetadata]
    """Member id → member, as the request leaves it."""
    targets: Mapping[str, TopicPartitions]
    """The targets of these members so far."""
    patterns: Mapping[str, ResolvedPattern]
    is_homogeneous: bool

    def __repr__(self) -> str:
        """Short: an event with it may be part of an error message, and a group may have very many members."""
        return f"TargetInput({self.assignor!r}, {len(self.members)} members)"


def is_due(computed_ms: int, interval_ms: int, wall_ms: int) -> bool:
    """Whether a target may be computed. A clock that was set back delays none."""
    return computed_ms == NEVER or interval_ms == 0 or not 0 <= wall_ms - computed_ms < interval_ms


def compute_target(asked: TargetInput, topics: Topics) -> dict[str, TopicPartitions]:
    """The targets that differ from those so far, by member id; one for each member that had none."""
    return result_of(target_steps(asked, topics))


def target_steps(asked: TargetInput, topics: Topics) -> Generator[None, None, dict[str, TopicPartitions]]:
    """The same in steps of about a millisecond."""
    ids: dict[tuple[tuple[str, ...], str | None], frozenset[bytes]] = {}
    subscribers = []
    left = MEMBERS_AT_ONCE
    for member_id in members_in_order(list(asked.members)):
        metadata = asked.members[member_id]
        key = metadata.topics, metadata.pattern
        subscribed = ids.get(key)
        if subscribed is None:
            subscribed = ids[key] = subscribed_ids(metadata, asked.patterns, topics)
        target = target_in_order(asked.targets.get(member_id, NO_TARGET))
        subscribers.append(Subscriber(member_id, metadata.group_instance_id, subscribed, target))
        left -= 1 + len(metadata.topics) // NAMES_PER_MEMBER
        if left <= 0:
            yield
            left = MEMBERS_AT_ONCE
    counts = {
        topic_id: topics.partition_count(topics.topic_name(topic_id) or "")
        for topic_id in topics_in_order(_topic_ids(asked, subscribers[0], ids.values(), topics))
    }
    yield
    computed = yield from ASSIGNORS[asked.assignor].steps(subscribers, counts, asked.is_homogeneous)
    changed: dict[str, TopicPartitions] = {}
    for position, member_id in enumerate(asked.members, 1):
        target = computed.get(member_id, NOTHING_OWNED)
        if target != asked.targets.get(member_id):
            changed[member_id] = target
        if position % MEMBERS_AT_ONCE == 0:
            yield
    return changed


def _topic_ids(
    asked: TargetInput, first: Subscriber, subscribed: Iterable[frozenset[bytes]], topics: Topics
) -> list[bytes]:
    """All topics, those of the first member in the order of its names: it decides between two in one bucket."""
    existing = sorted(name for name in map(topics.topic_name, first.topics) if name is not None)
    names = topics_of(asked.members[first.member_id], asked.patterns)
    named = map(topics.topic_id, names_in_order(existing, len(names)))
    all_ids = frozenset[bytes]().union(*subscribed)
    return list(dict.fromkeys((*(topic_id for topic_id in named if topic_id in all_ids), *sorted(all_ids))))
