"""Names of topics by their ids, of a cluster that answers when the test says so."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import cast

from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.groups.topic_ids import IDS_AT_ONCE, IDS_MAX, REMEMBERED_MAX, WAITING_MAX, TopicIds

ORDERS = b"o" * 16


def ids(count: int, first: int = 0) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in range(first, first + count)]


class ScriptedBrokers:
    """All topics but ORDERS are unknown, unless `has_all`."""

    def __init__(self) -> None:
        self.asked: list[Collection[bytes]] = []
        self.is_reachable = True
        self.has_all = False

    async def names_of(self, topic_ids: Collection[bytes]) -> dict[bytes, str]:
        self.asked.append(topic_ids)
        await asyncio.sleep(0)
        if not self.is_reachable:
            raise BrokerError("gone")
        return {
            topic_id: "orders" if topic_id == ORDERS else topic_id.hex()
            for topic_id in topic_ids
            if self.has_all or topic_id == ORDERS
        }


def played(play: Callable[[ScriptedBrokers, TopicIds], Awaitable[None]]) -> None:
    async def main() -> None:
        brokers = ScriptedBrokers()
        topic_ids = TopicIds(cast(Brokers, brokers))
        async with asyncio.timeout(60):
            await play(brokers, topic_ids)

    asyncio.run(main())


async def names(topic_ids: TopicIds, asked: Collection[bytes]) -> Mapping[bytes, str] | None:
    answered: asyncio.Future[Mapping[bytes, str] | None] = asyncio.get_running_loop().create_future()
    topic_ids.find(asked, answered.set_result)
    return await answered


def test_a_name_is_asked_for_once_and_an_unknown_id_each_time():
    async def play(brokers: ScriptedBrokers, topic_ids: TopicIds) -> None:
        (unknown,) = ids(1)
        for _ in range(3):
            assert await names(topic_ids, [ORDERS, unknown]) == {ORDERS: "orders"}
        assert await names(topic_ids, [ORDERS]) == {ORDERS: "orders"}
        assert [set(each) for each in brokers.asked] == [{ORDERS, unknown}, {unknown}, {unknown}]

    played(play)


def test_what_cannot_be_asked_for_is_not_taken_for_unknown():
    async def play(brokers: ScriptedBrokers, topic_ids: TopicIds) -> None:
        brokers.is_reachable = False
        assert await names(topic_ids, [ORDERS, *ids(3 * IDS_AT_ONCE)]) is None
        assert topic_ids._waiting == 0
        brokers.is_reachable = True
        assert await names(topic_ids, [ORDERS]) == {ORDERS: "orders"}

    played(play)


def test_one_id_does_not_wait_for_the_many_of_others():
    async def play(brokers: ScriptedBrokers, topic_ids: TopicIds) -> None:
        many = asyncio.create_task(names(topic_ids, ids(20 * IDS_AT_ONCE)))
        await asyncio.sleep(0)
        assert await names(topic_ids, [ORDERS]) == {ORDERS: "orders"}
        assert len(brokers.asked) <= 3
        assert not many.done()
        assert await many == {}
        assert all(len(each) <= IDS_AT_ONCE for each in brokers.asked)

    played(play)


def test_ids_that_wait_and_names_that_are_kept_are_bounded():
    async def play(brokers: ScriptedBrokers, topic_ids: TopicIds) -> None:
        assert await names(topic_ids, ids(IDS_MAX + 1)) is None
        brokers.has_all = True
        waiting = [asyncio.create_task(names(topic_ids, ids(IDS_MAX, part))) for part in range(0, WAITING_MAX, IDS_MAX)]
        await asyncio.sleep(0)
        assert await names(topic_ids, [ORDERS]) is None
        assert all(found is not None and len(found) == IDS_MAX for found in await asyncio.gather(*waiting))
        assert len(topic_ids._names) == REMEMBERED_MAX
        assert topic_ids._waiting == 0
        assert await names(topic_ids, [ORDERS]) == {ORDERS: "orders"}

    played(play)
