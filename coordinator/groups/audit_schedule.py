"""Schedules the audit records that are not caused by an event: snapshots and reports of offset commits.

Kafka has no counterpart, because it has no audit topic.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from coordinator.config.audit_keys import GROUP_AUDIT_LINGER_MS, GROUP_AUDIT_OFFSETS_INTERVAL_MS
from coordinator.config.settings import Config
from coordinator.core.groups.group import Group
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.groups.timer_keys import AuditCheckpointFileKey, AuditSnapshotKey, CommitReportKey, HeldAuditKey
from coordinator.runtime.batch import ProjectionWrite
from coordinator.runtime.shard import Shard
from coordinator.timers.wheel import TimerWheel
from coordinator.wall_time import ONE_CLOCK, WallTime

SNAPSHOT_INTERVAL_MS_MAX: Final = 7 * 24 * 3600 * 1000 // 2
"""The longest time between two snapshots of a live group: half of Kafka's default of `retention.ms`."""

FILE_DELAY_MS: Final = 1_000
"""The delay before the checkpoint file is written, so that one write covers the checkpoints of several partitions."""

REPORTED_AT_ONCE: Final = 500
"""The number of groups in a slice of a commit report, which takes about 0.5 ms."""


class WritesCheckpoints(Protocol):
    """Where the checkpoints are kept that the streams of the shards have noted."""

    def write(self) -> None:
        """Make them last; a failure is logged."""


class CommitReport(msgspec.Struct):
    """An interval of a partition in which offset commits are counted."""

    shard: Shard[GroupStateMachine]
    start_ms: int
    first_log_offset: int
    """The end of `__consumer_offsets` when the interval began."""
    timer: int
    """The timer that ends the interval, or that of the next slice of the report."""
    group_ids: list[str] = msgspec.field(default_factory=list)
    """The groups still to be reported; empty until the interval ends."""
    next_start_ms: int = 0
    next_first_log_offset: int = 0
    """The two values of the next interval."""


