"""What an application of Kafka Streams runs: its subtopologies, and the topics that they read and write.

Counterpart in Kafka: `StreamsTopology`; the record `StreamsGroupTopology` stores it as the first member sent it.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec


class TopicInfo(msgspec.Struct, frozen=True):
    """An internal topic. `partitions` 0: as many as are needed; `replication_factor` 0: the broker's default."""

    name: str
    partitions: int = 0
    replication_factor: int = 0
    configs: tuple[tuple[str, str], ...] = ()


class CopartitionGroup(msgspec.Struct, frozen=True):
    """Topics that need the same number of partitions, by their places in the lists of the subtopology."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


class Subtopology(msgspec.Struct, frozen=True):
    """A part of a topology whose tasks need nothing of the others but topics."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    @property
    def is_stateful(self) -> bool:
        return bool(self.changelog_topics)

    def topics_read(self) -> Iterator[str]:
        yield from self.source_topics
        for topic in self.repartition_source_topics:
            yield topic.name


class Topology(msgspec.Struct, frozen=True):
    """All parts of a topology, in the order in which they were sent."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] = ()

    def is_same_as(self, other: "Topology") -> bool:
        """Whether the content is the same: the order of subtopologies does not matter, that in their lists does."""
        return _by_id(self) == _by_id(other)

    def required_topics(self) -> set[str]:
        """The topics that have to exist: all but the sinks, which are sources of another subtopology."""
        found: set[str] = set()
        for subtopology in self.subtopologies:
            found.update(subtopology.topics_read())
            found.update(topic.name for topic in subtopology.changelog_topics)
        return found

    def topics_read(self) -> set[str]:
        """Source topics and repartition source topics."""
        return {name for subtopology in self.subtopologies for name in subtopology.topics_read()}


EMPTY_TOPOLOGY: Final = Topology(0)


def _by_id(topology: Topology) -> dict[str, Subtopology]:
    return {subtopology.subtopology_id: subtopology for subtopology in topology.subtopologies}


def topology_of(message: Any) -> Topology:
    """The topology of a request or a record, which have the same structs."""
    return Topology(message.epoch, tuple(_subtopology(subtopology) for subtopology in message.subtopologies))


def _subtopology(message: Any) -> Subtopology:
    groups = (
        CopartitionGroup(
            tuple(group.source_topics), tuple(group.source_topic_regex), tuple(group.repartition_source_topics)
        )
        for group in message.copartition_groups
    )
    return Subtopology(
        message.subtopology_id,
        tuple(message.source_topics),
        tuple(message.source_topic_regex),
        _topic_infos(message.state_changelog_topics),
        tuple(message.repartition_sink_topics),
        _topic_infos(message.repartition_source_topics),
        tuple(groups),
    )


def _topic_infos(messages: Iterable[Any]) -> tuple[TopicInfo, ...]:
    return tuple(
        TopicInfo(
            topic.name,
            topic.partitions,
            topic.replication_factor,
            tuple((config.key, config.value) for config in topic.topic_configs),
        )
        for topic in messages
    )
