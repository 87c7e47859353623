"""A topology together with the topics of the cluster: how many tasks it has, and which topics are missing.

Counterpart in Kafka: `InternalTopicManager.configureTopics`, `RepartitionTopics`, `CopartitionedTopicsEnforcer`,
`ChangelogTopics`.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, TypeVar

import msgspec

from coordinator.core.decision import Topics
from coordinator.core.streams.tasks import utf16
from coordinator.core.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology

Element = TypeVar("Element")
NAMED_MAX: Final = 3
"""So many topics are named in a status."""
TASKS_MAX: Final = 20_000
"""Of all subtopologies of a group. Some steps towards an assignment handle all of them at once, in up to 20 ms."""


class InvalidTopologyError(Exception):
    """What cannot be computed: STREAMS_INVALID_TOPOLOGY. Its text tells the client why."""


class UnexpectedTopologyError(Exception):
    """What Kafka fails at: UNKNOWN_SERVER_ERROR."""


class StatusCode(IntEnum):
    """What members are told besides their tasks (`StreamsGroupHeartbeatResponse.Status`)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class TopologyStatus(msgspec.Struct, frozen=True):
    """Why a topology is not ready."""

    code: StatusCode
    detail: str
    topics: tuple[str, ...] = ()
    """Those that are missing, or have another number of partitions than they should."""


class ConfiguredSubtopology(msgspec.Struct, frozen=True):
    """A subtopology with the numbers that its topics have, or are to have."""

    subtopology_id: str
    tasks: int
    source_topics: Mapping[str, int]
    """Name → partitions."""
    repartition_source_topics: Mapping[str, TopicInfo]
    changelog_topics: Mapping[str, TopicInfo]
    repartition_sink_topics: tuple[str, ...]

    def topics_read(self) -> Iterable[str]:
        """The topics that its tasks read."""
        yield from self.source_topics
        yield from self.repartition_source_topics


class ConfiguredTopology(msgspec.Struct, frozen=True):
    """What came of a topology."""

    epoch: int
    metadata_hash: int
    """Of the topics that it was configured with."""
    subtopologies: Mapping[str, ConfiguredSubtopology] | None = None
    """By id, in Java's order of texts; None: the numbers of tasks are not known."""
    missing: Mapping[str, TopicInfo] = {}
    """Internal topics that have to be created, with their partitions."""
    status: TopologyStatus | None = None
    """None: it is ready."""

    @property
    def is_ready(self) -> bool:
        return self.status is None


def configure(topology: Topology, metadata_hash: int, topics: Topics) -> ConfiguredTopology:
    """Raises InvalidTopologyError, UnexpectedTopologyError."""
    sources = {name: topics.partition_count(name) for part in topology.subtopologies for name in part.source_topics}
    missing = sorted((name for name, count in sources.items() if not count), key=utf16)
    if missing:
        detail = f"Source topics {_named(missing)} are missing."
        return ConfiguredTopology(
            topology.epoch,
            metadata_hash,
            status=TopologyStatus(StatusCode.MISSING_SOURCE_TOPICS, detail, tuple(missing)),
        )
    repartition = _repartition_partitions(topology, sources)
    try:
        _enforce_copartitioning(topology, sources, repartition)
    except _NotCopartitioned as wrong:
        status = TopologyStatus(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, str(wrong), wrong.topics)
        return ConfiguredTopology(topology.epoch, metadata_hash, status=status)
    parts = {
        part.subtopology_id: _configured(part, sources, repartition)
        for part in sorted(topology.subtopologies, key=lambda part: utf16(part.subtopology_id))
    }
    if len(parts) != len(topology.subtopologies):
        raise UnexpectedTopologyError("two subtopologies have the same id")
    return _with_internal_topics(ConfiguredTopology(topology.epoch, metadata_hash, parts), topics)


def _named(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} additional topics" if more > 0 else "")


def _repartition_partitions(topology: Topology, sources: Mapping[str, int]) -> dict[str, int]:
    """The partitions of the repartition topics: their own number, or that of what is written into them."""
    infos = {topic.name: topic for part in topology.subtopologies for topic in part.repartition_source_topics}
    counts_by_topic = {name: topic.partitions for name, topic in infos.items() if topic.partitions}
    _add_sinks(topology, sources, counts_by_topic)
    if any(sink not in counts_by_topic for part in topology.subtopologies for sink in part.repartition_sink_topics):
        raise InvalidTopologyError(
            "Failed to compute number of partitions for all repartition topics. There may be loops in the topology."
        )
    for name in infos:
        if name not in counts_by_topic:
            raise InvalidTopologyError(f"Failed to compute the number of partitions of repartition topic {name}.")
    return counts_by_topic


def _add_sinks(topology: Topology, sources: Mapping[str, int], counts_by_topic: dict[str, int]) -> None:
    """Give each sink the partitions of the largest topic that its subtopology reads, as far as that can be known.

    It goes in rounds, as in Kafka: a subtopology counts in the first round in which it reads a topic whose partitions
    are known since the round before, and of several that write into a sink in a round the last one decides.
    """
    parts = topology.subtopologies
    readers: dict[str, list[int]] = {}
    for place, part in enumerate(parts):
        for topic in part.repartition_source_topics:
            readers.setdefault(topic.name, []).append(place)
    counted: set[int] = set()
    examined: Sequence[int] = range(len(parts))
    while examined:
        counts = {
            place: count for place in examined if (count := _largest_count(parts[place], sources, counts_by_topic))
        }
        counted |= counts.keys()
        found = {
            sink: count
            for place, count in counts.items()
            for sink in parts[place].repartition_sink_topics
            if sink not in counts_by_topic
        }
        counts_by_topic |= found
        examined = sorted({place for name in found for place in readers.get(name, ())} - counted)


