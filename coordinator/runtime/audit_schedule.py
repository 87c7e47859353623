"""When the audit records are written that no event of a group causes: snapshots and reports of offset commits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from coordinator.core.classic_group import ClassicGroup
from coordinator.runtime.audit_checkpoints import AuditCheckpoints
from coordinator.runtime.batch import AuditWrite
from coordinator.runtime.group_state_machine import GroupStateMachine
from coordinator.runtime.interfaces import AuditRecord
from coordinator.runtime.shard import Shard
from coordinator.runtime.timer_keys import AuditCheckpointFileKey, AuditSnapshotKey, CommitReportKey
from coordinator.timers.wheel import TimerWheel

RETENTION_MS: Final = 7 * 24 * 3600 * 1000
"""Kafka's default of `retention.ms`, which is that of the audit topic."""

HALF_RETENTION_MS: Final = RETENTION_MS // 2
"""Each live group is written at least so often, so that its last snapshot is never old enough to be removed."""

FILE_DELAY_MS: Final = 1_000
"""Checkpoints of this long are written into the file together."""

REPORTED_AT_ONCE: Final = 500
"""Groups whose commits are reported before other work has its turn: some 0.5 ms."""


@dataclass(slots=True)
class CommitReport:
    """The interval of a partition whose offset commits are counted."""

    shard: Shard[GroupStateMachine]
    start_ms: int
    first_log_offset: int
    """The end of `__consumer_offsets` when the interval began."""
    timer: int
    """Number on the wheel of the timer that ends the interval, or of the next slice of the report."""
    group_ids: list[str] = field(default_factory=list)
    """Groups that are still to be reported, if the interval is over."""
    next_start_ms: int = 0
    next_first_log_offset: int = 0
    """Those of the interval that follows."""


class AuditSchedule:
    """Queues audit records on the shards, in slices, so that many groups stall nobody."""

    def __init__(
        self,
        wheel: TimerWheel,
        interval_ms: int,
        checkpoints: AuditCheckpoints,
        submit: Callable[[Shard[GroupStateMachine], AuditWrite], None],
    ) -> None:
        """`interval_ms` is that of the reports; `submit` puts a write before all that is queued on a shard."""
        self._wheel = wheel
        self._interval_ms = interval_ms
        self._checkpoints = checkpoints
        self._submit = submit
        self._reports: dict[int, CommitReport] = {}
        self._waiting: dict[int, Shard[GroupStateMachine]] = {}
        """Partitions that need snapshots; one slice of the first one is written per millisecond."""
        self._served: set[int] = set()
        """Those of them whose slice is queued."""
        self._snapshot_timer_runs = False
        self._file_timer_runs = False

    @property
    def running_timers(self) -> int:
        """How many timers are on the wheel."""
        return len(self._reports) + self._snapshot_timer_runs + self._file_timer_runs

    def loaded(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """A shard became active; all that was counted of its commits before is forgotten."""
        if shard.partition in self._reports:
            self._wheel.cancel(self._reports[shard.partition].timer)
        self._start_interval(shard, now_ms, shard.store.offsets_end_offset, now_ms)
        self._waiting.pop(shard.partition, None)
        self._served.discard(shard.partition)
        self._note_checkpoint(shard, now_ms)
        self._want_snapshots_by_age(shard, now_ms)
        if shard.machine.audit.is_checkpoint_due:
            self._want_snapshots(shard, now_ms)

    @property
    def is_writing(self) -> bool:
        """Whether snapshots are queued on some shard."""
        return bool(self._served)

    def drained(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """What was queued on a shard is appended. To be called if a checkpoint of it is due, or while `is_writing`."""
        if not shard.is_active:
            return
        is_due = shard.machine.audit.is_checkpoint_due
        if shard.partition in self._served:
            self._served.remove(shard.partition)
            if not is_due:
                del self._waiting[shard.partition]
                self._note_checkpoint(shard, now_ms)
        if is_due:
            self._want_snapshots(shard, now_ms)

    def due(self, key: object, now_ms: int) -> None:
        """A timer of this schedule fired."""
        match key:
            case CommitReportKey(partition):
                self._report_commits(partition, now_ms)
            case AuditSnapshotKey():
                self._write_snapshots(now_ms)
            case AuditCheckpointFileKey():
                self._file_timer_runs = False
                self._checkpoints.write()

    def finish(self, shards: Iterable[Shard[GroupStateMachine]], now_ms: int, drain: Callable[[int], None]) -> None:
        """Before a clean stop: report all commits, and write snapshots where that makes the next start cheaper."""
        for shard in shards:
            if not shard.is_active:
                continue
            report = self._reports[shard.partition]
            self._submit_report(shard, report, report.group_ids + shard.machine.audit.take_committed_groups(), now_ms)
            audit = shard.machine.audit
            if audit.next_offset - audit.checkpoint_offset > len(audit.groups):
                self._submit(shard, AuditWrite(audit.write_snapshots))
            drain(now_ms)
            while shard.is_active and audit.is_checkpoint_due:
                self._submit(shard, AuditWrite(audit.write_snapshots))
                drain(now_ms)
            if shard.is_active:
                shard.store.note_audit_checkpoint(shard.machine.audit.checkpoint_offset)
        self._checkpoints.write()

    # ---- snapshots

    def _want_snapshots_by_age(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        """The next time to look is an interval away."""
        if shard.machine.audit.checkpoint_ms + HALF_RETENTION_MS <= now_ms + self._interval_ms:
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
                self._served.add(shard.partition)
                self._submit(shard, AuditWrite(shard.machine.audit.write_snapshots))
                self._want_snapshots(shard, now_ms)
                return
            del self._waiting[shard.partition]

    def _note_checkpoint(self, shard: Shard[GroupStateMachine], now_ms: int) -> None:
        if shard.store.note_audit_checkpoint(shard.machine.audit.checkpoint_offset) and not self._file_timer_runs:
            self._file_timer_runs = True
            self._wheel.start(AuditCheckpointFileKey(), now_ms + FILE_DELAY_MS)

    # ---- offset commits

    def _start_interval(
        self, shard: Shard[GroupStateMachine], start_ms: int, first_log_offset: int, now_ms: int
    ) -> None:
        timer = self._wheel.start(CommitReportKey(shard.partition), now_ms + self._interval_ms)
        self._reports[shard.partition] = CommitReport(shard, start_ms, first_log_offset, timer)

    def _report_commits(self, partition: int, now_ms: int) -> None:
        """Report some groups; the rest follows a moment later."""
        report = self._reports[partition]
        shard = report.shard
        if not shard.is_active:
            del self._reports[partition]
            return
        if not report.group_ids:
            report.group_ids = shard.machine.audit.take_committed_groups()
            report.next_start_ms, report.next_first_log_offset = now_ms, shard.store.offsets_end_offset
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
        bounds = (now_ms - report.start_ms, report.first_log_offset, shard.store.offsets_end_offset - 1)

        def write(groups: Mapping[str, ClassicGroup], now_ms: int) -> list[AuditRecord]:
            return shard.machine.audit.write_commits(groups, group_ids, now_ms, *bounds)

        self._submit(shard, AuditWrite(write))
