"""Attacks on streams groups (KIP-1071): huge topologies, endpoints of many members, very many tasks that move."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from _wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from coordinator.client.wire import ClientError
from tests.hostile.attack import Attack
from tests.hostile.target import Target

VERSION, DESCRIBE_VERSION = 0, 0
GROUP: Final = "attacked-streams-group"
ELEMENTS: Final = 190_000
"""Fewer than socket.request.max.elements allows."""
ENTRIES: Final = 9_900
"""Fewer than a topology may have."""
SUBTOPOLOGIES: Final = 1_500
"""As many as a topology may have."""


def _ask(target: Target, messages: Iterable[Any], version: int = VERSION) -> None:
    """Send requests, one after the other on one connection, until they are answered or the connection is closed."""
    with target.client() as client:
        try:
            for message in messages:
                client.request(message, version)
        except ClientError:
            return


def _create(target: Target, name: str, partitions: int) -> None:
    with target.client("administrator") as client:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)


def _join(group_id: str, member_id: str, topology: Topology, **said: Any) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        rebalance_timeout_ms=60_000,
        topology=topology,
        process_id=f"process-{member_id}",
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        **said,
    )


def _reading(*topics: str, changelogs: int = 0) -> Topology:
    internal = [TopicInfo(name=f"changelog-{number}") for number in range(changelogs)]
    part = Subtopology(subtopology_id="0", source_topics=list(topics), state_changelog_topics=internal)
    return Topology(subtopologies=[part])


def _topologies(target: Target, scale: float) -> Iterator[None]:
    """Topologies of very many subtopologies, of one with very many topics, and of places that do not exist."""
    count = int(ENTRIES * scale) // 2
    subtopologies_max = int(SUBTOPOLOGIES * scale)
    parts = [Subtopology(subtopology_id=f"{number}", source_topics=["t"] * 5) for number in range(subtopologies_max)]
    topics = [f"t{number}" for number in range(count)]
    places = [CopartitionGroup(source_topics=list(range(count)))]
    wide = [Subtopology(subtopology_id="0", source_topics=topics, copartition_groups=places)]
    doubled = [Subtopology(subtopology_id="0", source_topics=["t"] * int(ELEMENTS * scale))]
    yield
    for number, subtopologies in enumerate((parts, wide, doubled)):
        runs = Topology(subtopologies=subtopologies)
        _ask(target, (_join(f"{GROUP}-{number}", f"m{member}", runs) for member in range(int(30 * scale) or 1)))


def _chains(target: Target, scale: float) -> Iterator[None]:
    """Repartition topics whose numbers of partitions follow from one another, in the worst order."""
    _create(target, "chained", 2)
    count = int(SUBTOPOLOGIES * scale)
    parts = [
        Subtopology(
            subtopology_id=f"{count - number:05}",
            source_topics=["chained"] if number == 0 else [],
            repartition_source_topics=[TopicInfo(name=f"r{number}")] if number else [],
            repartition_sink_topics=[f"r{number + 1}"],
        )
        for number in range(count)
    ]
    yield
    _ask(target, [_join(f"{GROUP}-chained", "m", Topology(subtopologies=parts))])


def _endpoints(target: Target, scale: float) -> Iterator[None]:
    """Members with endpoints, each of which asks for the partitions of all again and again."""
    _create(target, "asked", 100)
    members = int(200 * scale) or 1
    runs = _reading("asked")
    yield
    joins = (
        _join(f"{GROUP}-asked", f"m{number}", runs, user_endpoint=Endpoint(host="h" * 200, port=number))
        for number in range(members)
    )
    _ask(target, joins)
    _beat(target, f"{GROUP}-asked", "m0", int(500 * scale) or 1, endpoint_information_epoch=-2)


def _beat(target: Target, group_id: str, member_id: str, count: int, **said: Any) -> None:
    """Heartbeats of a member that has joined, at the epoch that it is told."""
    epoch = 2
    with target.client() as client:
        for _ in range(count):
            beat = StreamsGroupHeartbeatRequest(group_id=group_id, member_id=member_id, member_epoch=epoch, **said)
            epoch = client.request(beat, VERSION).member_epoch or epoch


def _tags(target: Target, scale: float) -> Iterator[None]:
    """Members with very many client tags, that say others each time."""
    _create(target, "tagged", 1)
    runs, count = _reading("tagged"), int(900 * scale)
    yield
    _ask(
        target,
        (
            _join(
                f"{GROUP}-tagged",
                f"m{number % 50}",
                runs,
                client_tags=[KeyValue(key=f"{number}-{tag}", value="v" * 100) for tag in range(count)],
            )
            for number in range(int(300 * scale) or 1)
        ),
    )


def _moving_tasks(target: Target, scale: float) -> Iterator[None]:
    """A topology of very many tasks, whose members come and go."""
    _create(target, "many-tasks", int(15_000 * scale) or 1)
    runs = _reading("many-tasks")
    yield
    for round_number in range(3):
        members = [f"m{round_number}-{number}" for number in range(int(50 * scale) or 1)]
        _ask(target, (_join(f"{GROUP}-many", member_id, runs) for member_id in members))
        leaving = (
            StreamsGroupHeartbeatRequest(group_id=f"{GROUP}-many", member_id=one, member_epoch=-1) for one in members
        )
        _ask(target, leaving)


def _owned_tasks(target: Target, scale: float) -> Iterator[None]:
    """Heartbeats that name very many tasks, which nobody has."""
    _create(target, "owned", 1)
    numbers = list(range(int(90_000 * scale)))
    yield
    _ask(target, [_join(f"{GROUP}-owned", "m", _reading("owned"))])
    for tasks in ([TaskIds(subtopology_id="0", partitions=numbers)], _parts(numbers)):
        beat = StreamsGroupHeartbeatRequest(
            group_id=f"{GROUP}-owned",
            member_id="m",
            member_epoch=2,
            active_tasks=tasks,
            standby_tasks=[],
            warmup_tasks=[],
        )
        _ask(target, [beat] * 5)


def _parts(numbers: list[int]) -> list[TaskIds]:
    return [TaskIds(subtopology_id=f"{number}", partitions=[number]) for number in numbers[: len(numbers) // 2]]


def _described(target: Target, scale: float) -> Iterator[None]:
    """StreamsGroupDescribe of one group very many times, which has a large topology and members with long names."""
    topics = ["described", *(f"{number}-" + "n" * 200 for number in range(int(1_000 * scale)))]
    _create(target, "described", 1)
    yield
    _ask(
        target,
        (_join(f"{GROUP}-described", f"m{n}-" + "m" * 1_000, _reading(*topics)) for n in range(int(50 * scale) or 1)),
    )
    many = StreamsGroupDescribeRequest(group_ids=[f"{GROUP}-described"] * (int(2_000 * scale) or 1))
    _ask(target, [many], DESCRIBE_VERSION)


ATTACKS: Final = (
    Attack("StreamsGroupHeartbeats with topologies of 1,500 subtopologies and 9,900 topics", _topologies),
    Attack("StreamsGroupHeartbeat with a chain of 1,500 repartition topics", _chains),
    Attack("StreamsGroupHeartbeats that ask 500 times for the endpoints of 200 members", _endpoints),
    Attack("StreamsGroupHeartbeats with 900 client tags, others each time", _tags),
    Attack("StreamsGroupHeartbeats of members of 15,000 tasks, that come and go", _moving_tasks),
    Attack("StreamsGroupHeartbeats that own 90,000 tasks", _owned_tasks),
    Attack("StreamsGroupDescribe of one group 2,000 times", _described),
)
