"""The async form: the same answers, awaited, while the loop of the test goes on."""

import asyncio
import threading

import pytest

from coordinator.audit import schema
from coordinator.testing import AsyncCoordinator, TestingError, WaitTimeout
from tests.wire_client import WireClient, join_request


def test_a_test_in_asyncio_asks_the_same():
    async def play() -> None:
        async with AsyncCoordinator({"group.max.size": 2}) as server:
            await server.create_topic("orders", partitions=2)
            assert await server.produce("orders", ["1", "2"]) == [(0, 0), (1, 0)]
            client = WireClient(server.bootstrap, "c")
            member_id = await asyncio.to_thread(client.join_alone, "g")
            group = server.group("g")
            assert (await group.describe()).members[0].member_id == member_id
            await group.assert_rebalances(at_most=1, causes={"new_member"})
            await group.configure({"share.delivery.count.limit": 3})
            await server.assert_delivered("g", records=0)
            with pytest.raises(AssertionError, match="delivered no record"):
                await group.assert_delivered(at_least=1)
            assert isinstance((await server.events("g"))[0], schema.GroupCreated)
            assert "c (127.0.0.1) joined" in await server.why("g")
            await server.restart()
            client.socket.close()
            await server.advance(seconds=60)
            assert (await group.wait_for("Empty")).generation_id == 2
            with pytest.raises(WaitTimeout):
                await group.wait_for("Stable", timeout=0.01)
            with pytest.raises(AssertionError, match="rebalanced 2 times"):
                await server.assert_rebalances("g", at_most=1)
        with pytest.raises(TestingError, match="does not run"):
            await group.describe()

    threads = threading.active_count()
    asyncio.run(play())
    assert threading.active_count() <= threads + 1  # the pool of asyncio.to_thread ends later


def test_faults_are_awaited():
    async def play() -> None:
        async with AsyncCoordinator() as server:
            barrier = await server.faults.hold("JoinGroup", group="g")
            with WireClient(server.bootstrap) as client:
                sent = client.send(join_request("g"), 3)
                assert await barrier.wait_for(1) == 1
                assert await barrier.release() == 1
                assert client.receive(sent).error_code == 0
            assert await barrier.hits() == 1
            await server.faults.assert_all_hit()
            fault = await server.faults.delay("Fetch", ms=5)
            with pytest.raises(AssertionError, match="1 fault was never hit: delay api=Fetch ms=5"):
                await server.faults.assert_all_hit()
            await fault.remove()
            await server.faults.clear()
            await server.faults.assert_all_hit()

    asyncio.run(play())


def test_a_wait_does_not_hold_up_the_loop_of_the_test():
    async def play() -> None:
        async with AsyncCoordinator() as server:
            waiting = asyncio.create_task(server.group("g").wait_for("Stable"))
            client = WireClient(server.bootstrap)
            await asyncio.to_thread(client.join_alone, "g")
            assert (await waiting).state == "Stable"
            client.socket.close()

    asyncio.run(play())
