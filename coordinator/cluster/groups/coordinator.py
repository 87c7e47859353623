"""The group coordinator of a node in front of a cluster: shards whose logs are partitions of the cluster."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from coordinator.audit.coordinator_events import coordinator_record
from coordinator.audit.schema import CoordinatorEvent, CoordinatorPaused, GroupHeldByCluster
from coordinator.cluster.groups.audit_stream import ClusterAuditStream, NoCheckpointFile
from coordinator.cluster.groups.topics import ClusterTopics
from coordinator.cluster.log.access import LogAccess
from coordinator.cluster.log.cluster_log import ClusterLog
from coordinator.cluster.log.notes import Owner
from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.log.topics import LogTopics
from coordinator.config.audit_keys import AUDIT_CHAIN, AUDIT_COMPRESSION_TYPE
from coordinator.config.group_keys import OFFSETS_LOAD_BUFFER_SIZE
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from coordinator.core.causes import Cause
from coordinator.core.decision import Environment
from coordinator.front.metered import metered_shard
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.coordinator import GroupCoordinator
from coordinator.groups.machines import make_state_machine
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.groups.work import GroupWork
from coordinator.internal_topics import AUDIT_TOPIC, MEMBERSHIP_TOPIC
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard, ShardState
from coordinator.timers.wheel import TimerWheel

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics

TRANSACTIONAL_ID_PREFIX: Final = "__group_coordinator-"
"""The transactional id of a partition is this with its number: it is written by who got its last producer epoch."""


class ClusterGroupCoordinator(GroupCoordinator):
    """Serves partitions that other nodes may take over at any time."""

    def __init__(
        self,
        *args: Any,
        may_lead: Callable[[int], bool],
        now_ms: Callable[[], int],
        **kwargs: Any,
    ) -> None:
        """`may_lead` says whether this node leads a partition; the rest is that of `GroupCoordinator`."""
        self._may_lead = may_lead
        self._now_ms = now_ms
        self._on_loaded: list[Callable[[Shard[GroupStateMachine]], None]] = []
        self._lost_ms: dict[int, int] = {}
        """Partition → when it was given up, for those that were served."""
        self._untold: dict[int, CoordinatorPaused] = {}
        """Partition → a pause in which it was given up: told once it is served here again."""
        super().__init__(*args, **kwargs)

    def load(self, partitions: Iterable[int], cause: Cause | None = None) -> None:
        """A load that failed is not tried again where another node leads the partition by now."""
        ours = []
        for partition in partitions:
            if self._may_lead(partition):
                ours.append(partition)
            else:
                self.unload(partition)
        super().load(ours, cause)

    def unload(self, partition: int) -> None:
        if self.shards[partition].is_active:
            self._lost_ms[partition] = self._now_ms()
        store = self.shards[partition].store
        assert isinstance(store, ClusterStore)
        # First of all: the answer to an append must not reach a shard that is served no more.
        given_up = store.abandon()
        super().unload(partition)
        for completed in given_up:
            completed(StoreError("another node leads the partition"))

    def on_loaded(self, listener: Callable[[Shard[GroupStateMachine]], None]) -> None:
        """Call `listener` with each shard that is served from now on."""
        self._on_loaded.append(listener)

    def _loaded(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        super()._loaded(shard, now_ms)
        self._lost_ms.pop(shard.partition, None)
        if (pause := self._untold.pop(shard.partition, None)) is not None:
            self._report(shard, pause)
        for listener in self._on_loaded:
            listener(shard)

    def renew_epochs(self) -> None:
        """Have the epochs of partitions renewed that were taken over long ago."""
        for shard in self.shards:
            if shard.is_active and isinstance(shard.store, ClusterStore):
                shard.store.renew_if_due(partial(self._write_about_coordinator, shard))

    def report_pause(self, event: CoordinatorPaused, from_ms: int) -> None:
        """Write a pause to the audit; where it has cost this node a partition, once the partition is its own again.

        `from_ms` is when it began by the clock of the loop.
        """
        self.report(event)
        for partition, lost_ms in self._lost_ms.items():
            if lost_ms >= from_ms:
                self._untold[partition] = event

    def report_held(self, event: GroupHeldByCluster) -> None:
        """Write the event to the audit of the group, which need not have any other."""
        shard = self.shard_of(event.group_id)
        if shard.is_active:
            self._write_about_coordinator(shard, event)

    def stop(self, now_ms: int, event: CoordinatorEvent | None = None) -> None:
        """Report the stop. No snapshots are written, as where there are logs of its own: another node waits for these
        partitions."""
        if event is not None:
            self.report(event)
            self.drain(now_ms)

    @property
    def is_stored(self) -> bool:
        """Whether all that was decided is acknowledged by the cluster."""
        return all(shard.is_idle for shard in self.shards if shard.state is ShardState.ACTIVE)

    def _check_later(self, shard: Shard[GroupStateMachine], group_ids: tuple[str, ...], at_ms: int) -> None:
        """Committed offsets are in the cluster, which also deletes them when they are too old."""


def make_cluster_group_coordinator(
    config: Config,
    topics: LogTopics,
    access: LogAccess,
    environment: Environment,
    sessions: SessionTable,
    pending: Any,
    *,
    wheel: TimerWheel,
    now_ms: Callable[[], int],
    request_iteration: Callable[[], None],
    owner: Owner,
    cluster: ClusterTopics,
    may_lead: Callable[[int], bool],
    fenced: Callable[[int], None],
    appended: Callable[[float], None],
    metrics: "NodeMetrics | None" = None,
) -> ClusterGroupCoordinator:
    """Make the group coordinator; it leads no partition yet.

    Raises:
        ConfigError: a setting that nodes in front of a cluster do not have.
    """
    if config[AUDIT_CHAIN]:
        raise ConfigError(f"{AUDIT_CHAIN.name}=true: the audit of nodes in front of a cluster has no chain")
    timers = KeyTimers(wheel, MEMBERSHIP_TOPIC)
    shard_class = Shard if metrics is None else metered_shard(metrics)
    load_bytes = config[OFFSETS_LOAD_BUFFER_SIZE]
    on_applied = None if metrics is None else metrics.groups.applied

    def make_shard(work: GroupWork, index: int, request_drain: RequestDrain) -> Shard[GroupStateMachine]:
        audit_log = ClusterLog(access, AUDIT_TOPIC, index, topics.audit)
        store = ClusterStore(
            access,
            ClusterLog(access, MEMBERSHIP_TOPIC, index, topics.groups),
            audit_log,
            owner,
            transactional_id=f"{TRANSACTIONAL_ID_PREFIX}{index}",
            audit_record=lambda taken: coordinator_record(taken, taken.time_ms),
            may_lead=partial(may_lead, index),
            fenced=partial(fenced, index),
            now_ms=now_ms,
            wall=environment.wall,
            load_bytes=load_bytes,
            audit_compression=config[AUDIT_COMPRESSION_TYPE],
            appended=appended,
        )
        audit = AuditProjection(
            ClusterAuditStream(audit_log, store, load_bytes),
            environment.wall,
            node_id=owner.node_id,
            coordinator_epoch=owner.coordinator_epoch,
            cluster=cluster,
        )
        machine = make_state_machine(sessions, audit, timers, environment, work, on_applied)
        return shard_class(index, machine, store, timers, pending, request_drain=request_drain, projection=audit)

    return ClusterGroupCoordinator(
        make_shard,
        topics.partition_count,
        environment,
        sessions,
        wheel,
        timers,
        checkpoints=NoCheckpointFile(),
        request_iteration=request_iteration,
        may_lead=may_lead,
        now_ms=now_ms,
    )
