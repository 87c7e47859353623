"""All groups this node coordinates, their timers and their audit.

Counterpart in Kafka: `GroupCoordinatorService`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias

from coordinator.audit.schema import CoordinatorEvent, CoordinatorUnavailable
from coordinator.config.group_keys import OFFSETS_RETENTION_CHECK_INTERVAL_MS
from coordinator.core.address_limits import PendingMember
from coordinator.core.causes import Cause
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.groups.group import Group, is_oversized
from coordinator.core.groups.old_clients import OldClient
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.kinds import operations
from coordinator.core.kinds.table import KINDS
from coordinator.core.offsets.delete import GoneTopics
from coordinator.core.operation import Operation
from coordinator.core.share_records import RecordsReport
from coordinator.deadlines import deadline_after
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.audit_schedule import AuditSchedule, WritesCheckpoints, audit_of
from coordinator.groups.background_work import GroupWork, StartSteps
from coordinator.groups.deleted_topics import DeletedTopics
from coordinator.groups.sessions import SessionTable
from coordinator.groups.shared_partitions import SharedPartitions
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.groups.timer_keys import (
    AuditCheckpointFileKey,
    AuditSnapshotKey,
    CommitReportKey,
    HeldAuditKey,
    OffsetsCheckKey,
    SessionKey,
)
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.runtime.batch import ProjectionWrite, QueuedOperation
from coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.load_progress import LoadProgress
from coordinator.runtime.shard import RequestDrain, Shard, ShardState
from coordinator.timers.wheel import TimerWheel

GROUPS_CHECKED_AT_ONCE: Final = 1_000
"""Groups whose offsets are checked for their age before other work has its turn."""


MakeGroupShard: TypeAlias = Callable[[GroupWork, int, RequestDrain], Shard[GroupStateMachine]]
"""(work beside the requests of groups, partition, what the shard calls when it has to be drained) → shard."""


class GroupCoordinator(CoordinatorRuntime[GroupStateMachine]):
    """The group coordinator of one node."""

    def __init__(
        self,
        make_shard: MakeGroupShard,
        partition_count: int,
        environment: Environment,
        sessions: SessionTable,
        wheel: TimerWheel,
        timers: KeyTimers,
        *,
        checkpoints: WritesCheckpoints | None,
        request_iteration: Callable[[], None],
        start_steps: StartSteps | None = None,
        shared: SharedPartitions | None = None,
        keeps_offsets: bool = True,
        seconds: Callable[[], float] = perf_counter,
    ) -> None:
        """`start_steps` takes the steps of work beside the requests (`Slices.start`); None: it is done at once.

        Without `shared` partitions this node alone leads them. `keeps_offsets`: committed offsets are in the logs of
        the shards, so they are deleted here when they are too old.

        `seconds` is a clock for nothing but the length of slices.
        """
        progress = LoadProgress(OFFSETS_TOPIC, "groups")
        super().__init__(progress, wheel, timers, environment, request_iteration, seconds)
        self.sessions = sessions
        self._addresses = environment.addresses
        self._shared = shared
        self._keeps_offsets = keeps_offsets
        self._on_loaded: list[Callable[[Shard[GroupStateMachine]], None]] = []
        self._deleted_topics = DeletedTopics(environment.topics.names)
        self._checks: dict[int, int] = {}
        """Partition → number on the wheel of its next check of the age of offsets."""
        self.audit = AuditSchedule(
            wheel, environment.config, checkpoints, self._submit_first, self._mark_dirty, environment.wall
        )
        self.work = GroupWork(environment, start_steps, self._enqueue_internal)
        self._announcement: CoordinatorEvent | None = None
        self._announced_to: set[int] = set()
        """The partitions in which the start is reported."""
        self._make_shards(partial(make_shard, self.work), partition_count)

    # ----------------------------------------------------------------------------------------------------- partitions

    def load(self, partitions: Iterable[int], cause: Cause | None = None) -> None:
        partitions = tuple(partitions)
        if self._shared is not None:
            led = self._shared.may_lead
            for partition in partitions:
                if not led(partition):
                    self.unload(partition)
            partitions = tuple(filter(led, partitions))
        self._deleted_topics.load_begins(partitions)
        super().load(partitions, cause)

    def unload(self, partition: int) -> None:
        if self._shared is None:
            self._unload(partition)
        else:
            self._shared.unload(self.shards[partition], partial(self._unload, partition))

    def _unload(self, partition: int) -> None:
        super().unload(partition)
        self._deleted_topics.unload(partition)

    def on_loaded(self, listener: Callable[[Shard[GroupStateMachine]], None]) -> None:
        """Call `listener` with each shard that is served from now on."""
        self._on_loaded.append(listener)

    # ----------------------------------------------------------------------------------------------------- operations

    enqueue = CoordinatorRuntime.submit

    def enqueue_for_shard(self, operation: Operation, partition: int, request: Any, context: OperationContext) -> None:
        """Queue an operation over all groups of a partition."""
        self._enqueue(self.shards[partition], QueuedOperation(operation, None, request, context))

    def topics_deleted(self, names: Iterable[str]) -> None:
        """Forget the committed offsets in topics that are gone, though others of these names may exist by then.

        Partitions that are not loaded yet forget them as soon as they are.
        """
        gone = GoneTopics(frozenset(names))
        for shard in self.shards:
            if shard.state is not ShardState.INACTIVE:
                self._deleted_topics.delete(shard.partition, gone.deleted)
                self.enqueue_for_shard(operations.FORGET_TOPICS, shard.partition, gone, self._internal_context())

    def report_old_client(self, group_id: str, old: OldClient) -> None:
        """Have the audit of a group tell that one of its members is too old for this server."""
        self._enqueue_internal(operations.REPORT_OLD_CLIENT, group_id, old)

    def report_share_records(self, group_id: str, report: RecordsReport) -> None:
        """Have the audit of a share group tell what became of its records."""
        self._enqueue_internal(operations.REPORT_SHARE_RECORDS, group_id, report)

    def _drained(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        if shard.local is not None and shard.local.held:
            self.audit.held(shard, now_ms)
        audit = shard.projection
        assert isinstance(audit, AuditProjection), audit
        writes_snapshots = audit.is_checkpoint_due or self.audit.writing
        if (writes_snapshots or self._deleted_topics.partitions) and shard.is_idle:
            if shard.partition in self._deleted_topics.partitions:
                self._deleted_topics.forgotten(shard.partition)
            if writes_snapshots:
                self.audit.drained(shard, now_ms)
        if self.work.started:
            self.work.start_all()
        if self._addresses is not None and self._addresses.excess:
            self._remove_pending(self._addresses.pop_excess())

    def _remove_pending(self, pending: Iterable[PendingMember]) -> None:
        """Remove member ids with which nobody joined, and groups that have nothing else."""
        for group_id, member_id in pending:
            self._enqueue_internal(operations.REMOVE_PENDING_MEMBER, group_id, member_id)
            self._enqueue_internal(operations.EXPIRE_OFFSETS, group_id)

    # ---------------------------------------------------------------------------------------------------------- time

    timer_keys = (*CoordinatorRuntime.timer_keys, SessionKey, OffsetsCheckKey, *AuditSchedule.timer_keys)

    def due(self, key: object, now_ms: int) -> None:
        """A timer of the coordinator is due: it becomes an operation of its shard."""
        match key:
            case SessionKey(group_id, member_id):
                if self.sessions.is_due(group_id, member_id, now_ms):
                    self._enqueue_internal(operations.EXPIRE_SESSION, group_id, SessionExpired(member_id))
            case OffsetsCheckKey(partition, group_ids):
                self._check_offsets(self.shards[partition], group_ids, now_ms)
            case CommitReportKey() | AuditSnapshotKey() | HeldAuditKey() | AuditCheckpointFileKey():
                self.audit.due(key, now_ms)
            case _:
                super().due(key, now_ms)

    def announce(self, event: CoordinatorEvent) -> None:
        """Write the event of the start of the coordinator to the audit, as soon as each partition is loaded."""
        self._announcement = event
        for shard in self.shards:
            if shard.is_active:
                self._announce_to(shard)

    def _announce_to(self, shard: Shard[GroupStateMachine]) -> None:
        if self._announcement is not None and shard.partition not in self._announced_to:
            self._announced_to.add(shard.partition)
            self.report_to(shard, self._announcement)

    def _report_failure(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """Report for how long nothing could be written to a partition, which is loaded again."""
        failed_ms, shard.failed_since_ms = shard.failed_since_ms, None
        if failed_ms is None or self._announcement is None:
            return
        wall = self.environment.wall
        event = CoordinatorUnavailable(
            time_ms=0,
            node_id=self._announcement.node_id,
            coordinator_epoch=self._announcement.coordinator_epoch,
            from_ms=wall.at(failed_ms),
            until_ms=wall.at(now_ms),
        )
        self.report_to(shard, event)

    def report(self, event: CoordinatorEvent, *, everywhere: bool = True) -> None:
        """Write an event about the coordinator to the partitions of the audit that are served here.

        Without `everywhere` to partition 0 alone.
        """
        for shard in self.shards if everywhere else self.shards[:1]:
            if shard.is_active:
                self.report_to(shard, event)

    def report_to(self, shard: Shard[GroupStateMachine], event: CoordinatorEvent) -> None:
        """Partition 0 has all events about the coordinator, the others while there are groups whose readers want it."""
        if not shard.partition or shard.machine.groups:
            self.write_about_coordinator(shard, event)

    def write_about_coordinator(self, shard: Shard[GroupStateMachine], event: CoordinatorEvent) -> None:
        """Write an event to the audit of an active shard."""

        def write(groups: Mapping[str, Group[Any]], now_ms: int) -> None:
            audit_of(shard).add_about_coordinator(event, now_ms)

        self._submit_first(shard, ProjectionWrite(write))

    def stop(self, now_ms: int, event: CoordinatorEvent | None = None) -> None:
        """Before a clean stop: write what makes the next start cheap. Nothing may be asked any more.

        `event` is reported.
        """
        if event is not None:
            self.report(event)
            self.drain(now_ms)
        self.audit.finish(self.shards, now_ms, self.drain)

    def _submit_first(self, shard: Shard[GroupStateMachine], queued: QueuedOperation | ProjectionWrite) -> None:
        shard.submit_first(queued)
        self._mark_dirty(shard)

    def _rebuilt(self, shard: Shard[GroupStateMachine]) -> None:
        for group_id in shard.failed_keys.rebuilt:
            # It also takes the steps that the group requires.
            check = QueuedOperation(operations.REBALANCE_OVERSIZED_GROUP, group_id, None, self._internal_context())
            shard.failed_keys.by_key[group_id].missed.append(check)

    def _loaded(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        # First of all: operations that were queued during the load may commit to topics that were created again.
        gone = self._deleted_topics.gone_for(shard.partition)
        self._submit_first(shard, QueuedOperation(operations.FORGET_TOPICS, None, gone, self._internal_context()))
        config = self.environment.config
        if any(kind.max_size is not None and config[kind.max_size] != kind.max_size.default for kind in KINDS.values()):
            for group in shard.machine.groups.values():
                if is_oversized(group, config):
                    self._enqueue_internal(operations.REBALANCE_OVERSIZED_GROUP, group.group_id)
        self.work.start_all()
        if self._keeps_offsets:
            self._check_later(shard, (), deadline_after(now_ms, self._check_interval_ms))
        self.audit.loaded(shard, now_ms)
        self._announce_to(shard)
        self._report_failure(shard, now_ms)
        for listener in self._on_loaded:
            listener(shard)

    @property
    def _check_interval_ms(self) -> int:
        return self.environment.config[OFFSETS_RETENTION_CHECK_INTERVAL_MS]

    def _check_offsets(self, shard: Shard[GroupStateMachine], group_ids: tuple[str, ...], now_ms: int) -> None:
        """Check some groups; the rest follows a moment later, so that many groups stall no other work."""
        self._checks.pop(shard.partition, None)
        if not shard.is_active:
            return
        group_ids = group_ids or tuple(shard.machine.groups)
        for group_id in group_ids[:GROUPS_CHECKED_AT_ONCE]:
            self._enqueue_internal(operations.EXPIRE_OFFSETS, group_id)
        left = group_ids[GROUPS_CHECKED_AT_ONCE:]
        self._check_later(shard, left, deadline_after(now_ms, 1 if left else self._check_interval_ms))

    def _check_later(self, shard: Shard[GroupStateMachine], group_ids: tuple[str, ...], at_ms: int) -> None:
        if shard.partition in self._checks:
            self._wheel.cancel(self._checks[shard.partition])
        self._checks[shard.partition] = self._wheel.start(OffsetsCheckKey(shard.partition, group_ids), at_ms)
