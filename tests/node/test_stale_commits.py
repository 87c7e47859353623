"""Commits that name a member epoch that is not the member's, over the wire: how they are refused, and what is told."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.cli.source import Source
from coordinator.client.bootstrap import Bootstrap
from coordinator.explain.history import GroupHistory
from coordinator.explain.notes import notes
from coordinator.explain.story import sentence
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

_NAMES = (f"stale-commits-{number}" for number in count(1))
SECONDS = 20


class Consumer:
    """A member of a group that is named as its topic, which has two partitions."""

    def __init__(self, client: WireClient, name: str, member_id: str) -> None:
        self._client = client
        self._name = name
        self._member_id = member_id
        (topic,) = client.request(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 12).topics
        self._topic_id = topic.topic_id
        self.epoch = 0
        self.owned: list[int] = []

    def join(self) -> None:
        said = {"subscribed_topic_names": [self._name], "rebalance_timeout_ms": 30_000, "topic_partitions": []}
        self._take(self._heartbeat(**said))

    def beat(self) -> None:
        owned = [TopicPartitions(topic_id=self._topic_id, partitions=self.owned)] if self.owned else []
        self._take(self._heartbeat(topic_partitions=owned))

    def _heartbeat(self, **said: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._name, member_id=self._member_id, member_epoch=self.epoch, **said
        )
        answer = self._client.request(request, 1)
        assert answer.error_code == NONE
        return answer

    def _take(self, answer: Any) -> None:
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = [
                index for topic_partition in answer.assignment.topic_partitions for index in topic_partition.partitions
            ]

    def commit(self, partition: int, epoch: int) -> ErrorCode:
        offset = OffsetCommitRequestPartition(partition_index=partition, committed_offset=1)
        request = OffsetCommitRequest(
            group_id=self._name,
            generation_id_or_member_epoch=epoch,
            member_id=self._member_id,
            topics=[OffsetCommitRequestTopic(name=self._name, partitions=[offset])],
        )
        (topic,) = self._client.request(request, 9).topics
        return ErrorCode(topic.partitions[0].error_code)


@pytest.fixture
def name(server: RunningServer) -> str:
    name = next(_NAMES)
    with WireClient(server.bootstrap) as client:
        client.create_topic(name, 2)
    return name


@pytest.fixture
def pair(server: RunningServer, name: str) -> Iterator[tuple[Consumer, Consumer]]:
    with WireClient(server.bootstrap, "one") as one, WireClient(server.bootstrap, "two") as two:
        yield Consumer(one, name, "1" * 22), Consumer(two, name, "2" * 22)


def test_a_commit_of_a_partition_that_was_given_up_is_refused_and_told(
    server: RunningServer, name: str, pair: tuple[Consumer, Consumer]
):
    one, two = pair
    one.join()
    assert (one.owned, one.commit(1, one.epoch)) == ([0, 1], NONE)
    old_epoch = one.epoch
    two.join()

    def gave_up() -> bool:
        one.beat()
        return one.epoch > old_epoch

    wait_for(gave_up, SECONDS, "one to give up a partition")
    (kept,) = one.owned
    assert one.commit(1 - kept, old_epoch) is ErrorCode.STALE_MEMBER_EPOCH
    assert one.commit(kept, old_epoch) is NONE, "it has kept this one all along (KIP-1251)"
    assert one.commit(kept, one.epoch + 1) is ErrorCode.STALE_MEMBER_EPOCH

    def settled() -> GroupHistory | None:
        for member in pair:
            member.beat()
        history = Source(Bootstrap(server.bootstrap)).read(name).history
        return history if history.state == "Stable" and history.generation_id > old_epoch else None

    history = wait_for(settled, SECONDS, "the group to be stable")
    assert history is not None
    latest = history.latest_stable
    assert latest is not None
    assert (latest.generation_id, latest.commits_rejected) == (one.epoch, 2)
    assert "2 offset commits were rejected meanwhile." in sentence(history, latest)
    refused = [note.text for note in notes(history) if "an offset commit by one (127.0.0.1" in note.text]
    assert len(refused) == 1, "the second one is only counted"
    assert f"was refused: member epoch {old_epoch}, which it named, is not its own" in refused[0]
