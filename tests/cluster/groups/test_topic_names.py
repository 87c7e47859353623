"""The names of all topics, with a cluster that answers when the test says so."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from _wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.connection import LongResponse
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.groups import topic_names
from coordinator.cluster.groups.topic_names import TopicNames
from coordinator.runtime.slices import Slices

VERSION = 11


class ListingBrokers:
    """Has topics, by their ids, and counts how often they are listed."""

    def __init__(self) -> None:
        self.ids = {"orders": b"o" * 16, "payments": b"p" * 16}
        self.listed = 0
        self.is_long = False
        self.answers = True

    async def list_topics(self) -> Any:
        self.listed += 1
        await asyncio.sleep(0)
        if not self.answers:
            raise BrokerError("no broker answers")
        partitions = [MetadataResponsePartition(partition_index=0)]
        response = MetadataResponse(
            topics=[
                MetadataResponseTopic(name=name, topic_id=topic_id, partitions=partitions)
                for name, topic_id in self.ids.items()
            ]
        )
        if not self.is_long:
            return response
        encoded = response.encode(VERSION)

        def decode(*, pause: Any) -> MetadataResponse:
            return MetadataResponse.decode(encoded, VERSION, 0, pause=pause)

        return LongResponse(len(encoded), decode)


async def known(names: TopicNames, *, fresh: bool = False) -> bool:
    listed = asyncio.get_running_loop().create_future()
    names.know(listed.set_result, fresh=fresh)
    are_listed: bool = await listed
    return are_listed


def played(play: Callable[[ListingBrokers, TopicNames], Awaitable[None]]) -> None:
    async def main() -> None:
        brokers = ListingBrokers()
        names = TopicNames(cast(Brokers, brokers), Slices(asyncio.get_running_loop().call_soon))
        try:
            async with asyncio.timeout(10):
                await play(brokers, names)
        finally:
            names.stop()

    asyncio.run(main())


@pytest.mark.parametrize("is_long", [False, True])
def test_the_names_are_listed_when_they_are_needed(is_long: bool):
    async def play(brokers: ListingBrokers, names: TopicNames) -> None:
        brokers.is_long = is_long
        assert not names.are_listed(fresh=False)
        assert await known(names)
        assert set(names.topics) == {"orders", "payments"}
        assert names.topics_version == 1

    played(play)


def test_members_that_join_together_cause_one_request():
    async def play(brokers: ListingBrokers, names: TopicNames) -> None:
        assert await asyncio.gather(*[known(names, fresh=True) for _ in range(20)]) == [True] * 20
        assert await known(names, fresh=True)
        assert brokers.listed == 1

    played(play)


def test_a_new_regular_expression_lists_them_again_and_finds_a_new_topic(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topic_names, "FRESH_SECONDS", 0)

    async def play(brokers: ListingBrokers, names: TopicNames) -> None:
        assert await known(names)
        brokers.ids["returns"] = b"r" * 16
        assert await known(names)
        assert names.topics_version == 1, "what is known is enough for members that have subscribed before"
        assert await known(names, fresh=True)
        assert (names.topics_version, "returns" in names.topics) == (2, True)

    played(play)


def test_a_topic_that_was_made_again_is_a_new_one_and_one_that_is_gone_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(topic_names, "FRESH_SECONDS", 0)

    async def play(brokers: ListingBrokers, names: TopicNames) -> None:
        assert await known(names)
        del brokers.ids["payments"]
        assert await known(names, fresh=True)
        assert (names.topics_version, list(names.topics)) == (1, ["orders"])
        brokers.ids["orders"] = b"n" * 16
        assert await known(names, fresh=True)
        assert names.topics_version == 2

    played(play)


def test_who_asks_is_told_that_the_cluster_does_not_answer():
    async def play(brokers: ListingBrokers, names: TopicNames) -> None:
        brokers.answers = False
        assert not await known(names)
        brokers.answers = True
        assert await known(names)

    played(play)


def test_names_are_listed_again_while_they_are_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(topic_names, "LISTED_SECONDS", 0)

    async def play(brokers: ListingBrokers, names: TopicNames) -> None:
        assert await known(names)
        while brokers.listed < 3:
            await asyncio.sleep(0)
        names._used_at = topic_names.NEVER
        listed = brokers.listed
        for _ in range(50):
            await asyncio.sleep(0)
        assert brokers.listed <= listed + 1, "one may have been under way"

    played(play)
