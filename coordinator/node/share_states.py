"""Making of the share coordinator of a node, with its shards, and of what others ask it by."""

from functools import partial

import msgspec

from coordinator.broker.partitions import Partitions
from coordinator.config.settings import Config
from coordinator.config.share_coordinator_keys import (
    SHARE_COORDINATOR_LOAD_BUFFER_SIZE,
    SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT,
)
from coordinator.core.decision import Environment
from coordinator.front.node_loop import NodeLoop
from coordinator.front.pending_requests import PendingRequests
from coordinator.internal_topics import SHARE_STATE_TOPIC
from coordinator.node.handlers.deferred import committed
from coordinator.node.share_meter import ShareMeter
from coordinator.node.storage import Storage
from coordinator.runtime.coordinator_runtime import MakeShard
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard, ShardState
from coordinator.runtime.slices import Steps
from coordinator.runtime.steady import SteadyDrain
from coordinator.runtime.store import LogStore
from coordinator.share_state.coordinator import ShareCoordinator
from coordinator.share_state.pruning import Pruning
from coordinator.share_state.share_states import ShareStates
from coordinator.share_state.state_machine import ShareStateMachine
from coordinator.share_state.stream import ShareStateStream


class ShareParts(msgspec.Struct, frozen=True, kw_only=True):
    """The share coordinator of a node."""

    coordinator: ShareCoordinator
    storage: Storage
    loop: NodeLoop
    meter: ShareMeter
    """What a scrape reads of the records that share groups fetch."""

    @property
    def states(self) -> ShareStates:
        """What the rest of the node asks it by."""
        loop, coordinator = self.loop, self.coordinator
        drain = SteadyDrain(coordinator, loop.scheduler, loop.now_ms, loop.wall)
        return ShareStates(coordinator, self.make_topic, loop.slices, loop.delays, loop.now_ms, drain)

    def make_topic(self) -> Steps[None]:
        """Make sure that there is a `__share_group_state`, and that it is served."""
        storage = self.storage
        if self.coordinator.shards:
            return
        storage.topics.create_share_state_topic(self.loop.now_ms())
        if SHARE_STATE_TOPIC not in storage.image.topics:
            yield from committed(storage.metadata)
        self.start()

    def start(self) -> None:
        """Begin to serve the states if `__share_group_state` exists and it was not done yet."""
        partitions = self.storage.partitions
        count = partitions.partition_count(SHARE_STATE_TOPIC)
        if count and not self.coordinator.shards:
            led = [index for index in range(count) if partitions.leads(SHARE_STATE_TOPIC, index)]
            self.coordinator.start(count, led, self.loop.now_ms())


class NoSessions:
    """Share partitions have no sessions."""

    def is_over(self, group_id: str, member_id: str, now_ms: int) -> bool:
        return True

    def last_renewed_ms(self, group_id: str, member_id: str) -> int | None:
        return None

    def timeout_ms(self, group_id: str, member_id: str) -> int | None:
        return None


def make_share_parts(config: Config, loop: NodeLoop, storage: Storage) -> ShareParts:
    """Make the share coordinator, which makes a shard for each partition of __share_group_state when it is started."""
    timers = KeyTimers(loop.wheel, SHARE_STATE_TOPIC)
    environment = Environment(config, storage.image, NoSessions(), new_id=str, wall=loop.wall)
    pending, pruning = PendingRequests(), Pruning(storage.flusher.request_flush)
    coordinator = ShareCoordinator(
        _shard_maker(storage, environment, pending, timers, pruning),
        environment,
        loop.wheel,
        timers,
        requests=pending,
        pruning=pruning,
        request_iteration=loop.scheduler.request_iteration,
        wall_ms=loop.wall_ms,
    )
    storage.failures.add_listener(partial(_unload_offline, storage.partitions, coordinator))

    return ShareParts(coordinator=coordinator, storage=storage, loop=loop, meter=ShareMeter(coordinator))


def _shard_maker(
    storage: Storage, environment: Environment, pending: PendingRequests, timers: KeyTimers, pruning: Pruning
) -> MakeShard[ShareStateMachine]:
    config = environment.config
    partitions = storage.partitions

    def updates_per_snapshot() -> int:
        return config[SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT]

    def make_shard(index: int, request_drain: RequestDrain) -> Shard[ShareStateMachine]:
        stream = ShareStateStream(partitions.get(SHARE_STATE_TOPIC, index), partitions.leader_epoch)
        pruning.add(stream)
        store = LogStore(
            stream,
            appended=storage.notifier.mark_appended,
            load_bytes=config[SHARE_COORDINATOR_LOAD_BUFFER_SIZE],
            when_durable=storage.when_durable,
            is_disk_failure=partitions.is_disk_failure,
            wall=environment.wall,
        )
        machine = ShareStateMachine(stream.snapshots, updates_per_snapshot)
        return Shard(index, machine, store, timers, pending, request_drain=request_drain, local=store)

    return make_shard


def _unload_offline(partitions: Partitions, coordinator: ShareCoordinator) -> None:
    """Unload the shards whose partitions have lost their leader: a log directory has failed."""
    for shard in coordinator.shards:
        if shard.state is not ShardState.INACTIVE and not partitions.leads(SHARE_STATE_TOPIC, shard.partition):
            coordinator.unload(shard.partition)
