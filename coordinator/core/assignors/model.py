"""What an assignor is asked, and what it answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

NO_GENERATION: Final = -1
"""The generation of a member that has none yet (DEFAULT_GENERATION of Kafka's sticky assignors)."""

Partition = tuple[str, int]
"""A topic and the number of a partition in it."""

PartitionsByTopic = dict[str, list[int]]
Assignment = dict[str, PartitionsByTopic]
"""Member id → topic → numbers of partitions, ascending. Every member is in it, also one that gets nothing."""


class RebalanceProtocol(Enum):
    """What members do with their partitions while the group rebalances (KIP-429)."""

    EAGER = "eager"
    """Give all of them up before they join."""
    COOPERATIVE = "cooperative"
    """Keep them, and give up only those that the new assignment leaves out."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What is known of a topic. `replica_racks` has an entry per partition, or none at all."""

    partition_count: int
    replica_racks: Sequence[frozenset[str]] = ()

    def racks_of(self, partition: int) -> frozenset[str]:
        """Racks that hold a replica; empty where none is known."""
        return self.replica_racks[partition] if partition < len(self.replica_racks) else frozenset()


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """What a member told the group when it joined.

    `owned_partitions` it had in generation `generation_id`; only the sticky assignors look at them.
    """

    member_id: str
    topics: frozenset[str]
    group_instance_id: str | None = None
    owned_partitions: Mapping[str, Sequence[int]] = field(default_factory=dict)
    generation_id: int = NO_GENERATION
    rack_id: str | None = None


def subscribed(members: Iterable[MemberSubscription], topics: Mapping[str, Topic]) -> dict[str, Topic]:
    """The topics that somebody subscribes to and that have partitions, by name."""
    wanted = frozenset[str]().union(*(member.topics for member in members))
    return {name: topics[name] for name in sorted(wanted & topics.keys()) if topics[name].partition_count > 0}


def by_topic(partitions: Iterable[Partition]) -> PartitionsByTopic:
    """Partitions grouped, topics and numbers ascending."""
    grouped: PartitionsByTopic = {}
    for topic, partition in sorted(partitions):
        grouped.setdefault(topic, []).append(partition)
    return grouped
