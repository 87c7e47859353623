"""What the audit reads beside the groups: the topics, the ends of their logs, and the committed offsets."""

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Final, Protocol

import msgspec

from coordinator.audit import schema
from coordinator.core.lag import lag_of
from coordinator.core.offsets.records import CommittedOffset

OffsetsByTopic = Mapping[str, Mapping[int, CommittedOffset]]
"""Topic → partition → committed offset."""


class Cluster(Protocol):
    """Read access to topics and their logs."""

    @property
    def topics_version(self) -> int:
        """Rises when a topic is created, deleted or gets partitions, or when something else becomes known of one."""

    def partition_count(self, topic: str) -> int:
        """Partitions of the topic, 0 where there is none of that name."""

    def topic_id(self, topic: str) -> bytes:
        """16 bytes, all zero where there is no topic of that name."""

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with that id (16 bytes), None where there is none."""

    def has_metadata(self, topic: str) -> bool:
        """Whether it is known if there is a topic of that name."""

    def existing(self, names: Collection[str]) -> set[str]:
        """Those of the names that topics have. The names of a tuple are in ascending order."""

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        """The log end offset of a partition; None if its log is not on this node."""

    def data_end_offset(self, topic: str, partition: int) -> int | None:
        """As `log_end_offset`, without the markers of transactions at the end, as far as they are known."""


class Topic(msgspec.Struct, frozen=True):
    """What a group's members may notice of a topic. A topic that is created again has another id."""

    partitions: int
    topic_id: bytes


NO_TOPIC: Final = Topic(0, bytes(16))
LAG_MIN: Final = -(1 << 63)
LAG_MAX: Final = (1 << 63) - 1
"""The bounds of an int64, which a lag is written as. Clients commit any offset, so a sum of lags may exceed them."""


def ids_of(topics: Mapping[str, Topic]) -> dict[str, str]:
    """Name → id in hexadecimal digits, of at most `TOPIC_IDS_NAMED_MAX` of these topics, those that exist."""
    if len(topics) > schema.TOPIC_IDS_NAMED_MAX:
        topics = dict(islice(topics.items(), schema.TOPIC_IDS_NAMED_MAX))
    return {name: topic.topic_id.hex() for name, topic in topics.items() if topic.topic_id != NO_TOPIC.topic_id}


class CommittedPartition(msgspec.Struct, frozen=True):
    """A partition with a committed offset; `lag` is None if its log is not on this node."""

    topic: str
    partition: int
    committed_offset: int
    lag: int | None


class NoCluster:
    """There is no topic."""

    @property
    def topics_version(self) -> int:
        return 0

    def partition_count(self, topic: str) -> int:
        return 0

    def topic_id(self, topic: str) -> bytes:
        return NO_TOPIC.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        return None

    def has_metadata(self, topic: str) -> bool:
        return True

    def existing(self, names: Collection[str]) -> set[str]:
        return set()

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        return None

    def data_end_offset(self, topic: str, partition: int) -> int | None:
        return self.log_end_offset(topic, partition)


def committed_count(offsets: OffsetsByTopic) -> int:
    """The number of partitions with a committed offset."""
    return sum(map(len, offsets.values()))


def partition_lag(cluster: Cluster, topic: str, partition: int, committed_offset: int) -> int | None:
    """The lag of a partition; None if its log is not on this node. It is 0 if only markers of transactions follow."""
    end = cluster.log_end_offset(topic, partition)
    if end is None:
        return None
    lag = lag_of(committed_offset, end)
    if lag > 0 and (data_end := cluster.data_end_offset(topic, partition)) is not None:
        return 0 if committed_offset >= data_end else lag
    return lag


def committed_partitions(offsets: OffsetsByTopic, cluster: Cluster) -> list[CommittedPartition]:
    """The partitions for which a group has committed offsets, whether it has members or not."""
    return [
        CommittedPartition(
            topic, partition, committed.offset, partition_lag(cluster, topic, partition, committed.offset)
        )
        for topic, of_topic in offsets.items()
        for partition, committed in of_topic.items()
    ]


