"""What the audit reads beside the groups: the topics, the ends of their logs, and the committed offsets."""

from collections.abc import Callable, Mapping
from typing import Protocol

from coordinator.audit import schema
from coordinator.core.offset_records import CommittedOffset

OffsetsByTopic = Mapping[str, Mapping[int, CommittedOffset]]
"""Topic → partition → committed offset."""


class Cluster(Protocol):
    """Read access to topics and their logs."""

    def partition_count(self, topic: str) -> int:
        """Partitions of the topic, 0 where there is none of that name."""

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        """The log end offset of a partition; None if its log is not on this node."""


class NoCluster:
    """No topic is known."""

    def partition_count(self, topic: str) -> int:
        return 0

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        return None


def _no_offsets(group_id: str) -> OffsetsByTopic:
    return {}


class World:
    """The cluster, and the committed offsets of the groups of one partition."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.committed_offsets: Callable[[str], OffsetsByTopic] = _no_offsets
        """(group id) → committed offsets; set by who keeps the groups."""

    def lag(self, group_id: str) -> int | None:
        """Log end offset minus committed offset, summed over the group's committed partitions whose log is here.

        None if there is no such partition, or if the group has committed more than `PARTITIONS_NAMED_MAX` partitions,
        which would take too long.
        """
        offsets = self.committed_offsets(group_id)
        if sum(map(len, offsets.values())) > schema.PARTITIONS_NAMED_MAX:
            return None
        log_end_offset = self.cluster.log_end_offset
        lags = [
            max(end - committed.offset, 0)
            for topic, of_topic in offsets.items()
            for partition, committed in of_topic.items()
            if (end := log_end_offset(topic, partition)) is not None
        ]
        return sum(lags) if lags else None

    def topic_counts(self, topics: set[str]) -> dict[str, int]:
        """Topic → number of its partitions, for at most `TOPICS_NAMED_MAX` topics."""
        count = self.cluster.partition_count
        return {topic: count(topic) for topic in sorted(topics)[: schema.TOPICS_NAMED_MAX]}

    def topic_changes(self, counts: Mapping[str, int]) -> dict[str, list[int]]:
        """Topic → [partitions in `counts`, partitions now], for those that differ."""
        count = self.cluster.partition_count
        return {topic: [before, now] for topic, before in counts.items() if (now := count(topic)) != before}
