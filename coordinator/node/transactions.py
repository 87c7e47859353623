"""Making of the transaction coordinator of a node, with its shards."""

from collections.abc import Callable
from functools import partial

from _wire.errors import ErrorCode
from coordinator.broker.data.transaction_markers import MarkerWriter
from coordinator.broker.partitions import Partitions
from coordinator.config.transaction_keys import TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE
from coordinator.core.decision import Environment
from coordinator.core.stored import TransactionMarker
from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.front.pending_requests import PendingRequests
from coordinator.internal_topics import TRANSACTIONS_TOPIC
from coordinator.node.storage import Storage
from coordinator.runtime.coordinator_runtime import MakeShard
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard, ShardState
from coordinator.runtime.store import LogStore
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.markers import MarkerSender
from coordinator.transactions.state_machine import TransactionStateMachine
from coordinator.transactions.stream import TransactionStream


def make_transaction_coordinator(
    loop: NodeLoop,
    storage: Storage,
    groups: GroupParts,
    marker_writer: MarkerWriter,
    complete: Callable[[int, TransactionMarker, Callable[[ErrorCode], None]], None],
) -> TransactionCoordinator:
    """Make the transaction coordinator, which makes a shard for each partition of __transaction_state.

    `complete` brings the marker of a transaction to the offsets that it has committed.
    """
    timers = KeyTimers(loop.wheel, TRANSACTIONS_TOPIC)
    markers = MarkerSender(
        marker_writer.write_own,
        complete,
        loop.slices,
        loop.delays,
        loop.now_ms,
        coordinator_epoch=storage.partitions.leader_epoch,
        when_durable=storage.when_durable,
        leads=storage.partitions.leads,
    )
    return TransactionCoordinator(
        _shard_maker(storage, groups.environment, groups.pending, timers),
        groups.environment,
        loop.wheel,
        timers,
        markers=markers,
        requests=groups.pending,
        request_iteration=loop.scheduler.request_iteration,
    )


def _shard_maker(
    storage: Storage, environment: Environment, pending: PendingRequests, timers: KeyTimers
) -> MakeShard[TransactionStateMachine]:
    addresses = environment.addresses
    assert addresses is not None
    load_bytes = environment.config[TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE]
    partitions = storage.partitions

    def make_shard(index: int, request_drain: RequestDrain) -> Shard[TransactionStateMachine]:
        store = LogStore(
            TransactionStream(partitions.get(TRANSACTIONS_TOPIC, index), partitions.leader_epoch),
            appended=storage.notifier.mark_appended,
            load_bytes=load_bytes,
            when_durable=storage.when_durable,
            is_disk_failure=partitions.is_disk_failure,
            wall=environment.wall,
        )
        machine = TransactionStateMachine(
            environment.producer_ids,
            addresses.transactional_ids,
            partial(getattr, store, "batch_bytes_max"),
            environment.wall,
        )
        return Shard(index, machine, store, timers, pending, request_drain=request_drain, local=store)

    return make_shard


def unload_offline_transactions(partitions: Partitions, transactions: TransactionCoordinator) -> None:
    """Unload the shards whose partitions have lost their leader: a log directory has failed."""
    for shard in transactions.shards:
        if shard.state is not ShardState.INACTIVE and not partitions.leads(TRANSACTIONS_TOPIC, shard.partition):
            transactions.unload(shard.partition)
