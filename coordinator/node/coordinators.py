"""Making of the coordinators of a node: that of groups and that of transactions, each with its shards."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from _wire.compression import COMPRESSIONS
from _wire.errors import ErrorCode
from coordinator.broker.append_notifier import AppendNotifier
from coordinator.broker.partitions import Partitions
from coordinator.broker.transaction_markers import MarkerWriter
from coordinator.config.audit_keys import AUDIT_CHAIN, AUDIT_COMPRESSION_TYPE, GROUP_AUDIT_LINGER_MS
from coordinator.config.group_keys import OFFSETS_LOAD_BUFFER_SIZE, OFFSETS_TOPIC_COMPRESSION_CODEC
from coordinator.config.server_keys import NODE_ID
from coordinator.config.transaction_keys import TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE
from coordinator.core.decision import Environment
from coordinator.core.stored import TransactionMarker
from coordinator.front.metered import metered_shard
from coordinator.front.node_loop import NodeLoop
from coordinator.front.pending_requests import PendingRequests
from coordinator.groups.audit_checkpoints import AuditCheckpoints
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.audit_stream import AuditStream
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.machines import make_state_machine
from coordinator.groups.offsets_stream import OffsetsStream
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.groups.work import GroupWork, StartSteps
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard, ShardState
from coordinator.runtime.store import LogStore, WhenDurable
from coordinator.timers.wheel import TimerWheel
from coordinator.transactions.coordinator import TransactionCoordinator
from coordinator.transactions.markers import MarkerSender
from coordinator.transactions.state_machine import TransactionStateMachine
from coordinator.transactions.stream import TransactionStream

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics


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
    start_steps: StartSteps,
    when_durable: WhenDurable | None,
    metrics: "NodeMetrics | None",
) -> GroupCoordinator:
    """Make the group coordinator, with a shard for each partition of __consumer_offsets.

    `when_durable` is None if records count before they are flushed.
    """
    config = environment.config
    timers = KeyTimers(wheel, OFFSETS_TOPIC)
    shard_class = Shard if metrics is None else metered_shard(metrics)
    on_applied = None if metrics is None else metrics.groups.applied

    def make_shard(work: GroupWork, index: int, request_drain: RequestDrain) -> Shard[GroupStateMachine]:
        audit_stream = AuditStream(
            partitions.get(AUDIT_TOPIC, index),
            partitions.leader_epoch,
            compression=config[AUDIT_COMPRESSION_TYPE],
            has_chain=config[AUDIT_CHAIN],
            is_lingering=config[GROUP_AUDIT_LINGER_MS] > 0,
            load_bytes=config[OFFSETS_LOAD_BUFFER_SIZE],
            checkpoints=checkpoints,
        )
        offsets_stream = OffsetsStream(
            partitions.get(OFFSETS_TOPIC, index),
            partitions.leader_epoch,
            COMPRESSIONS[config[OFFSETS_TOPIC_COMPRESSION_CODEC]],
        )
        store = LogStore(
            offsets_stream,
            audit_stream,
            appended=notifier.mark_appended,
            load_bytes=config[OFFSETS_LOAD_BUFFER_SIZE],
            meter=None if metrics is None else metrics.runtime.appends,
            when_durable=when_durable,
            is_disk_failure=partitions.is_disk_failure,
            wall=environment.wall,
        )
        audit = AuditProjection(
            audit_stream,
            environment.wall,
            node_id=config[NODE_ID],
            coordinator_epoch=coordinator_epoch,
            cluster=partitions,
        )
        machine = make_state_machine(sessions, audit, timers, environment, work, on_applied)
        return shard_class(index, machine, store, timers, pending, request_drain=request_drain, projection=audit)

    partition_count = environment.topics.partition_count(OFFSETS_TOPIC)
    return GroupCoordinator(
        make_shard,
        partition_count,
        environment,
        sessions,
        wheel,
        timers,
        checkpoints=checkpoints,
        request_iteration=request_iteration,
        start_steps=start_steps,
    )


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

    timers = KeyTimers(loop.wheel, TRANSACTIONS_TOPIC)

    def make_shard(index: int, request_drain: RequestDrain) -> Shard[TransactionStateMachine]:
        store = LogStore(
            TransactionStream(partitions.get(TRANSACTIONS_TOPIC, index), partitions.leader_epoch),
            appended=notifier.mark_appended,
            load_bytes=load_bytes,
            when_durable=when_durable,
            is_disk_failure=partitions.is_disk_failure,
            wall=environment.wall,
        )
        machine = TransactionStateMachine(
            environment.producer_ids,
            addresses.transactional_ids,
            partial(getattr, store, "batch_bytes_max"),
            environment.wall,
        )
        return Shard(index, machine, store, timers, pending, request_drain=request_drain)

    markers = MarkerSender(
        marker_writer.write_own,
        complete,
        loop.slices,
        loop.delays,
        loop.now_ms,
        coordinator_epoch=partitions.leader_epoch,
        when_durable=when_durable,
        leads=partitions.leads,
    )
    return TransactionCoordinator(
        make_shard,
        environment,
        loop.wheel,
        timers,
        markers=markers,
        requests=pending,
        request_iteration=loop.scheduler.request_iteration,
    )
