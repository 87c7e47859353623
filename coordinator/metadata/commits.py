"""Commits of the metadata log: what was appended is made durable, then applied, then reported, in order.

One flush is under way at a time, in a thread. What is appended meanwhile shares the next one.
Counterpart in Kafka: the `DeferredEventQueue` of the `QuorumController`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from coordinator.log.disk_threads import DiskThreads, InLine
from coordinator.log.errors import LogFlushError
from coordinator.log.partition.flush import Flush
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.logger import logger
from coordinator.metadata.records import MetadataRecord

RECORDS_AT_ONCE: Final = 100
"""Records that are applied, and calls that are made, in one iteration of the event loop; at most twice as many."""


CallSoon = Callable[[Callable[[], None]], object]
"""Calls back in the next iteration of the event loop (`loop.call_soon`)."""


class Change(msgspec.Struct, frozen=True):
    """Records that were appended together, or a portion of them, and what is called when they are applied."""

    records: Sequence[MetadataRecord]
    applied: Callable[[], None]


def _nothing() -> None:
    """Nobody has to know."""


def _flush_error(problem: Exception) -> LogFlushError:
    return problem if isinstance(problem, LogFlushError) else LogFlushError(str(problem))


def _raise(problem: LogFlushError) -> None:
    raise problem


class MetadataCommits:
    """Belongs to the event loop. Until `run_in` is called, each change is committed before `add` returns."""

    def __init__(
        self, log: PartitionLog, apply: Callable[[MetadataRecord], None], committed: Callable[[], None]
    ) -> None:
        """`apply` gets each record that is durable; `committed` is called after the changes of each flush."""
        self._log = log
        self._apply_record = apply
        self._committed = committed
        self._threads: DiskThreads | InLine = InLine()
        self._call_soon: CallSoon | None = None
        self._on_flush_failure: Callable[[LogFlushError], None] = _raise
        self._appended: deque[Change] = deque()
        """Changes that belong to the next flush."""
        self._committing: deque[Change] | None = None
        """Changes of the flush that is under way, or has ended, that are not applied yet; None: there is no flush."""
        self._is_starting = False
        self._is_abandoned = False
        self._failure: Exception | None = None
        """What a flush in a thread has raised; perhaps it was not reported yet."""

    def run_in(
        self,
        threads: DiskThreads | InLine,
        call_soon: CallSoon | None,
        on_flush_failure: Callable[[LogFlushError], None],
    ) -> None:
        """Flush in these threads from now on.

        `call_soon` calls back in the next iteration of the event loop; without it, all changes are applied at once.
        `on_flush_failure` is called when an fsync failed. Then nothing is committed, and nobody called, any more.
        """
        self._threads, self._call_soon, self._on_flush_failure = threads, call_soon, on_flush_failure

    @property
    def is_pending(self) -> bool:
        """Whether a change was appended that is not committed yet."""
        return self._committing is not None or bool(self._appended)

    def add(self, records: Sequence[MetadataRecord], applied: Callable[[], None]) -> None:
        """Commit records that were appended just now; then `applied` is called, before later records are applied.

        Raises:
            LogFlushError: an fsync failed, and `run_in` was not called.
        """
        # One with very many is applied in portions: other requests have their turn between them.
        first = 0
        while len(records) - first > RECORDS_AT_ONCE:
            self._appended.append(Change(records[first : first + RECORDS_AT_ONCE], _nothing))
            first += RECORDS_AT_ONCE
        self._appended.append(Change(records[first:] if first else records, applied))
        self._start()

    def when_committed(self, call: Callable[[], None]) -> None:
        """Call when all that was appended so far is committed; at once if it is."""
        if self._appended:
            self._appended.append(Change((), call))
        elif self._committing is not None:
            self._committing.append(Change((), call))
        else:
            call()

    def finish(self) -> None:
        """Before a clean stop, after the threads have ended: commit in the caller's thread what is left.

        Raises:
            LogFlushError: an fsync failed.
        """
        if self.is_pending and not self._is_abandoned:
            if self._failure is not None:
                # A second fsync may succeed, and say nothing of what the first one has lost.
                raise _flush_error(self._failure)
            self._log.flush()
            self._committing = (self._committing or deque()) + self._appended
            self._appended, self._call_soon = deque(), None
            self._committed = _nothing  # no snapshot is begun now
            self._apply()
        self.abandon()

    def abandon(self) -> None:
        """Commit nothing any more: the log is closed, or about to be."""
        self._is_abandoned = True

    def _start(self) -> None:
        """Start the next flush, unless one is under way or its changes are being applied."""
        if self._is_starting or self._is_abandoned:
            return
        self._is_starting = True
        try:
            # Without threads each flush has ended when `run` returns, and more may have been appended.
            while self._appended and self._committing is None:
                self._committing, self._appended = self._appended, deque()
                flush = self._log.start_flush()
                self._threads.run([] if flush is None else [partial(self._run, flush)], partial(self._flushed, flush))
        finally:
            self._is_starting = False

    def _run(self, flush: Flush) -> None:
        """The work of a thread."""
        try:
            flush.run()
        except Exception as problem:
            self._failure = problem
            raise

    def _flushed(self, flush: Flush | None, problem: Exception | None) -> None:
        if self._is_abandoned:
            if flush is not None:
                flush.release()
        elif problem is not None:
            if flush is not None:
                flush.release()
            self.abandon()
            self._on_flush_failure(_flush_error(problem))
        else:
            if flush is not None:
                self._log.finish_flush(flush)
            self._apply()

    def _apply(self) -> None:
        """Apply the changes that are durable; the rest of very many in the next iterations of the event loop."""
        changes, count = self._committing, 0
        if changes is None or self._is_abandoned:
            return
        while changes:
            if count >= RECORDS_AT_ONCE and self._call_soon is not None:
                self._call_soon(self._apply)
                return
            change = changes.popleft()
            for record in change.records:
                self._apply_record(record)
            try:
                change.applied()
            except Exception:
                # The changes after it are durable, too: others wait for them.
                logger.exception("unhandled exception after a change of the metadata; continuing with the next change")
            count += max(len(change.records), 1)
        self._committing = None
        self._committed()
        self._start()
