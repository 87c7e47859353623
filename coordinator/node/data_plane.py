"""Building of what a node needs to take and hand out the records of clients, with transactions."""

from collections.abc import Callable
from functools import partial

import msgspec

from coordinator.broker.data.fetch import FetchService, FetchTimeoutKey
from coordinator.broker.data.produce import ProduceService
from coordinator.broker.data.producer_directory import ProducerDirectory
from coordinator.broker.data.producers import ProducerStates
from coordinator.broker.data.recompression_threads import RecompressionThreads
from coordinator.broker.data.transaction_markers import MarkerWriter
from coordinator.broker.partitions import Partitions
from coordinator.config.server_keys import FETCH_MAX_BYTES
from coordinator.config.settings import Config
from coordinator.front.group_context import GroupContext
from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.internal_topics import TRANSACTIONS_TOPIC
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.node.node_threads import NodeThreads
from coordinator.node.offsets_completion import complete_offsets
from coordinator.node.storage import Storage
from coordinator.node.transactions import make_transaction_coordinator, unload_offline_transactions
from coordinator.runtime.slices import Steps
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.partition_adder import PartitionAdder


class DataPlane(msgspec.Struct, frozen=True, kw_only=True):
    """Produce, Fetch and transactions. A node can do without."""

    producers: ProducerDirectory
    load_producers: Callable[[PartitionLog], Steps[ProducerStates]]
    """Reads what is not known yet of the producers of a log; may raise OSError."""
    marker_writer: MarkerWriter
    transactions: TransactionCoordinator
    partition_adder: PartitionAdder
    produce_service: ProduceService
    recompression_threads: RecompressionThreads
    fetch_service: FetchService
    start_transactions: Callable[[], None]
    """Begins to coordinate transactions if `__transaction_state` exists and it was not done yet."""

    def expire_fetch(self, key: object, now_ms: int) -> None:
        """Answer a Fetch, if this is the timer key of its `max_wait_ms`."""
        if isinstance(key, FetchTimeoutKey):
            self.fetch_service.expire(key.fetch)


def make_data_plane(
    config: Config,
    loop: NodeLoop,
    threads: NodeThreads,
    storage: Storage,
    groups: GroupParts,
) -> DataPlane:
    """Make the services of Produce and Fetch, and the transaction coordinator, which is started later."""
    partitions, notifier, now_ms, wall_ms = storage.partitions, storage.notifier, loop.now_ms, loop.wall_ms
    producers = ProducerDirectory(config, loop.scheduler, now_ms, wall_ms)

    def load_producers(log: PartitionLog) -> Steps[ProducerStates]:
        return producers.load(log, wall_ms())

    context = GroupContext(config=config, coordinator=groups.coordinator, pending=groups.pending)
    marker_writer = MarkerWriter(partitions, producers, notifier, wall_ms)
    transactions = make_transaction_coordinator(
        loop, storage, groups, marker_writer, partial(complete_offsets, context)
    )
    storage.failures.add_listener(partial(unload_offline_transactions, partitions, transactions))
    return DataPlane(
        producers=producers,
        load_producers=load_producers,
        marker_writer=marker_writer,
        transactions=transactions,
        partition_adder=PartitionAdder(transactions.add_partitions, loop.delays, now_ms, config),
        produce_service=ProduceService(storage.image, partitions, notifier, config, producers),
        recompression_threads=RecompressionThreads(threads.compression),
        fetch_service=FetchService(
            storage.image,
            partitions,
            notifier,
            loop.scheduler,
            loop.slices,
            max_bytes=config[FETCH_MAX_BYTES],
            load=load_producers,
        ),
        start_transactions=partial(_start_transactions, partitions, transactions, now_ms),
    )


def _start_transactions(
    partitions: Partitions, transactions: TransactionCoordinator, now_ms: Callable[[], int]
) -> None:
    count = partitions.partition_count(TRANSACTIONS_TOPIC)
    if count and not transactions.shards:
        led = [index for index in range(count) if partitions.leads(TRANSACTIONS_TOPIC, index)]
        transactions.start(count, led, now_ms())
