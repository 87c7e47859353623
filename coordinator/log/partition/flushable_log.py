"""A log whose end is flushed: how far it is on stable storage, and what of it is served."""

from typing import Self

from coordinator.log.files import FileSystem
from coordinator.log.partition.flush import Finish, Flush, Unflushed
from coordinator.log.partition.flush_trigger import FlushListener, FlushTrigger
from coordinator.log.partition.log_end import LogEnd


class FlushableLog(LogEnd):
    """The records before `recovery_point` are on stable storage."""

    name: str
    is_closed: bool

    def __init__(self, fs: FileSystem) -> None:
        self.recovery_point = 0
        self._fs = fs
        self._unflushed = Unflushed()
        self._flushed_bytes = 0
        """Of `appended_bytes`, those that a flush has covered."""
        self._flush_trigger = FlushTrigger()

    def watch(self, listener: FlushListener[Self], *, durable_only: bool) -> None:
        """Let a listener decide on flushes. With `durable_only`, records are served when they have been flushed."""
        self._flush_trigger.listener, self._flush_trigger.durable_only = listener, durable_only
        self._flush_trigger.schedule(self)

    @property
    def high_watermark(self) -> int:
        """The end of what is served."""
        return self.recovery_point if self._flush_trigger.durable_only else self.log_end_offset

    @property
    def served_bytes(self) -> int:
        """Of `appended_bytes`, those that are served."""
        return self._flushed_bytes if self._flush_trigger.durable_only else self.appended_bytes

    def start_flush(self) -> Flush | None:
        """Return the flush of all unflushed records; None if there are none.

        The caller calls its `run`, and then `finish_flush`.
        """
        if self.recovery_point >= self.log_end_offset and not self._unflushed.directories:
            return None
        finished, directories = self._unflushed.drain()
        active = self.segments.items[-1] if self.segments.items else None
        return Flush(self, self.log_end_offset, self.appended_bytes, self._fs, finished, active, directories)

    def start_flush_of_rolled(self) -> Flush | None:
        """As `start_flush`, of the segments that will not change any more; those that were begun stay unflushed."""
        if not self._unflushed.segments:
            return None
        rolled, directories = self._unflushed.drain()
        return Flush(self, rolled[-1].next_offset, 0, self._fs, rolled, None, directories)

    def finish_flush(self, flush: Flush) -> None:
        """Advance the recovery point to the end of a completed flush."""
        flush.release()
        self.recovery_point = max(self.recovery_point, flush.end_offset)
        self._flushed_bytes = max(self._flushed_bytes, flush.appended_bytes)
        self._flush_trigger.schedule(self)
        if self.log_end_offset >= self._flush_trigger.notify_at:
            self._flush_trigger.notify(self)  # of what was appended meanwhile

    def flush(self) -> None:
        """Return when all records are on stable storage.

        Raises:
            LogFlushError: an fsync failed.
        """
        if flush := self.start_flush():
            flush.run()
            for segment in flush.finished:
                segment.save_indexes(flush=True)
            self.finish_flush(flush)

    def start_finish(self) -> Finish | None:
        """Return what a clean stop has to write and flush; None if there is nothing.

        The caller calls its `run`, and then `end_finish`. No append may follow.

        Raises:
            OSError: the bytes of a failed append cannot be removed; the next `open` must not be `clean`.
        """
        if self.segments.items:
            self.segments.items[-1].complete()
        flush = self.start_flush()
        unsaved = [segment for segment in self.segments.items if not segment.indexes_are_flushed]
        return Finish(flush, unsaved) if flush is not None or unsaved else None

    def end_finish(self, finish: Finish) -> None:
        """All that was to be made safe is."""
        if finish.flush is not None:
            self.finish_flush(finish.flush)

    def finish(self) -> None:
        """Flush records and indexes for a clean shutdown: if no append follows, the next `open` may be `clean`.

        Raises:
            LogFlushError: an fsync failed; the next `open` must not be `clean`.
            OSError: an index cannot be written; the next `open` must not be `clean`.
        """
        if finish := self.start_finish():
            finish.run()
            self.end_finish(finish)
