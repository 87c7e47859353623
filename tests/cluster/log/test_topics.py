"""The topics of the nodes' log: waited for after they were created."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.create_topics import CreateTopicsResponse
from _wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.log import topics
from coordinator.cluster.log.topics import TopicError, log_topics, prepare_topics


class Cluster:
    """Its topics are there after so many questions, of which those numbered in `unanswered` are not answered."""

    controller_id = -1

    def __init__(self, there_after: int, unanswered: tuple[int, ...] = ()) -> None:
        self.by_id: dict[int, Any] = {}
        self.there_after = there_after
        self.unanswered = unanswered
        self.questions = 0

    async def refresh(self, names: list[str]) -> MetadataResponse:
        self.questions += 1
        if self.questions in self.unanswered:
            raise BrokerError("away")
        error = ErrorCode.NONE if self.questions > self.there_after else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partitions = [MetadataResponsePartition(partition_index=0, leader_id=0)]
        return MetadataResponse(
            topics=[MetadataResponseTopic(name=name, error_code=error, partitions=partitions) for name in names]
        )

    async def any_connection(self) -> Any:
        async def request(message: Any, version_max: int, timeout_seconds: float = 0) -> Any:
            if self.questions > self.there_after:
                raise BrokerError("its settings are read when it is there")
            return CreateTopicsResponse()

        return SimpleNamespace(request=request)


def prepare(cluster: Cluster) -> None:
    brokers: Any = cluster
    asyncio.run(prepare_topics(brokers, log_topics(1, 1_000), 1, 1))


def test_topics_are_waited_for_also_while_no_broker_answers() -> None:
    cluster = Cluster(there_after=3, unanswered=(3,))
    with pytest.raises(BrokerError, match="settings are read"):
        prepare(cluster)
    assert cluster.questions == 4


def test_topics_that_do_not_come_end_the_start_with_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topics, "CREATED_WITHIN_SECONDS", 0)
    with pytest.raises(TopicError, match="__group_membership and __group_audit are not there"):
        prepare(Cluster(there_after=1_000))
