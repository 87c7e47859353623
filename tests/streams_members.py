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


class StreamsMember:
    """A member in a process of its own, which takes and gives up each task as soon as it is told to."""

    def __init__(self, client: WireClient, group_id: str, member_id: str) -> None:
        self._client, self._member_id = client, member_id
        self._who: dict[str, Any] = {"group_id": group_id, "member_id": member_id}
        self._has: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        self.epoch = 0
        self.status: list[Any] = []

    def join(self, topics: Sequence[str], changelogs: Sequence[str] = (), timeout_ms: int = 30_000) -> None:
        """With a topology of one subtopology, `0`, that reads these topics."""
        part = Subtopology(
            subtopology_id="0",
            source_topics=list(topics),
            state_changelog_topics=[TopicInfo(name=name) for name in changelogs],
        )
        runs, process_id = Topology(subtopologies=[part]), f"process-{self._member_id}"
        self._hear(self._send(rebalance_timeout_ms=timeout_ms, topology=runs, process_id=process_id, **self._has))

    def beat(self) -> bool:
        """Say what it has; whether it is told to have something else."""
        return self._hear(self._send(**self._has))

    def leave(self) -> None:
        self.epoch = LEAVE
        self._send()

    def task_count(self) -> int:
        return sum(len(tasks.partitions) for tasks in self._has["active_tasks"])

    def standby_tasks(self) -> set[tuple[str, int]]:
        return {(tasks.subtopology_id, number) for tasks in self._has["standby_tasks"] for number in tasks.partitions}

    def steady_request(self) -> StreamsGroupHeartbeatRequest:
        """A heartbeat that says nothing new."""
        return StreamsGroupHeartbeatRequest(**self._who, member_epoch=self.epoch)

    def _send(self, **said: Any) -> StreamsGroupHeartbeatResponse:
        request = StreamsGroupHeartbeatRequest(**self._who, member_epoch=self.epoch, **said)
        answer: StreamsGroupHeartbeatResponse = self._client.request(request, VERSION)
        assert answer.error_code == 0, answer.error_message
        return answer

    def _hear(self, answer: StreamsGroupHeartbeatResponse) -> bool:
        self.epoch, self.status = answer.member_epoch, list(answer.status or ())
        if answer.active_tasks is not None:
            self._has = {
                "active_tasks": answer.active_tasks,
                "standby_tasks": answer.standby_tasks,
                "warmup_tasks": answer.warmup_tasks,
            }
        return answer.active_tasks is not None
