"""Flushes logs while the server runs, in threads (LogManager.flushDirtyLogs, UnifiedLog.roll).

- A segment that was rolled is flushed, and the recovery point moves to its end.
- `flush.messages` and `flush.ms` of a topic flush its logs.
- Every `log.flush.offset.checkpoint.interval.ms` the recovery points and log start offsets are stored.
- With `log.flush.policy=always`, all logs that were appended to are flushed together (group commit), and what was
  appended counts only then: clients are answered, and it is read.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.broker.directories.disk_errors import DiskErrors
from coordinator.config.log_keys import LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS, LOG_FLUSH_POLICY
from coordinator.config.settings import Config
from coordinator.deadlines import deadline_after
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.disk_threads import DiskThreads, InLine
from coordinator.log.errors import LogFlushError
from coordinator.log.partition.flush import Flush, work_of
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.logger import logger

ALWAYS: Final = "always"


class CheckpointKey:
    """The timer key of the next write of the checkpoint files."""


class FlushKey(msgspec.Struct, frozen=True):
    """The timer key of a log whose `flush.ms` have passed."""

    log: PartitionLog


class Scheduler(Protocol):
    """The event loop."""

    def start(self, key: object, deadline_ms: int) -> int: ...

    def request_iteration(self) -> None: ...


Durable = Callable[[Any], None]
"""Is called with None when what was appended is on stable storage, except in log directories that failed meanwhile."""


class GroupCommit:
    """The flushes of a group commit. A log directory whose disk fails does not fail the others."""

    def __init__(self, flushes: Sequence[tuple[PartitionLog, Flush]]) -> None:
        self.flushes = flushes
        self.failed: dict[Path, Exception] = {}
        """Log directory → what failed first in it."""

    def work(self) -> list[Callable[[], None]]:
        """What the threads have to do."""
        by_directory: dict[Path, list[Flush]] = {}
        for log, flush in self.flushes:
            by_directory.setdefault(log.folder.parent, []).append(flush)
        return [
            partial(self._run, root, work)
            for root, of_root in by_directory.items()
            for work in work_of((flush.run, flush) for flush in of_root)
        ]

    def _run(self, root: Path, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as problem:
            self.failed.setdefault(root, problem)
            raise


def _flush_error(problem: Exception) -> LogFlushError:
    return problem if isinstance(problem, LogFlushError) else LogFlushError(str(problem))


class LogFlusher:
    """All flushes of the logs of a node, but those of the metadata log. It belongs to the event loop."""

    def __init__(
        self,
        config: Config,
        directories: LogDirectories,
        notifier: AppendNotifier,
        scheduler: Scheduler,
        threads: DiskThreads | InLine,
        *,
        on_failure: Callable[[LogFlushError], None],
        clock: Callable[[], int],
        disk_errors: DiskErrors | None = None,
    ) -> None:
        """`clock` gives ms since the epoch. `on_failure` is called when an fsync failed: the process has to stop."""
        self._disk_errors = disk_errors or DiskErrors()
        self.is_durable_only: Final = config[LOG_FLUSH_POLICY] == ALWAYS
        """Whether each append is flushed before it counts."""
        self._checkpoint_interval_ms = config[LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS]
        self._directories = directories
        self._notifier = notifier
        self._scheduler = scheduler
        self._threads = threads
        self._on_failure = on_failure
        self._clock = clock
        self._flushing: dict[PartitionLog, list[bool]] = {}
        """Logs of which a flush in the background is under way, and those that were wanted meanwhile (`only_rolled`).

        One at a time: the end of a later one says nothing about the segments of an earlier one.
        """
        self._dirty: dict[PartitionLog, None] = {}
        """Logs that were appended to since the last group commit began."""
        self._waiting: list[Durable] = []
        """Who waits for the next group commit."""
        self._committing: list[Durable] | None = None
        """Who waits for the group commit that is under way; None if there is none."""
        self._suspensions: dict[PartitionLog, Callable[[], None]] = {}
        """Logs that nobody else may flush, and who is called when no flush is under way."""
        self._suspended: set[PartitionLog] = set()
        """Those of them of which no flush is under way."""
        if self.is_durable_only:
            notifier.defer_to(self.appended)

    def start(self, now_ms: int) -> None:
        """Start the timer of the checkpoints."""
        self._scheduler.start(CheckpointKey(), deadline_after(now_ms, self._checkpoint_interval_ms))

    def opened(self, log: PartitionLog) -> None:
        """Watch over a log that was opened.

        Raises:
            LogFlushError: an fsync of what a recovery found failed.
        """
        if self.is_durable_only and log.segments:
            # At once, though in the event loop: the high watermark must not lie before what clients know. After a
            # process with this policy only the appends of its last moment are left to flush.
            log.flush()
        log.watch(self, durable_only=self.is_durable_only)

    timer_keys = (FlushKey, CheckpointKey)

    def due(self, key: object, now_ms: int) -> None:
        """Do what is due if this is one of the timers of the flusher."""
        if isinstance(key, FlushKey):
            if not key.log.is_closed:
                self._flush(key.log)
        elif isinstance(key, CheckpointKey):
            self._threads.run([self._directories.prepare_checkpoints()], self._checkpointed)

    def _checkpointed(self, problem: Exception | None) -> None:
        if problem is not None and not self._disk_errors.report(problem, None):
            logger.error("cannot store the recovery points", problem=str(problem))
        self._scheduler.start(CheckpointKey(), deadline_after(self._clock(), self._checkpoint_interval_ms))

    # ------------------------------------------------------------------------------------------- in the background

    def rolled(self, log: PartitionLog) -> None:
        """A log has begun a new segment."""
        if not self.is_durable_only:
            self._flush(log, only_rolled=True)

    def flush_requested(self, log: PartitionLog, after_ms: int) -> None:
        """Records of a log have to be flushed (`flush.messages`, `flush.ms`), in so many ms."""
        if after_ms <= 0:
            self._flush(log)
        else:
            self._scheduler.start(FlushKey(log), deadline_after(self._clock(), after_ms))

    def request_flush(self, log: PartitionLog) -> None:
        """Flush all records of a log in the background; its recovery point shows when that is done."""
        self._flush(log)

    def _flush(self, log: PartitionLog, *, only_rolled: bool = False) -> None:
        if log in self._flushing:
            self._flushing[log].append(only_rolled)
            return
        flush = log.start_flush_of_rolled() if only_rolled else log.start_flush()
        if flush is not None:
            self._flushing[log] = []
            self._threads.run([flush.run], partial(self._flushed, log, flush))

    def _flushed(self, log: PartitionLog, flush: Flush, problem: Exception | None) -> None:
        if problem is not None:
            flush.release()
            del self._flushing[log]
            self._suspensions.pop(log, None)
            failure = _flush_error(problem)
            # Without threads this is called in the middle of an append.
            if not self._disk_errors.report(failure, log.folder):
                self._on_failure(failure)
            return
        log.finish_flush(flush)
        self._flush_again(log)

    # ----------------------------------------------------------------------------------------------------- suspension

    def suspend(self, log: PartitionLog, ready: Callable[[], None]) -> None:
        """Begin no flush of a log until `resume`. `ready` is called when none is under way; perhaps at once.

        With `log.flush.policy=always` no group commit begins meanwhile, so this is for the time of one fsync. What
        was appended before is committed first.
        """
        assert log not in self._suspensions, log.name
        self._suspensions[log] = ready
        if not self._dirty:
            self._suspend_waiting()

    def is_suspended(self, log: PartitionLog) -> bool:
        """Whether a log is not flushed, or will soon not be."""
        return log in self._suspensions

    def resume(self, log: PartitionLog) -> None:
        """End the suspension of a log, also one that has not begun; what was to be flushed meanwhile is."""
        self._suspensions.pop(log, None)
        if log in self._suspended:
            self._suspended.discard(log)
            self._flush_again(log)
            if self._dirty:
                self._scheduler.request_iteration()

    def _suspend_waiting(self) -> None:
        """Tell those who wait for it that no flush of their log is under way."""
        if self._committing is not None:
            return
        waiting = [log for log in self._suspensions if log not in self._suspended and log not in self._flushing]
        for log in waiting:
            self._suspended.add(log)
            self._flushing[log] = []
        for log in waiting:
            self._suspensions[log]()

    def _flush_again(self, log: PartitionLog) -> None:
        """The flush of a log has ended, or its suspension: begin the one that was wanted meanwhile."""
        delay = self._flushing.pop(log)
        if delay and not log.is_closed:
            self._flush(log, only_rolled=all(delay))
        if log in self._suspensions and log not in self._flushing:
            self._suspend_waiting()

    # ------------------------------------------------------------------------------------------------ group commit

    def appended(self, log: PartitionLog) -> None:
        """A log was appended to: it belongs to the next group commit."""
        if not self._dirty:
            self._scheduler.request_iteration()
        self._dirty[log] = None

    def when_durable(self, durable: Durable) -> None:
        """Call `durable` when all that was appended so far is on stable storage; at once if it is, or need not be."""
        if self._dirty:
            self._waiting.append(durable)
        elif self._committing is not None:
            self._committing.append(durable)
        else:
            durable(None)

    def commit(self, now_ms: int) -> None:
        """At the end of a loop iteration: begin a group commit, unless one is under way.

        What is appended meanwhile belongs to the next one.
        """
        if not self._dirty or self._committing is not None or self._suspended:
            return
        logs, self._dirty = list(self._dirty), {}
        self._committing, self._waiting = self._waiting, []
        flushes = [(log, flush) for log in logs if (flush := log.start_flush()) is not None]
        round_ = GroupCommit(flushes)
        self._threads.run(round_.work(), partial(self._committed, round_))

    def _committed(self, round_: GroupCommit, problem: Exception | None) -> None:
        for path, failed in round_.failed.items():
            failure = _flush_error(failed)
            if not self._disk_errors.flush_failed(failure, path):
                self._on_failure(failure)
                return  # nobody is answered: what was to be durable may be lost
        for log, flush in round_.flushes:
            if log.folder.parent in round_.failed:
                flush.release()
                continue
            log.finish_flush(flush)
            self._notifier.mark_durable(log)
        durable, self._committing = self._committing or [], None
        for callback in durable:
            callback(None)
        self._suspend_waiting()
        if self._dirty:
            self._scheduler.request_iteration()

    def store_log_start_offsets(self, done: Callable[[Exception | None], None]) -> None:
        """Make the log start offsets durable, before the records before them are removed; `done` gets what failed."""

        def stored(problem: Exception | None) -> None:
            if problem is not None:
                self._disk_errors.report(problem, None)
            done(problem)

        self._threads.run([self._directories.prepare_log_start_offsets()], stored)

    def finish(self) -> None:
        """Before a clean stop, when nobody is to be answered any more: let all that waits go on without a flush.

        The logs are flushed when they are closed.
        """
        self._notifier.defer_to(None)
        while self._dirty or self._committing or self._waiting:
            durable = (self._committing or []) + self._waiting
            self._committing, self._waiting, self._dirty = None, [], {}
            for callback in durable:
                callback(None)
