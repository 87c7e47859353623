"""Making of the coordinators of a node: that of groups and that of transactions, each with its shards."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from _wire.compression import COMPRESSIONS
from _wire.errors import ErrorCode
from coordinator.audit.projector import AuditProjector
from coordinator.broker.append_notifier import AppendNotifier
from coordinator.broker.partitions import Partitions
from coordinator.broker.transaction_markers import MarkerWriter
from coordinator.config.audit_keys import AUDIT_CHAIN, AUDIT_COMPRESSION_TYPE, GROUP_AUDIT_LINGER_MS
from coordinator.config.group_keys import OFFSETS_LOAD_BUFFER_SIZE, OFFSETS_TOPIC_COMPRESSION_CODEC
from coordinator.config.server_keys import NODE_ID
from coordinator.config.transaction_keys import TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE
from coordinator.core.decision import Environment
from coordinator.core.stored import TransactionMarker
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.checked import make_state_machine
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.sessions import SessionTable
from coordinator.groups.store import LogStore
from coordinator.groups.timers import GroupTimers
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.runtime.shard import Shard, ShardState
from coordinator.server.metered import metered_shard
from coordinator.server.node_loop import NodeLoop
from coordinator.server.pending_requests import PendingRequests
from coordinator.timers.wheel import TimerWheel
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.markers import MarkerSender
from coordinator.transactions.state_machine import TransactionStateMachine
from coordinator.transactions.store import TransactionStore

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics

WhenDurable = Callable[[Callable[[None], None]], None]
"""Calls a function when what was appended so far is durable (LogFlusher.when_durable)."""


def make_group_coordinator(
    partitions: Partitions,
    environment: Environment,
    notifier: AppendNotifier,
    pending: PendingRequests,
    sessions: SessionTable,
    *,
    wheel: TimerWheel,
    request_iteration: Callable[[], None],
    coordinator_epoch: int,
    checkpoints: AuditCheckpoints,
    when_durable: WhenDurable | None,
    metrics: "NodeMetrics | None",
) -> GroupCoordinator:
    """Make the group coordinator, with a shard for each partition of __consumer_offsets.

    `when_durable` is None if records count before they are flushed.
    """
    config = environment.config
    timers = GroupTimers(wheel)
    make_shard = Shard if metrics is None else metered_shard(metrics)
    shards = []
    for index in range(environment.topics.partition_count(OFFSETS_TOPIC)):
        store = LogStore(
            partitions.get(OFFSETS_TOPIC, index),
            partitions.get(AUDIT_TOPIC, index),
            partitions.leader_epoch,
            notifier.mark_appended,
            COMPRESSIONS[config[OFFSETS_TOPIC_COMPRESSION_CODEC]],
            config[OFFSETS_LOAD_BUFFER_SIZE],
            checkpoints,
            config[AUDIT_COMPRESSION_TYPE],
            config[AUDIT_CHAIN],
            is_lingering=config[GROUP_AUDIT_LINGER_MS] > 0,
            meter=None if metrics is None else metrics.runtime.appends,
            when_durable=when_durable,
            is_disk_failure=partitions.is_disk_failure,
            wall=environment.wall,
        )
        audit = AuditProjector(config[NODE_ID], coordinator_epoch, cluster=partitions)
        machine = make_state_machine(audit, sessions, timers, environment.wall)
        shards.append(make_shard(index, machine, store, pending))
    return GroupCoordinator(shards, wheel, timers, sessions, environment, checkpoints, request_iteration)


def unload_offline_groups(partitions: Partitions, groups: GroupCoordinator) -> None:
    """Unload the shards whose partitions have lost their leader: a log directory has failed."""
    for shard in groups.shards:
        index = shard.partition
        is_led = partitions.leads(OFFSETS_TOPIC, index) and partitions.leads(AUDIT_TOPIC, index)
        if shard.state is not ShardState.INACTIVE and not is_led:
            groups.unload(index)


def unload_offline_transactions(partitions: Partitions, transactions: TransactionCoordinator) -> None:
    """The same for the transaction coordinator."""
    for shard in transactions.shards:
        if shard.state is not ShardState.INACTIVE and not partitions.leads(TRANSACTIONS_TOPIC, shard.partition):
            transactions.unload(shard.partition)


def make_transaction_coordinator(
    partitions: Partitions,
    environment: Environment,
    notifier: AppendNotifier,
    pending: PendingRequests,
    loop: NodeLoop,
    *,
    marker_writer: MarkerWriter,
    complete: Callable[[int, TransactionMarker, Callable[[ErrorCode], None]], None],
    when_durable: WhenDurable | None,
) -> TransactionCoordinator:
    """Make the transaction coordinator, which makes a shard for each partition of __transaction_state.

    `complete` brings the marker of a transaction to the offsets that it has committed. `when_durable` is None if
    records count before they are flushed.
    """
    addresses = environment.addresses
    assert addresses is not None
    load_bytes = environment.config[TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE]

    def make_shard(index: int) -> Shard[TransactionStateMachine]:
        log = partitions.get(TRANSACTIONS_TOPIC, index)
        store = TransactionStore(
            log,
            partitions.leader_epoch,
            notifier.mark_appended,
            load_bytes,
            when_durable,
            partitions.is_disk_failure,
            environment.wall,
        )
        machine = TransactionStateMachine(
            loop.wheel,
            addresses.transactional_ids,
            partial(getattr, store, "batch_bytes_max"),
            environment.wall,
            environment.producer_ids,
        )
        return Shard(index, machine, store, pending)

    markers = MarkerSender(
        marker_writer.write_own,
        complete,
        loop.slices,
        loop.scheduler,
        loop.now_ms,
        partitions.leader_epoch,
        when_durable,
        partitions.leads,
    )
    return TransactionCoordinator(
        make_shard, loop.wheel, markers, pending, environment, loop.scheduler.request_iteration
    )
