"""A shard with streams groups on a virtual clock, its topics, and what clients send."""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from _wire.messages.streams_group_describe import DescribedGroup, StreamsGroupDescribeRequest
from _wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from coordinator.core.decision import Environment
from coordinator.core.kinds import operations
from coordinator.core.streams.group import StreamsGroup
from tests.audit.consumer_stories import named
from tests.core.consumer.world import FixedTopics, World
from tests.simulation.calls import CLIENT_HOST
from tests.simulation.simulation import GROUP_ID, Sent

QUICK: Final = {
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.session.timeout.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "500",
}
Tasks = Mapping[str, Iterable[int]]
NO_TASKS: Final[Tasks] = {}


def part(
    subtopology_id: str = "0",
    *sources: str,
    changelogs: Iterable[str | TopicInfo] = (),
    sinks: Iterable[str] = (),
    repartition: Iterable[str | TopicInfo] = (),
    copartition: Iterable[CopartitionGroup] = (),
) -> Subtopology:
    """A subtopology; without sources it reads `t`, unless it reads repartition topics."""

    def infos(topics: Iterable[str | TopicInfo]) -> list[TopicInfo]:
        return [TopicInfo(name=topic) if isinstance(topic, str) else topic for topic in topics]

    read = infos(repartition)
    return Subtopology(
        subtopology_id=subtopology_id,
        source_topics=sources or (() if read else ("t",)),
        state_changelog_topics=infos(changelogs),
        repartition_sink_topics=sinks,
        repartition_source_topics=read,
        copartition_groups=copartition,
    )


def topology(*parts: Subtopology, epoch: int = 0) -> Topology:
    return Topology(epoch=epoch, subtopologies=parts or (part(),))


class MemoryTopicCreation:
    """Creates topics in the world, unless a test has it fail or forbids it."""

    def __init__(self, topics: FixedTopics) -> None:
        self._topics = topics
        self.forbidden: set[str] = set()
        self.fails: dict[str, str] = {}
        self.created: list[str] = []

    def unauthorized(self, names: Collection[str], context: Any) -> list[str]:
        return [name for name in names if name in self.forbidden]

    def create(self, topics: Sequence[Any]) -> Generator[Any, Any, dict[str, str]]:
        yield
        failed = {topic.name: self.fails[topic.name] for topic in topics if topic.name in self.fails}
        for topic in topics:
            if topic.name not in failed:
                self._topics.create(topic.name, topic.partitions)
                self.created.append(topic.name)
        return failed


