"""The input and output of assignors (Kafka's `ConsumerPartitionAssignor`)."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec

NO_GENERATION: Final = -1
"""The generation of a member that has none yet (DEFAULT_GENERATION of Kafka's sticky assignors)."""

Partition = tuple[str, int]
"""A topic and the number of a partition in it."""

PartitionsByTopic = dict[str, list[int]]
Assignment = dict[str, PartitionsByTopic]
"""Member id → topic → partition numbers, ascending. It has every member, also those without partitions."""


class RebalanceProtocol(Enum):
    """What members do with their partitions while the group rebalances (KIP-429)."""

    EAGER = "eager"
    """They revoke all of them before they join."""
    COOPERATIVE = "cooperative"
    """They keep them, and revoke only those that are not in the new assignment."""


class Topic(msgspec.Struct, frozen=True):
    """The metadata of a topic. `replica_racks` has an entry per partition, or is empty."""

    partition_count: int
    replica_racks: Sequence[frozenset[str]] = ()

    def racks_of(self, partition: int) -> frozenset[str]:
        """The racks with a replica of the partition; empty if they are unknown."""
        return self.replica_racks[partition] if partition < len(self.replica_racks) else frozenset()


class MemberSubscription(msgspec.Struct, frozen=True):
    """The subscription of a member, as sent in its JoinGroup.

    It owned `owned_partitions` in generation `generation_id`. Only the sticky assignors use them.
    """

    member_id: str
    topics: frozenset[str]
    group_instance_id: str | None = None
    owned_partitions: Mapping[str, Sequence[int]] = msgspec.field(default_factory=dict)
    generation_id: int = NO_GENERATION
    rack_id: str | None = None


def subscribed(members: Iterable[MemberSubscription], topics: Mapping[str, Topic]) -> dict[str, Topic]:
    """Return the topics with a subscriber and with partitions, sorted by name."""
    names = frozenset[str]().union(*(member.topics for member in members))
    return {name: topics[name] for name in sorted(names & topics.keys()) if topics[name].partition_count > 0}


def by_topic(partitions: Iterable[Partition]) -> PartitionsByTopic:
    """Group partitions by topic; topics and numbers are ascending."""
    grouped: PartitionsByTopic = {}
    for topic, partition in sorted(partitions):
        grouped.setdefault(topic, []).append(partition)
    return grouped
