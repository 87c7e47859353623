"""The commits of a group that come while one of them is under way, sent as one.

A broker handles the requests of a connection one after the other, and writes a commit before it answers: a group whose
commits left one by one would have as many in a second as the broker has writes.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from coordinator.cluster.sentinels.membership import Sentinel

MERGED_FROM_VERSION: Final = 5
"""Before it, a request has times of its own, for the retention."""
TOPIC_IDS_VERSION: Final = 10
"""From this version on topics have ids in place of names."""
PARTITIONS_MAX: Final = 200
"""In a request of several commits: a broker writes it as one batch, and metadata of an offset may have 4 KiB."""

Answered: TypeAlias = Callable[[Any], None]
Send: TypeAlias = Callable[[Sentinel, OffsetCommitRequest, int], Coroutine[Any, Any, Any]]
"""Sends a commit as the sentinel; the result is the response of the cluster, or an error code."""
Where: TypeAlias = tuple[str | bytes | None, int]
"""A topic, by what the version of the request names it, and the partition."""


class Commit(msgspec.Struct, frozen=True):
    """A commit that was checked, and who waits for its response."""

    sentinel: Sentinel
    request: OffsetCommitRequest
    version: int
    answered: Answered

    @property
    def partitions(self) -> int:
        return sum(len(topic.partitions) for topic in self.request.topics)

    def may_follow(self, other: "Commit") -> bool:
        """Whether both can be sent as one."""
        is_same = self.sentinel is other.sentinel and self.version == other.version
        return is_same and self.version >= MERGED_FROM_VERSION


class MergedCommits:
    """One request of each group at a time, in the order in which its commits came."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._waiting: dict[str, deque[Commit]] = {}

    def add(self, commit: Commit) -> Coroutine[Any, Any, None] | None:
        """Queue a commit. What is returned sends those of the group; None: that is under way."""
        group_id = commit.request.group_id
        waiting = self._waiting.get(group_id)
        if waiting is not None:
            waiting.append(commit)
            return None
        self._waiting[group_id] = deque([commit])
        return self._send_all(group_id)

    async def _send_all(self, group_id: str) -> None:
        waiting = self._waiting[group_id]
        try:
            while waiting:
                commits = _next(waiting)
                first = commits[0]
                response = await self._send(first.sentinel, merged(commits), first.version)
                for commit in commits:
                    is_whole = len(commits) == 1 or isinstance(response, ErrorCode)
                    commit.answered(response if is_whole else part_of(response, commit))
        finally:
            del self._waiting[group_id]


def _next(waiting: deque[Commit]) -> list[Commit]:
    """Take the first ones that can be sent as one."""
    commits = [waiting.popleft()]
    partitions = commits[0].partitions
    while waiting and waiting[0].may_follow(commits[0]):
        partitions += waiting[0].partitions
        if partitions > PARTITIONS_MAX:
            break
        commits.append(waiting.popleft())
    return commits


def merged(commits: Sequence[Commit]) -> OffsetCommitRequest:
    """The commits as one request. Of a partition that is in several of them, the last one counts."""
    request = commits[0].request
    if len(commits) == 1:
        return request
    topics: dict[str | bytes | None, OffsetCommitRequestTopic] = {}
    partitions: dict[str | bytes | None, dict[int, Any]] = {}
    for commit in commits:
        for topic in commit.request.topics:
            key = _key(topic, commit.version)
            topics[key] = topic
            partitions.setdefault(key, {}).update(
                (partition.partition_index, partition) for partition in topic.partitions
            )
    return OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic.name, topic_id=topic.topic_id, partitions=list(partitions[key].values())
            )
            for key, topic in topics.items()
        ],
    )


def part_of(response: OffsetCommitResponse, commit: Commit) -> OffsetCommitResponse:
    """What the response to several commits says of one of them."""
    errors: dict[Where, int] = {
        (_key(topic, commit.version), partition.partition_index): partition.error_code
        for topic in response.topics
        for partition in topic.partitions
    }

    def answer(topic: OffsetCommitRequestTopic, partition: int) -> OffsetCommitResponsePartition:
        error = errors.get((_key(topic, commit.version), partition), ErrorCode.UNKNOWN_SERVER_ERROR)
        return OffsetCommitResponsePartition(partition_index=partition, error_code=error)

    return OffsetCommitResponse(
        throttle_time_ms=response.throttle_time_ms,
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[answer(topic, partition.partition_index) for partition in topic.partitions],
            )
            for topic in commit.request.topics
        ],
    )


def _key(topic: OffsetCommitRequestTopic | OffsetCommitResponseTopic, version: int) -> str | bytes | None:
    return topic.topic_id if version >= TOPIC_IDS_VERSION else topic.name