class StreamsWorld(World):
    """One shard with the topics `t` (3 partitions) and `u` (2) unless said otherwise."""

    def __init__(self, settings: Mapping[str, str] | None = None, topics: Mapping[str, int] | None = None) -> None:
        super().__init__(QUICK | dict(settings or {}), topics)

    def start(self, *, clean: bool = False) -> None:
        if not hasattr(self, "creation"):
            self.creation = MemoryTopicCreation(self._fixed)
        super().start(clean=clean)

    restart = start

    @property
    def environment(self) -> Environment:
        return msgspec.structs.replace(super().environment, topic_creation=self.creation)

    @property
    def streams(self) -> StreamsGroup:
        membership = self.whole_group.membership
        assert isinstance(membership, StreamsGroup)
        return membership

    # ---- requests

    def streams_beat(
        self,
        member_id: str,
        epoch: int,
        *,
        owned: tuple[Tasks, Tasks] | None = None,
        runs: Topology | None = None,
        process_id: str | None = None,
        endpoint: tuple[str, int] | None = None,
        endpoint_epoch: int = 0,
        timeout_ms: int = -1,
        tags: Mapping[str, str] | None = None,
        shuts_down: bool = False,
        **changes: Any,
    ) -> StreamsGroupHeartbeatResponse:
        """A heartbeat; `owned` are the active and the standby tasks that the member has."""
        request = StreamsGroupHeartbeatRequest(
            group_id=GROUP_ID,
            member_id=member_id,
            member_epoch=epoch,
            endpoint_information_epoch=endpoint_epoch,
            rebalance_timeout_ms=timeout_ms,
            topology=runs,
            active_tasks=None if owned is None else _task_ids(owned[0]),
            standby_tasks=None if owned is None else _task_ids(owned[1]),
            warmup_tasks=None if owned is None else [],
            process_id=process_id,
            user_endpoint=None if endpoint is None else Endpoint(host=endpoint[0], port=endpoint[1]),
            client_tags=None if tags is None else [KeyValue(key=key, value=value) for key, value in tags.items()],
            shutdown_application=shuts_down,
        )
        for field, value in changes.items():
            setattr(request, field, value)
        sent, name = Sent(), f"client-{member_id}"
        self.submit(operations.STREAMS_GROUP_HEARTBEAT, GROUP_ID, request, sent, name, 0, self._open_connection(name))
        response = sent.response
        assert isinstance(response, StreamsGroupHeartbeatResponse), response
        return response

    def streams_fast(
        self,
        member_id: str,
        epoch: int,
        client_id: str = "",
        host: str = CLIENT_HOST,
        api_key: int = StreamsGroupHeartbeatRequest.API_KEY,
        endpoint_epoch: int = 0,
    ) -> int:
        """A heartbeat that says nothing, as a connection sees it: the interval to answer; -1: the core answers."""
        client_id = client_id or f"client-{member_id}"
        said: dict[str, int] = {"api_key": api_key, "endpoint_epoch": endpoint_epoch}
        return self.sessions.answer_consumer_heartbeat(
            GROUP_ID, member_id, None, epoch, client_id, host, self.now_ms, **said
        )

    def topics_changed(self) -> None:
        """As the metadata store says it."""
        self.sessions.close_all_heartbeats()

    def streams_enter(
        self, member_id: str, *, runs: Topology | None = None, process_id: str | None = None, **changes: Any
    ) -> StreamsGroupHeartbeatResponse:
        """The first heartbeat of a member, in a process of its own."""
        fields: dict[str, Any] = {"owned": (NO_TASKS, NO_TASKS), "timeout_ms": 30_000} | changes
        return self.streams_beat(
            member_id, 0, runs=runs or topology(), process_id=process_id or f"process-{member_id}", **fields
        )

    def streams_described(self) -> DescribedGroup:
        sent = Sent()
        request = StreamsGroupDescribeRequest(group_ids=[GROUP_ID])
        self.submit(operations.STREAMS_GROUP_DESCRIBE, GROUP_ID, request, sent, "admin", 0)
        (described,) = sent.response.groups
        return described  # type: ignore[no-any-return]

    def has(self, member_id: str) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """The active and the standby tasks of a member."""
        assigned = self.streams.members[member_id].current.assigned
        return (
            {subtopology_id: sorted(tasks) for subtopology_id, tasks in assigned.active.items()},
            {subtopology_id: sorted(tasks) for subtopology_id, tasks in assigned.standby.items()},
        )


def named_world(settings: Mapping[str, str] | None = None, topics: Mapping[str, int] | None = None) -> StreamsWorld:
    """With the topics in its audit, as a node has them."""
    world = StreamsWorld(settings, topics)
    named(world)
    return world


def tasks_in(tasks: Iterable[TaskIds] | None) -> dict[str, list[int]] | None:
    """Those of a list of an answer; None: unchanged."""
    return None if tasks is None else {task_ids.subtopology_id: list(task_ids.partitions) for task_ids in tasks}


def statuses(response: StreamsGroupHeartbeatResponse) -> list[tuple[int, str]]:
    return [(status.status_code, status.status_detail) for status in response.status or ()]


def _task_ids(tasks: Tasks) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=list(numbers)) for subtopology_id, numbers in tasks.items()
    ]
