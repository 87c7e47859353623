"""What is known of the topics of a cluster, with a cluster that answers when the test says so."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from _wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.groups import topics
from coordinator.cluster.groups.topics import ClusterTopics

ORDERS = "orders"
ORDERS_ID = b"orders".ljust(16, b"-")


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
    return MetadataResponseTopic(name=name, topic_id=name.encode()[:16].ljust(16, b"-"), partitions=partitions)


async def known(cluster: ClusterTopics, *, fresh: bool = False) -> int:
    """The partitions of ORDERS, once they are known."""
    answered = asyncio.get_running_loop().create_future()
    cluster.know([ORDERS], answered.set_result, fresh=fresh)
    await answered
    return cluster.partition_count(ORDERS)


def played(play: Callable[[ScriptedBrokers, ClusterTopics], Awaitable[None]]) -> None:
    async def main() -> None:
        brokers = ScriptedBrokers()
        cluster = ClusterTopics(cast(Brokers, brokers), MagicMock())
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


def test_a_topic_that_is_gone_or_has_come_is_told_and_one_that_is_asked_for_at_first_is_not(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(topics, "FRESH_SECONDS", 0)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        changes: list[set[str]] = []
        cluster.on_change(lambda: changes.append(cluster.existing([ORDERS])))
        assert await known(cluster) == 4
        assert (changes, cluster.topic_name(ORDERS_ID)) == ([], ORDERS)
        brokers.partitions[ORDERS] = 0
        assert await known(cluster, fresh=True) == 0
        assert (changes, cluster.topic_name(ORDERS_ID)) == ([set()], None)
        brokers.partitions[ORDERS] = 2
        assert await known(cluster, fresh=True) == 2
        assert changes == [set(), {ORDERS}]

    played(play)


def test_names_that_no_topic_has_take_the_place_of_none(monkeypatch: pytest.MonkeyPatch):
    """A consumer group would lose the partitions of a topic that is forgotten."""
    monkeypatch.setattr(topics, "ABSENT_MAX", 10)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        assert await known(cluster) == 4
        for first in range(0, 100, 10):
            made_up = [f"made-up-{number}" for number in range(first, first + 10)]
            brokers.partitions |= dict.fromkeys(made_up, 0)
            answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            cluster.know(made_up, answered.set_result)
            assert await answered
        assert cluster.existing([ORDERS, "made-up-1"]) == {ORDERS}
        assert cluster.partition_count(ORDERS) == 4
        assert len(cluster._absent) == 10

    played(play)


def test_who_waits_is_told_that_the_cluster_does_not_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topics, "ANSWER_SECONDS", 0)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        brokers.answers.clear()
        answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        cluster.know([ORDERS], answered.set_result)
        assert not await answered
        assert not cluster.are_answered([ORDERS])

    played(play)


def test_more_names_than_are_looked_up_together_are_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topics, "ABSENT_MAX", 2)

    async def play(brokers: ScriptedBrokers, cluster: ClusterTopics) -> None:
        answers: list[bool] = []
        brokers.partitions |= {"b": 1, "c": 1}
        cluster.know([ORDERS, "b", "c"], answers.append)
        assert answers == [False]

    played(play)
