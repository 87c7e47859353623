"""Commits and fetches of very many topics in steps: what is answered is what one step answers."""

from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from coordinator.core import error_responses
from coordinator.core.offsets import commit, fetch
from coordinator.core.operation import Answer

TOPICS = 2_000
KNOWN = 700


class Context:
    """That of a request of version 10, where some topics exist."""

    api_version = 10

    @property
    def topics(self) -> Any:
        return self

    def topic_name(self, topic_id: bytes) -> str | None:
        number = int.from_bytes(topic_id, "big")
        return f"t{number}" if number < KNOWN else None

    def partition_count(self, name: str) -> int:
        return 1


def counted(steps: Any) -> tuple[int, Any]:
    """How many steps there were, and their result."""
    count = 1
    while True:
        try:
            next(steps)
            count += 1
        except StopIteration as end:
            return count, end.value


def committing(first: int = 0) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=index) for index in range(2)]
    topics = [
        OffsetCommitRequestTopic(topic_id=number.to_bytes(16, "big"), partitions=partitions)
        for number in range(first, TOPICS)
    ]
    return OffsetCommitRequest(group_id="g", topics=[*topics, topics[0]])


def test_a_commit_is_prepared_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, prepared = counted(commit.prepare(committing(), Context()))  # type: ignore[arg-type]
    assert steps > TOPICS / error_responses.TOPICS_AT_ONCE
    monkeypatch.setattr(commit, "TOPICS_AT_ONCE", 10 * TOPICS)
    at_once = commit.prepare(committing(), Context())  # type: ignore[arg-type]
    assert isinstance(at_once, commit.ExistingTopics)
    assert (prepared.topics, prepared.rejected) == (at_once.topics, at_once.rejected)
    assert len(prepared.topics) == KNOWN + 1 and len(prepared.rejected) == TOPICS


def test_a_commit_of_nothing_that_exists_is_answered_without_its_group() -> None:
    _, prepared = counted(commit.prepare(committing(KNOWN), Context()))  # type: ignore[arg-type]
    assert isinstance(prepared, Answer)
    assert {partition.error_code for topic in prepared.response.topics for partition in topic.partitions} == {
        ErrorCode.UNKNOWN_TOPIC_ID
    }


def test_a_commit_is_refused_in_steps() -> None:
    steps, response = counted(commit.request_error.in_steps(committing(), ErrorCode.NOT_COORDINATOR, 10))
    assert steps > TOPICS / error_responses.TOPICS_AT_ONCE
    assert response == commit.request_error(committing(), ErrorCode.NOT_COORDINATOR, 10)


def test_topics_of_a_fetch_get_their_names_in_steps() -> None:
    topics = [OffsetFetchRequestTopics(topic_id=number.to_bytes(16, "big")) for number in range(TOPICS)]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)])
    steps, named = counted(fetch.prepare(request, Context()))  # type: ignore[arg-type]
    assert steps > TOPICS / error_responses.TOPICS_AT_ONCE
    assert [topic.name for topic in named.groups[0].topics] == [f"t{number}" for number in range(KNOWN)] + [""] * (
        TOPICS - KNOWN
    )
