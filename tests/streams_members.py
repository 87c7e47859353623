"""Members of streams groups (KIP-1071) that a test has in its hands, over the wire."""

from collections.abc import Sequence
from typing import Any

from _wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TopicInfo,
    Topology,
)
from tests.wire_client import WireClient

VERSION = 0
LEAVE = -1
NOTHING: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
Tasks = set[tuple[str, int]]
"""Subtopology and partition of each."""


class StreamsTasks:
    """What a member in a process of its own says and is told. It has its tasks until it takes the next assignment."""

    def __init__(self, group_id: str, member_id: str) -> None:
        self.member_id = member_id
        self._who: dict[str, Any] = {"group_id": group_id, "member_id": member_id}
        self._has = self._assigned = NOTHING
        self.epoch = 0
        self.status: list[Any] = []

    def joining(self, topics: Sequence[str], changelogs: Sequence[str] = (), timeout_ms: int = 30_000) -> Any:
        """The heartbeat of a member with a topology of one subtopology, `0`, that reads these topics."""
        part = Subtopology(
            subtopology_id="0",
            source_topics=list(topics),
            state_changelog_topics=[TopicInfo(name=name) for name in changelogs],
        )
        runs, process_id = Topology(subtopologies=[part]), f"process-{self.member_id}"
        return self._heartbeat(rebalance_timeout_ms=timeout_ms, topology=runs, process_id=process_id, **self._has)

    def whole(self) -> Any:
        """The heartbeat that says what it has."""
        return self._heartbeat(**self._has)

    def steady(self) -> Any:
        """The heartbeat that says nothing new."""
        return self._heartbeat()

    def leaving(self) -> Any:
        return StreamsGroupHeartbeatRequest(**self._who, member_epoch=LEAVE)

    def _heartbeat(self, **said: Any) -> StreamsGroupHeartbeatRequest:
        return StreamsGroupHeartbeatRequest(**self._who, member_epoch=self.epoch, **said)

    def read(self, answer: StreamsGroupHeartbeatResponse) -> bool:
        """Whether it is to have other tasks than before."""
        self.epoch, self.status = answer.member_epoch, list(answer.status or ())
        if answer.active_tasks is None:
            return False
        self._assigned = {
            "active_tasks": answer.active_tasks,
            "standby_tasks": answer.standby_tasks,
            "warmup_tasks": answer.warmup_tasks,
        }
        return True

    def take(self) -> None:
        """Give up the tasks that it is to have no longer, and begin those that it is to have."""
        self._has = self._assigned

    def lose(self) -> None:
        """It has no tasks, and is no member, any more."""
        self._has = self._assigned = NOTHING
        self.epoch = 0

    def assigned_active_tasks(self) -> Tasks:
        """Those that it is to have."""
        return tasks_of(self._assigned["active_tasks"])

    def active_tasks(self) -> Tasks:
        return tasks_of(self._has["active_tasks"])

    def standby_tasks(self) -> Tasks:
        return tasks_of(self._has["standby_tasks"])


class StreamsMember:
    """A member that takes and gives up each task as soon as it is told to."""

    def __init__(self, client: WireClient, group_id: str, member_id: str) -> None:
        self._client = client
        self._tasks = StreamsTasks(group_id, member_id)

    @property
    def epoch(self) -> int:
        return self._tasks.epoch

    @property
    def status(self) -> list[Any]:
        return self._tasks.status

    def join(self, topics: Sequence[str], changelogs: Sequence[str] = (), timeout_ms: int = 30_000) -> None:
        """See `StreamsTasks.joining`."""
        self._send(self._tasks.joining(topics, changelogs, timeout_ms))

    def beat(self) -> bool:
        """Say what it has; whether it is told to have something else."""
        return self._send(self._tasks.whole())

    def leave(self) -> None:
        self._send(self._tasks.leaving())

    def task_count(self) -> int:
        return len(self._tasks.active_tasks())

    def standby_tasks(self) -> Tasks:
        return self._tasks.standby_tasks()

    def steady_request(self) -> StreamsGroupHeartbeatRequest:
        request: StreamsGroupHeartbeatRequest = self._tasks.steady()
        return request

    def _send(self, request: StreamsGroupHeartbeatRequest) -> bool:
        answer: StreamsGroupHeartbeatResponse = self._client.request(request, VERSION)
        assert answer.error_code == 0, answer.error_message
        was_assigned = self._tasks.read(answer)
        self._tasks.take()
        return was_assigned


def tasks_of(listed: Any) -> Tasks:
    """Of the lists of partitions by subtopology that messages have."""
    return {(tasks.subtopology_id, number) for tasks in listed for number in tasks.partitions}