def group_lag(offsets: OffsetsByTopic, cluster: Cluster) -> int | None:
    """The lag, see `partition_lag`, summed over the group's committed partitions whose log is here.

    It is kept within an int64. None if there is no such partition, or if the group has committed more than
    `PARTITIONS_NAMED_MAX` partitions, which would take too long.
    """
    if not offsets or committed_count(offsets) > schema.PARTITIONS_NAMED_MAX:
        return None
    lags = [
        lag
        for topic, of_topic in offsets.items()
        for partition, committed in of_topic.items()
        if (lag := partition_lag(cluster, topic, partition, committed.offset)) is not None
    ]
    if not lags:
        return None
    lag = sum(lags)
    return lag if LAG_MIN <= lag <= LAG_MAX else LAG_MIN if lag < 0 else LAG_MAX


class World:
    """The cluster, and the committed offsets of the group that an event is about."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.committed_offsets: OffsetsByTopic = {}
        """The committed offsets of the group of the event that is being projected."""
        self._topics: dict[str, Topic] = {}
        """Those that exist, as far as groups of this partition have named them, at `_topics_version`."""
        self._topics_version = -1

    def lag(self) -> int | None:
        """The lag of the group, see `group_lag`."""
        return group_lag(self.committed_offsets, self.cluster)

    def topic_name(self, topic_id: bytes) -> str:
        """The name of a topic, or its id in hexadecimal digits if it does not exist any more."""
        return self.cluster.topic_name(topic_id) or topic_id.hex()

    def topics(self, *several: Collection[str]) -> dict[str, Topic]:
        """Name → topic, for at most `TOPICS_NAMED_MAX` of them; those that do not exist are among them.

        Those of which nothing is known are left out: no later event compares them. Where there are more names,
        only topics that exist count: names that nobody has made may be very many.
        """
        if sum(map(len, several)) > schema.TOPICS_NAMED_MAX:
            several = tuple(map(self.cluster.existing, several))
        names: set[str] = set().union(*several)
        named = sorted(names)[: schema.TOPICS_NAMED_MAX]
        return {name: self._topic(name) for name in named if self.cluster.has_metadata(name)}

    def changed(self, before: Mapping[str, Topic]) -> dict[str, Topic]:
        """Those of these topics that are others now, as they were before."""
        return {
            name: topic for name, topic in before.items() if (now := self._topic(name)) is not topic and now != topic
        }

    def topic_changes(self, before: Mapping[str, Topic]) -> dict[str, list[int]]:
        """Name → [partitions before, partitions now], for the topics that changed or were created again."""
        if not before:
            return {}
        now = {name: self._topic(name) for name in before if self.cluster.has_metadata(name)}
        return {
            name: [before[name].partitions, topic.partitions] for name, topic in now.items() if before[name] != topic
        }

    def recreated_topics(self, before: Mapping[str, Topic]) -> list[str]:
        """The topics that existed before, and that others of the same names have replaced."""
        return [name for name, topic in before.items() if topic != NO_TOPIC and self._is_another(name, topic)]

    def gone_topics(self, before: Mapping[str, Topic]) -> list[str]:
        """The topics that existed before and do not any more, whether or not there are others of the same names."""
        return [
            name
            for name, topic in before.items()
            if (now := self._topic(name)) is not topic and now.topic_id != topic.topic_id and topic != NO_TOPIC
        ]

    def _is_another(self, name: str, topic: Topic) -> bool:
        now = self._topic(name)
        return now != NO_TOPIC and now.topic_id != topic.topic_id

    def _topic(self, name: str) -> Topic:
        """The same object for all groups, until topics change: what is compared is mostly identical."""
        version = self.cluster.topics_version
        if version != self._topics_version:
            self._topics.clear()
            self._topics_version = version
        topic = self._topics.get(name)
        if topic is None:
            partitions = self.cluster.partition_count(name)
            topic = Topic(partitions, self.cluster.topic_id(name)) if partitions else NO_TOPIC
            if partitions:  # names that nobody has made may be very many
                self._topics[name] = topic
        return topic
