"""What is known of the topics of a cluster, with a cluster that answers when the test says so."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from _wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.groups import topics
from coordinator.cluster.groups.topics import ClusterTopics

ORDERS = "orders"


class ScriptedBrokers:
    """Has topics, by the count of their partitions, and counts what is asked."""

    def __init__(self) -> None:
        self.partitions = {ORDERS: 4}
        self.asked: list[list[str]] = []
        self.answers = asyncio.Event()
        self.answers.set()

    async def refresh(self, names: list[str]) -> MetadataResponse:
        self.asked.append(names)
        counts = {name: self.partitions[name] for name in names}
        await self.answers.wait()
        return MetadataResponse(topics=[_topic(name, count) for name, count in counts.items()])


def _topic(name: str, count: int) -> MetadataResponseTopic:
    partitions = [MetadataResponsePartition(partition_index=index) for index in range(count)]
    return MetadataResponseTopic(name=name, topic_id=b"0123456789abcdef", partitions=partitions)


async def known(cluster: ClusterTopics, *, fresh: bool = False) -> int:
    """The partitions of ORDERS, once they are known."""
    answered = asyncio.get_running_loop().create_future()
    cluster.know([ORDERS], answered.set_result, fresh=fresh)
    await answered
    return cluster.partition_count(ORDERS)


def played(play: Callable[[ScriptedBrokers, ClusterTopics], Awaitable[None]]) -> None:
    async def main() -> None:
        brokers = ScriptedBrokers()
        cluster = ClusterTopics(cast(Brokers, brokers))
        cluster.start()
        try:
            async with asyncio.timeout(10):
                await play(brokers, cluster)
        finally:
            cluster.stop()

    asyncio.run(main())


def test_a_known_topic_is_not_asked_for_again():
    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        assert await known(cluster) == 4
        brokers.partitions[ORDERS] = 6
        assert await known(cluster) == 4
        assert brokers.asked == [[ORDERS]]

    played(play)


def test_who_wants_it_fresh_learns_that_a_topic_has_grown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topics, "FRESH_SECONDS", 0)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        assert await known(cluster) == 4
        brokers.partitions[ORDERS] = 6
        assert await known(cluster, fresh=True) == 6
        assert cluster.topics_version == 2

    played(play)


def test_members_that_join_together_cause_one_request(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topics, "FRESH_SECONDS", 60)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        assert await asyncio.gather(*[known(cluster, fresh=True) for _ in range(50)]) == [4] * 50
        assert await known(cluster, fresh=True) == 4
        assert brokers.asked == [[ORDERS]]

    played(play)


def test_a_response_to_an_earlier_request_is_not_fresh(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topics, "FRESH_SECONDS", 0)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        brokers.answers.clear()
        first: asyncio.Task[Any] = asyncio.create_task(known(cluster))
        while not brokers.asked:
            await asyncio.sleep(0)
        brokers.partitions[ORDERS] = 6
        second = asyncio.create_task(known(cluster, fresh=True))
        await asyncio.sleep(0)
        brokers.answers.set()
        assert await second == 6
        await first
        assert brokers.asked == [[ORDERS], [ORDERS]]

    played(play)


def test_known_topics_are_refreshed_though_another_one_is_always_wanted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topics, "REFRESH_SECONDS", 0.05)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        assert await known(cluster) == 4
        brokers.partitions = {ORDERS: 6, "wanted": 0}
        while cluster.partition_count(ORDERS) == 4:
            cluster._want("wanted")
            await asyncio.sleep(0)

    played(play)
