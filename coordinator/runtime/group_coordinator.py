"""All groups this node coordinates: finds the shard of a group, and drains the queues once per loop iteration.

Counterpart in Kafka: `GroupCoordinatorService` and the partition bookkeeping of `CoordinatorRuntime`.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from time import perf_counter
from typing import Any, Final

from coordinator.audit.schema import CoordinatorEvent
from coordinator.config import GROUP_AUDIT_OFFSETS_INTERVAL_MS, GROUP_MAX_SIZE, OFFSETS_RETENTION_CHECK_INTERVAL_MS
from coordinator.core import operations
from coordinator.core.address_limits import PendingMember
from coordinator.core.causes import Cause
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.members import SessionExpired
from coordinator.core.offset_delete import GoneTopics
from coordinator.core.operation import Operation
from coordinator.core.partitioning import partition_for
from coordinator.core.rebalance import is_oversized
from coordinator.deadlines import deadline_after
from coordinator.runtime.audit_checkpoints import AuditCheckpoints
from coordinator.runtime.audit_schedule import AuditSchedule
from coordinator.runtime.batch import AuditWrite, QueuedOperation
from coordinator.runtime.deleted_topics import DeletedTopics
from coordinator.runtime.group_state_machine import GroupStateMachine
from coordinator.runtime.group_timers import GroupTimers
from coordinator.runtime.interfaces import AuditRecord
from coordinator.runtime.load_progress import LoadProgress
from coordinator.runtime.sessions import SessionTable
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_MOST, Shard, ShardState
from coordinator.runtime.timer_keys import (
    AuditCheckpointFileKey,
    AuditSnapshotKey,
    CommitReportKey,
    GroupTimerKey,
    LoadRetryKey,
    OffsetsCheckKey,
    SessionKey,
)
from coordinator.timers.wheel import TimerWheel

LOAD_SECONDS_AT_ONCE: Final = 0.002
"""How long partitions are loaded, or groups rebuilt, before other work of the event loop has its turn."""
OPERATIONS_AT_ONCE: Final = 300
"""Operations that are handled before other work of the event loop has its turn: 3 ms of reads, 45 ms of new groups."""
GROUPS_CHECKED_AT_ONCE: Final = 1_000
"""Groups whose offsets are checked for their age before other work has its turn."""


class GroupCoordinator:
    """The group coordinator of one node.

    It knows no loop: it gets the time as an argument, and calls `request_iteration` when work is queued.
    """

    def __init__(
        self,
        shards: Iterable[Shard[GroupStateMachine]],
        wheel: TimerWheel,
        timers: GroupTimers,
        sessions: SessionTable,
        environment: Environment,
        checkpoints: AuditCheckpoints,
        request_iteration: Callable[[], None],
        seconds: Callable[[], float] = perf_counter,
    ) -> None:
        """`seconds` is a clock for nothing but the length of slices."""
        self.shards = tuple(shards)
        self.sessions = sessions
        self.environment = environment
        self._addresses = environment.addresses
        self._wheel = wheel
        self._timers = timers
        self._request_iteration = request_iteration
        self._seconds = seconds
        self._load_progress = LoadProgress()
        self._dirty: dict[int, Shard[GroupStateMachine]] = {}
        self._loading: deque[Shard[GroupStateMachine]] = deque()
        self._rebuilding: dict[int, Shard[GroupStateMachine]] = {}
        """Partition → shard with groups that failed alone and are due to be rebuilt."""
        self._deleted_topics = DeletedTopics(environment.topics.names)
        self._checks: dict[int, int] = {}
        """Partition → number on the wheel of its next check of the age of offsets."""
        interval_ms = environment.config[GROUP_AUDIT_OFFSETS_INTERVAL_MS]
        self.audit = AuditSchedule(wheel, interval_ms, checkpoints, self._submit_first)
        self._announcement: CoordinatorEvent | None = None
        """To be written when the first partition is loaded."""
        for shard in self.shards:
            shard.completed_later = self._mark_dirty
            shard.machine.addresses = environment.addresses

    # ----------------------------------------------------------------------------------------------------- partitions

    def load(self, partitions: Iterable[int], cause: Cause | None = None) -> None:
        """Lead these partitions from now on. They are read in slices, at each `drain`, one after the other.

        The audit tells the `cause` of groups that are then in another state than before.
        """
        partitions = tuple(partitions)
        self._deleted_topics.load_begins(partitions)
        for partition in partitions:
            self.shards[partition].start_loading(cause)
            self._loading.append(self.shards[partition])
        self._load_progress.begin(len(partitions), self._seconds())
        self._request_iteration()

    @property
    def is_loading(self) -> bool:
        """Whether partitions are being loaded, or wait for it."""
        return bool(self._loading)

    def unload(self, partition: int) -> None:
        """Another node leads the partition now."""
        shard = self.shards[partition]
        if shard in self._loading:
            self._loading.remove(shard)
            self._load_progress.unloaded()
        shard.unload()
        self._deleted_topics.unload(partition)

    def shard_of(self, group_id: str) -> Shard[GroupStateMachine]:
        return self.shards[self.partition_of(group_id)]

    def partition_of(self, group_id: str) -> int:
        return partition_for(group_id, len(self.shards))

    # ----------------------------------------------------------------------------------------------------- operations

    def enqueue(self, operation: Operation, group_id: str, prepared: Any, context: OperationContext) -> None:
        """Queue an operation on a group, its request prepared; the response goes to `context.request_id`."""
        shard = self.shards[partition_for(group_id, len(self.shards))]
        self._enqueue(shard, QueuedOperation(operation, group_id, prepared, context))

    def enqueue_for_shard(self, operation: Operation, partition: int, request: Any, context: OperationContext) -> None:
        """Queue an operation over all groups of a partition."""
        self._enqueue(self.shards[partition], QueuedOperation(operation, None, request, context))

    def _enqueue_internal(self, operation: Operation, group_id: str, request: Any = None) -> None:
        self.enqueue(operation, group_id, request, self._internal_context())

    def _internal_context(self) -> OperationContext:
        """Of what nobody waits for."""
        return OperationContext(None, 0, "", "", self.environment, 0)

    def _enqueue(self, shard: Shard[GroupStateMachine], queued: QueuedOperation) -> None:
        shard.submit(queued)
        self._mark_dirty(shard)

    def _mark_dirty(self, shard: Shard[GroupStateMachine]) -> None:
        if not self._dirty:
            self._request_iteration()
        self._dirty[shard.partition] = shard

    def topics_deleted(self, names: Iterable[str]) -> None:
        """Forget the committed offsets in topics that are gone, though others of these names may exist by then.

        Partitions that are not loaded yet forget them as soon as they are.
        """
        gone = GoneTopics(frozenset(names))
        for shard in self.shards:
            if shard.state is not ShardState.INACTIVE:
                self._deleted_topics.delete(shard.partition, gone.deleted)
                self.enqueue_for_shard(operations.FORGET_TOPICS, shard.partition, gone, self._internal_context())

    def drain(self, now_ms: int) -> None:
        """Handle what is queued. Call it once per loop iteration when `request_iteration` was called.

        What is more than about `OPERATIONS_AT_ONCE` operations is left for the next iteration, in its order.

        Responses leave when all shards have appended: one after the other they wake a client once. Sent between the
        work of the shards, each would wake it, which costs a tenth of a commit.
        """
        if self._loading:
            self._load_next_slice(now_ms)
        if self._rebuilding:
            self._rebuild_next_slice(now_ms)
        left = OPERATIONS_AT_ONCE
        while self._dirty:
            if left <= 0:
                self._request_iteration()
                return
            shards, self._dirty = self._dirty, {}
            for shard in shards.values():
                used = shard.drain(now_ms, left if left > 0 else 1)
                if used >= left:
                    self._dirty[shard.partition] = shard  # there may be more in its queue
                left -= used
            for shard in shards.values():
                shard.release()
                if shard.failed_keys.due:
                    self._rebuilding[shard.partition] = shard
                    self._request_iteration()
                if shard.needs_retry:
                    self._retry_later(shard, now_ms)
                elif shard.is_idle:
                    if shard.partition in self._deleted_topics.partitions:
                        self._deleted_topics.forgotten(shard.partition)
                    if shard.machine.audit.is_checkpoint_due or self.audit.is_writing:
                        self.audit.drained(shard, now_ms)
            if self._addresses is not None and self._addresses.excess:
                self._give_up(self._addresses.take_excess())

    def _give_up(self, pending: Iterable[PendingMember]) -> None:
        """Forget member ids with which nobody joined, and groups that have nothing else."""
        for group_id, member_id in pending:
            self._enqueue_internal(operations.GIVE_UP_PENDING, group_id, member_id)
            self._enqueue_internal(operations.EXPIRE_OFFSETS, group_id)

    # ---------------------------------------------------------------------------------------------------------- time

    def due(self, key: object, now_ms: int) -> None:
        """A timer of the coordinator is due: it becomes an operation of its shard."""
        match key:
            case SessionKey(group_id, member_id):
                if self.sessions.is_due(group_id, member_id, now_ms):
                    self._enqueue_internal(operations.EXPIRE_SESSION, group_id, SessionExpired(member_id))
            case GroupTimerKey(group_id):
                self._timers.fired(group_id)
                self._enqueue_internal(operations.ADVANCE, group_id)
            case LoadRetryKey(partition):
                if self.shards[partition].state is ShardState.FAILED:
                    self.load([partition])
            case OffsetsCheckKey(partition, group_ids):
                self._check_offsets(self.shards[partition], group_ids, now_ms)
            case CommitReportKey() | AuditSnapshotKey() | AuditCheckpointFileKey():
                self.audit.due(key, now_ms)

    def announce(self, event: CoordinatorEvent) -> None:
        """Write an event about the coordinator to partition 0 of the audit, as soon as that is loaded."""
        self._announcement = event
        if self.shards[0].is_active:
            self._write_announcement()

    def _write_announcement(self) -> None:
        event, self._announcement = self._announcement, None
        if event is not None:
            shard = self.shards[0]

            def write(groups: Mapping[str, ClassicGroup], now_ms: int) -> list[AuditRecord]:
                return [shard.machine.audit.write_about_coordinator(event, now_ms)]

            self._submit_first(shard, AuditWrite(write))

    def stop(self, now_ms: int, event: CoordinatorEvent | None = None) -> None:
        """Before a clean stop: write what makes the next start cheap. Nothing may be asked any more.

        `event` is announced.
        """
        if event is not None:
            self.announce(event)
            self.drain(now_ms)
        self.audit.finish(self.shards, now_ms, self.drain)

    def _submit_first(self, shard: Shard[GroupStateMachine], queued: QueuedOperation | AuditWrite) -> None:
        shard.submit_first(queued)
        self._mark_dirty(shard)

    def _load_next_slice(self, now_ms: int) -> None:
        is_time_over = self._slice()
        while self._loading:
            shard = self._loading[0]
            if not shard.load_next_slice(now_ms, is_time_over):
                if not shard.load_is_appending:
                    self._request_iteration()
                break
            self._loading.popleft()
            if shard.needs_retry:
                self._retry_later(shard, now_ms)
            else:
                self._loaded(shard, now_ms)
            self._load_progress.ended(len(shard.machine.groups))
            if self._loading and is_time_over():
                self._request_iteration()
                break
        self._load_progress.report(self._seconds())

    def _slice(self) -> Callable[[], bool]:
        """A slice begins; tells whether it is over."""
        seconds, until = self._seconds, self._seconds() + LOAD_SECONDS_AT_ONCE
        return lambda: seconds() >= until

    def _rebuild_next_slice(self, now_ms: int) -> None:
        """One slice for the whole node: groups that fail again and again cost the others no more."""
        shard = next((each for each in self._rebuilding.values() if not each.is_in_flight), None)
        if shard is None:
            return  # the end of an append requests the next iteration
        if shard.failed_keys.next_slice(now_ms, self._slice()):
            del self._rebuilding[shard.partition]
            for group_id in shard.failed_keys.rebuilt:
                # It also takes the steps that the group requires.
                check = QueuedOperation(operations.REBALANCE_OVERSIZED_GROUP, group_id, None, self._internal_context())
                shard.failed_keys.by_key[group_id].missed.append(check)
            self._mark_dirty(shard)
        if self._rebuilding:
            self._request_iteration()

    def _loaded(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        # First of all: operations that were queued during the load may commit to topics that were created again.
        gone = self._deleted_topics.gone_for(shard.partition)
        self._submit_first(shard, QueuedOperation(operations.FORGET_TOPICS, None, gone, self._internal_context()))
        if self.environment.config[GROUP_MAX_SIZE] != GROUP_MAX_SIZE.default:
            for group in shard.machine.groups.values():
                if is_oversized(group.classic, self.environment.config):
                    self._enqueue_internal(operations.REBALANCE_OVERSIZED_GROUP, group.group_id)
        self._check_later(shard, (), deadline_after(now_ms, self._check_interval_ms))
        self.audit.loaded(shard, now_ms)
        if shard is self.shards[0]:
            self._write_announcement()

    def _retry_later(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        shard.needs_retry = False
        self._wheel.start(LoadRetryKey(shard.partition), deadline_after(now_ms, shard.retry_ms))
        shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)

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