class AuditSchedule:
    """Queues audit records on the shards, in slices, so that many groups do not delay other work."""

    def __init__(
        self,
        wheel: TimerWheel,
        config: Config,
        checkpoints: WritesCheckpoints | None,
        submit: Callable[[Shard[GroupStateMachine], ProjectionWrite], None],
        mark_dirty: Callable[[Shard[GroupStateMachine]], None],
        wall: WallTime = ONE_CLOCK,
    ) -> None:
        """`submit` queues a write before all others of a shard. `mark_dirty` has a shard drained.

        Without `checkpoints` the streams keep what they have noted themselves.
        """
        self._wheel = wheel
        self._interval_ms = config[GROUP_AUDIT_OFFSETS_INTERVAL_MS]
        """The interval of the reports."""
        self._linger_ms = config[GROUP_AUDIT_LINGER_MS]
        self._mark_dirty = mark_dirty
        self._wall = wall
        self._checkpoints = checkpoints
        self._submit = submit
        self._reports: dict[int, CommitReport] = {}
        self._waiting: dict[int, Shard[GroupStateMachine]] = {}
        """Partitions that need snapshots; one slice of the first one is written per millisecond."""
        self.writing: set[int] = set()
        """Those of them with a queued slice."""
        self._holding: list[Shard[GroupStateMachine]] = []
        """Shards that hold audit records back."""
        self._snapshot_timer_runs = False
        self._file_timer_runs = False

    @property
    def running_timers(self) -> int:
        """The number of timers on the wheel."""
        return len(self._reports) + self._snapshot_timer_runs + self._file_timer_runs + bool(self._holding)

    @property
    def partitions_waiting(self) -> int:
        """Partitions that need snapshots."""
        return len(self._waiting)

    def loaded(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """A shard became active. Commits that were counted before are dropped."""
        if shard.partition in self._reports:
            self._wheel.cancel(self._reports[shard.partition].timer)
        self._start_interval(shard, now_ms, shard.store.end_offset, now_ms)
        self._waiting.pop(shard.partition, None)
        self.writing.discard(shard.partition)
        self._note_checkpoint(shard, now_ms)
        self._want_snapshots_by_age(shard, now_ms)
        if audit_of(shard).is_checkpoint_due:
            self._want_snapshots(shard, now_ms)

    def drained(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """All queued operations of a shard are appended. Call it if a checkpoint is due, or if it is in `writing`."""
        if not shard.is_active:
            return
        is_due = audit_of(shard).is_checkpoint_due
        if shard.partition in self.writing:
            self.writing.remove(shard.partition)
            if not is_due:
                del self._waiting[shard.partition]
                self._note_checkpoint(shard, now_ms)
        if is_due:
            self._want_snapshots(shard, now_ms)

    def held(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """The store of a shard holds audit records back: they are written after `group.audit.linger.ms`."""
        if not self._holding:
            self._wheel.start(HeldAuditKey(), now_ms + self._linger_ms)
        if shard not in self._holding:
            self._holding.append(shard)

    timer_keys = (CommitReportKey, AuditSnapshotKey, HeldAuditKey, AuditCheckpointFileKey)

    def due(self, key: object, now_ms: int) -> None:
        """A timer of this schedule fired."""
        match key:
            case CommitReportKey(partition):
                self._report_commits(partition, now_ms)
            case AuditSnapshotKey():
                self._write_snapshots(now_ms)
            case HeldAuditKey():
                self._write_held(now_ms)
            case AuditCheckpointFileKey():
                self._file_timer_runs = False
                self._write_checkpoints()

    def request_snapshots(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """Have the groups of an active shard written again, so that the audit before these snapshots can be deleted."""
        self._want_snapshots(shard, now_ms)

    def finish(self, shards: Iterable[Shard[GroupStateMachine]], now_ms: int, drain: Callable[[int], None]) -> None:
        """Before a clean stop, report all commits, and write snapshots where the next start has less to read then."""
        for shard in shards:
            if not shard.is_active:
                continue
            report = self._reports[shard.partition]
            self._submit_report(shard, report, report.group_ids + audit_of(shard).pop_committed_groups(), now_ms)
            audit = audit_of(shard)
            if audit.next_offset - audit.checkpoint_offset > len(audit.groups):
                self._submit(shard, ProjectionWrite(audit.add_snapshots))
            drain(now_ms)
            while shard.is_active and audit.is_checkpoint_due:
                self._submit(shard, ProjectionWrite(audit.add_snapshots))
                drain(now_ms)
            shard.write_held(now_ms)
            if shard.is_active:
                audit_of(shard).stream.note_checkpoint(audit_of(shard).checkpoint_offset)
        self._write_checkpoints()

    def _write_checkpoints(self) -> None:
        if self._checkpoints is not None:
            self._checkpoints.write()

    def _write_held(self, now_ms: int) -> None:
        shards, self._holding = self._holding, []
        for shard in shards:
            shard.write_held(now_ms)
            if shard.needs_retry:
                self._mark_dirty(shard)

    # ---- snapshots

    def _want_snapshots_by_age(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """Request snapshots if they would be due before the next check, which is one interval later."""
        next_check_ms = self._wall.at(now_ms) + self._interval_ms
        if audit_of(shard).checkpoint_ms + snapshot_interval_ms(shard) <= next_check_ms:
            self._want_snapshots(shard, now_ms)

    def _want_snapshots(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        self._waiting.setdefault(shard.partition, shard)
        if not self._snapshot_timer_runs:
            self._snapshot_timer_runs = True
            self._wheel.start(AuditSnapshotKey(), now_ms + 1)

    def _write_snapshots(self, now_ms: int) -> None:
        self._snapshot_timer_runs = False
        while self._waiting:
            shard = next(iter(self._waiting.values()))
            if shard.is_active:
                self.writing.add(shard.partition)
                self._submit(shard, ProjectionWrite(audit_of(shard).add_snapshots))
                self._want_snapshots(shard, now_ms)
                return
            del self._waiting[shard.partition]

    def _note_checkpoint(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        if audit_of(shard).stream.note_checkpoint(audit_of(shard).checkpoint_offset) and not self._file_timer_runs:
            self._file_timer_runs = True
            self._wheel.start(AuditCheckpointFileKey(), now_ms + FILE_DELAY_MS)

    # ---- offset commits

    def _start_interval(
        self, shard: Shard[GroupStateMachine], start_ms: int, first_log_offset: int, now_ms: int
    ) -> None:
        timer = self._wheel.start(CommitReportKey(shard.partition), now_ms + self._interval_ms)
        self._reports[shard.partition] = CommitReport(shard, start_ms, first_log_offset, timer)

    def _report_commits(self, partition: int, now_ms: int) -> None:
        """Report a slice of the groups, and start the timer for the rest or for the next interval."""
        report = self._reports[partition]
        shard = report.shard
        if not shard.is_active:
            del self._reports[partition]
            return
        if not report.group_ids:
            report.group_ids = audit_of(shard).pop_committed_groups()
            report.next_start_ms, report.next_first_log_offset = now_ms, shard.store.end_offset
            self._want_snapshots_by_age(shard, now_ms)
        self._submit_report(shard, report, report.group_ids[:REPORTED_AT_ONCE], now_ms)
        del report.group_ids[:REPORTED_AT_ONCE]
        if report.group_ids:
            report.timer = self._wheel.start(CommitReportKey(partition), now_ms + 1)
        else:
            self._start_interval(shard, report.next_start_ms, report.next_first_log_offset, now_ms)

    def _submit_report(
        self, shard: Shard[GroupStateMachine], report: CommitReport, group_ids: list[str], now_ms: int
    ) -> None:
        if not group_ids:
            return
        bounds = (now_ms - report.start_ms, report.first_log_offset, shard.store.end_offset - 1)

        def write(groups: Mapping[str, Group[Any]], now_ms: int) -> None:
            audit_of(shard).add_commits(groups, group_ids, now_ms, *bounds)

        self._submit(shard, ProjectionWrite(write))


def audit_of(shard: Shard[GroupStateMachine]) -> AuditProjection:
    """The audit of a shard of groups."""
    projection = shard.projection
    assert isinstance(projection, AuditProjection), projection
    return projection


def snapshot_interval_ms(shard: Shard[GroupStateMachine]) -> int:
    """The longest time between two snapshots of a live group: half the effective `retention.ms` of the audit topic.

    So a reader finds all live groups in what the retention keeps.
    """
    retention_ms = audit_of(shard).stream.log.config.retention_ms
    return SNAPSHOT_INTERVAL_MS_MAX if retention_ms < 0 else min(retention_ms // 2, SNAPSHOT_INTERVAL_MS_MAX)
