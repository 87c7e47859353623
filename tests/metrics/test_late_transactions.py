"""The metrics of transactions that stay open."""

import asyncio

from coordinator.metrics.late_transactions import LATE_TRANSACTION_BUFFER_MS, LateTransactions, find_late_transactions
from tests.transactions.world import World

TIMEOUT_MAX_MS = 900_000
LATE_MS = TIMEOUT_MAX_MS + LATE_TRANSACTION_BUFFER_MS


def found(world: World) -> LateTransactions:
    async def pause() -> None:
        return

    oldest = world.broker.producers.oldest_transactions
    return asyncio.run(find_late_transactions(oldest, TIMEOUT_MAX_MS, world.now_ms(), pause))


def test_the_oldest_transaction_of_each_partition_counts_from_its_last_batch():
    world = World({"transaction.abort.timed.out.transaction.cleanup.interval.ms": "2147483647"})
    assert found(world) == LateTransactions()
    first, second = world.initialize("first").producer_id, world.initialize("second").producer_id
    world.produce("first", first, 0, 0)
    world.advance(1_000)
    world.produce("second", second, 0, 0)
    assert found(world) == LateTransactions(0, 1.0)
    world.produce("first", first, 0, 1)
    world.advance(LATE_MS)
    assert found(world) == LateTransactions(0, LATE_MS / 1000)
    world.advance(1)
    assert found(world) == LateTransactions(1, (LATE_MS + 1) / 1000)
    world.produce("second", second, 0, 0, partition=1)
    world.end("first", first, 0, committed=True)
    assert found(world).late_partitions == 1, "the second one is the oldest there now"
    world.end("second", second, 0, committed=False)
    assert found(world) == LateTransactions()