def _largest_count(part: Subtopology, sources: Mapping[str, int], counts_by_topic: Mapping[str, int]) -> int:
    """Partitions of the largest topic that a subtopology reads, as far as they are known; 0: none is."""
    counts = [sources[name] for name in part.source_topics]
    counts += [counts_by_topic[topic.name] for topic in part.repartition_source_topics if topic.name in counts_by_topic]
    return max(counts, default=0)


class _NotCopartitioned(Exception):
    """Topics of a copartition group that have different numbers of partitions."""

    def __init__(self, detail: str, topics: tuple[str, ...]) -> None:
        super().__init__(detail)
        self.topics = topics


def _different(counts: Mapping[str, int]) -> _NotCopartitioned:
    names = tuple(sorted(counts, key=utf16))
    named = ", ".join(f"{name}={counts[name]}" for name in names)
    return _NotCopartitioned(f"Following topics do not have the same number of partitions: [{{{named}}}]", names)


def _enforce_copartitioning(topology: Topology, sources: Mapping[str, int], repartition: dict[str, int]) -> None:
    """Give the flexible repartition topics the number of their copartition group, which is set in `repartition`."""
    fixed = {
        topic.name for part in topology.subtopologies for topic in part.repartition_source_topics if topic.partitions
    }
    for part in topology.subtopologies:
        for group in part.copartition_groups:
            names = _names_of(part, group)
            if names:
                _enforce(names, sources, repartition, fixed)


def _names_of(part: Subtopology, group: CopartitionGroup) -> list[str]:
    try:
        return [
            *(_at(part.source_topics, place) for place in group.source_topics),
            *(_at(part.repartition_source_topics, place).name for place in group.repartition_source_topics),
        ]
    except IndexError:
        raise UnexpectedTopologyError("a copartition group names a topic that is not there") from None


def _at(elements: tuple[Element, ...], place: int) -> Element:
    if place < 0:
        raise IndexError
    return elements[place]


def _enforce(names: list[str], sources: Mapping[str, int], repartition: dict[str, int], fixed: set[str]) -> None:
    plain = {name: sources[name] for name in names if name not in repartition}
    flexible = [name for name in names if name in repartition]
    if plain:
        count = next(iter(plain.values()))
        if any(other != count for other in plain.values()):
            raise _different(plain)
        _check_fixed(flexible, repartition, fixed, count)
    elif fixed:
        own = {name: repartition[name] for name in flexible if name in fixed}
        counts = set(own.values())
        if len(counts) > 1:
            raise _different(own)
        count = counts.pop() if counts else max(repartition[name] for name in flexible)
    else:
        count = max(repartition[name] for name in flexible)
    repartition.update(dict.fromkeys(flexible, count))


def _check_fixed(names: list[str], repartition: Mapping[str, int], fixed: set[str], count: int) -> None:
    for name in names:
        if name in fixed and repartition[name] != count:
            raise _NotCopartitioned(
                f"Number of partitions [{repartition[name]}] of repartition topic [{name}] doesn't match number of "
                f"partitions [{count}] of the source topic.",
                (name,),
            )


def _configured(part: Subtopology, sources: Mapping[str, int], repartition: Mapping[str, int]) -> ConfiguredSubtopology:
    counts = [sources.get(name, 0) or repartition.get(name, 0) for name in part.topics_read()]
    if not counts:
        raise InvalidTopologyError(f"No source topics found for subtopology {part.subtopology_id}.")
    tasks = max(counts)
    return ConfiguredSubtopology(
        part.subtopology_id,
        tasks,
        {name: sources[name] for name in part.source_topics},
        {topic.name: _with_partitions(topic, repartition[topic.name]) for topic in part.repartition_source_topics},
        {topic.name: _with_partitions(topic, tasks) for topic in part.changelog_topics},
        part.repartition_sink_topics,
    )


def _with_partitions(topic: TopicInfo, partitions: int) -> TopicInfo:
    return msgspec.structs.replace(topic, partitions=partitions)


def _with_internal_topics(configured: ConfiguredTopology, topics: Topics) -> ConfiguredTopology:
    """Compare the internal topics with those that exist."""
    assert configured.subtopologies is not None
    internal: dict[str, TopicInfo] = {}
    for part in configured.subtopologies.values():
        internal |= part.repartition_source_topics
        internal |= part.changelog_topics
    missing: dict[str, TopicInfo] = {}
    for name, topic in internal.items():
        existing = topics.partition_count(name)
        if not existing:
            missing[name] = topic
        elif existing != topic.partitions:
            detail = (
                f"Existing topic {name} has different number of partitions: expected {topic.partitions}, "
                f"found {existing}"
            )
            status = TopologyStatus(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail, (name,))
            return msgspec.structs.replace(configured, subtopologies=None, status=status)
    if not missing:
        _check_task_count(configured.subtopologies.values())
        return configured
    detail = f"Internal topics are missing: {_named(list(missing))}"
    status = TopologyStatus(StatusCode.MISSING_INTERNAL_TOPICS, detail, tuple(missing))
    return msgspec.structs.replace(configured, missing=missing, status=status)


def _check_task_count(parts: Iterable[ConfiguredSubtopology]) -> None:
    tasks = sum(part.tasks for part in parts)
    if tasks > TASKS_MAX:
        raise InvalidTopologyError(f"The topology has {tasks:,} tasks; {TASKS_MAX:,} is the maximum of a group.")
