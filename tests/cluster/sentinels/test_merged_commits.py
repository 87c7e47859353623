"""Commits of a group that come while one is under way leave as one, and each gets its own response."""

import asyncio
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from coordinator.cluster.sentinels.membership import Sentinel
from coordinator.cluster.sentinels.merged_commits import PARTITIONS_MAX, Commit, MergedCommits

SENTINEL: Final = Sentinel("g", "sentinel", 3, 1, 60_000)
REFUSED: Final = 9
"""The partition that the cluster refuses."""
BY_NAME, BY_ID = 9, 10
IDS: Final = {"a": b"a" * 16, "b": b"b" * 16}


class Cluster:
    """Answers the commits that it is told to, and remembers all."""

    def __init__(self, answer: Any = None) -> None:
        self.asked: list[OffsetCommitRequest] = []
        self.may_answer = asyncio.Event()
        self._answer = answer

    async def send(self, sentinel: Sentinel, request: OffsetCommitRequest, version: int) -> Any:
        self.asked.append(request)
        await self.may_answer.wait()
        return self._answer if self._answer is not None else response_to(request, version)


def response_to(request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
    """As it is read from the wire: without the name, or without the id."""
    is_by_id = version >= BY_ID
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name="" if is_by_id else topic.name,
                topic_id=topic.topic_id if is_by_id else bytes(16),
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if partition.partition_index == REFUSED else 0,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


class Committing:
    """A group whose commits wait for each other."""

    def __init__(self, cluster: Cluster) -> None:
        self.answers: dict[int, Any] = {}
        self._merged = MergedCommits(cluster.send)
        self._tasks: list[asyncio.Task[None]] = []

    def commit(
        self,
        number: int,
        offsets: dict[str, dict[int, int]],
        version: int = BY_NAME,
        sentinel: Sentinel = SENTINEL,
    ) -> None:
        topics = [
            OffsetCommitRequestTopic(
                name=name,
                topic_id=IDS[name],
                partitions=[
                    OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
                    for index, offset in partitions.items()
                ],
            )
            for name, partitions in offsets.items()
        ]
        request = OffsetCommitRequest(group_id="g", topics=topics)
        answered = lambda response: self.answers.__setitem__(number, response)  # noqa: E731
        sending = self._merged.add(Commit(sentinel, request, version, answered))
        if sending is not None:
            self._tasks.append(asyncio.create_task(sending))

    async def end(self) -> None:
        await asyncio.gather(*self._tasks)


def offsets_of(request: OffsetCommitRequest) -> dict[str | None, dict[int, int]]:
    return {
        topic.name: {partition.partition_index: partition.committed_offset for partition in topic.partitions}
        for topic in request.topics
    }


def errors_of(response: OffsetCommitResponse) -> dict[str | None, dict[int, int]]:
    return {
        topic.name: {partition.partition_index: partition.error_code for partition in topic.partitions}
        for topic in response.topics
    }


@pytest.mark.parametrize("version", [BY_NAME, BY_ID])
def test_commits_that_wait_leave_as_one_and_are_answered_apart(version):
    async def story() -> None:
        cluster = Cluster()
        group = Committing(cluster)
        group.commit(1, {"a": {0: 10}}, version)
        await asyncio.sleep(0)
        group.commit(2, {"a": {0: 11, 1: 5}}, version)
        group.commit(3, {"b": {REFUSED: 1}, "a": {0: 12}}, version)
        cluster.may_answer.set()
        await group.end()
        assert [offsets_of(each) for each in cluster.asked] == [
            {"a": {0: 10}},
            {"a": {0: 12, 1: 5}, "b": {REFUSED: 1}},
        ]
        refused = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert errors_of(group.answers[2]) == {"a": {0: 0, 1: 0}}
        assert errors_of(group.answers[3]) == {"b": {REFUSED: refused}, "a": {0: 0}}

    asyncio.run(story())


def test_what_cannot_be_sent_as_one_leaves_in_its_order():
    async def story() -> None:
        cluster = Cluster()
        group = Committing(cluster)
        later = Sentinel("g", "later", 4, 1, 60_000)
        group.commit(1, {"a": {0: 1}})
        await asyncio.sleep(0)
        group.commit(2, {"a": {0: 2}}, version=4)
        group.commit(3, {"a": {0: 3}}, version=4)
        group.commit(4, {"a": {0: 4}}, version=8)
        group.commit(5, {"a": {0: 5}}, version=8, sentinel=later)
        group.commit(6, {"a": dict.fromkeys(range(PARTITIONS_MAX), 6)}, version=8, sentinel=later)
        cluster.may_answer.set()
        await group.end()
        assert [each.topics[0].partitions[0].committed_offset for each in cluster.asked] == [1, 2, 3, 4, 5, 6]
        assert sorted(group.answers) == [1, 2, 3, 4, 5, 6]

    asyncio.run(story())


def test_an_error_of_the_whole_is_that_of_each_and_the_next_commit_is_sent():
    async def story() -> None:
        cluster = Cluster(answer=ErrorCode.NOT_COORDINATOR)
        group = Committing(cluster)
        group.commit(1, {"a": {0: 1}})
        await asyncio.sleep(0)
        group.commit(2, {"a": {0: 2}})
        group.commit(3, {"a": {0: 3}})
        cluster.may_answer.set()
        await group.end()
        assert group.answers == dict.fromkeys([1, 2, 3], ErrorCode.NOT_COORDINATOR)
        group.commit(4, {"a": {0: 4}})
        await group.end()
        assert len(cluster.asked) == 3

    asyncio.run(story())
