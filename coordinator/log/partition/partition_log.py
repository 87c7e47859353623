"""The log of one partition: segments in a directory, appended at the end, read at any offset (UnifiedLog.java)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, Self

import msgspec

from _wire.records import BatchHeader, place_batch, place_batches, set_log_append_time
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.partition_metadata import write_topic_id
from coordinator.log.errors import LogAppendError, OffsetOutOfRange, RecordBatchTooLarge, RecordListTooLarge
from coordinator.log.files import FileSystem, OpenFile
from coordinator.log.names import folder_name
from coordinator.log.partition.readable_log import ReadableLog
from coordinator.log.recovery.load import Loss, Recovery, load_segments
from coordinator.log.segments import producer_snapshot
from coordinator.log.segments.files import remove_segment_files
from coordinator.log.segments.log_segments import LogSegments
from coordinator.log.segments.segment import Segment
from coordinator.log.segments.segment_file import NO_TIMESTAMP


class AppendResult(msgspec.Struct, frozen=True):
    """The result of an append. `log_append_time_ms` is -1 unless message.timestamp.type is LogAppendTime."""

    base_offset: int
    last_offset: int
    batch_count: int
    log_append_time_ms: int


class OpenTransactions(Protocol):
    """What is known of the transactions in a log."""

    @property
    def next_offset(self) -> int:
        """The offset before which all transactions are known."""

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first open transaction begins; None: none is open."""


class SegmentFiles(Protocol):
    """Copies of the files of a segment: the log file, and the sizes of the three indexes if they were copied."""

    @property
    def file(self) -> OpenFile: ...
    @property
    def index_bytes(self) -> Sequence[int] | None: ...


class PartitionLog(ReadableLog):
    """The records with offsets from `log_start_offset` (inclusive) to `log_end_offset` (exclusive)."""

    def __init__(self, fs: FileSystem, directory: Path, topic: str, partition: int, config: LogConfig) -> None:
        """Create an empty log that is not on disk. Use `open` instead."""
        super().__init__(fs)
        self.topic = topic
        self.partition = partition
        self.config = config
        self.name = folder_name(topic, partition)
        self.folder = directory / self.name
        self.log_start_offset = 0
        self.recovery = Recovery()
        self.open_transactions: OpenTransactions | None = None
        """None until somebody needs them (`broker/data/producer_directory.py`): they have to be read first."""
        self.markers_from = 0
        self.markers_end = -1
        """From and to which offset there are only markers of transactions, see `segments/markers.py`."""
        self.is_closed = False
        self.snapshots_saved = 0
        """How many producer snapshots were stored since the log was opened."""
        self._topic_id: bytes | None = None
        self.segments = LogSegments()

    @classmethod
    def open(
        cls,
        fs: FileSystem,
        directory: Path,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean: bool = False,
        killed: bool = False,
        lazy: bool = False,
        topic_id: bytes | None = None,
    ) -> Self:
        """Open the log in `directory`/`<topic>-<partition>`; create it if it does not exist.

        Unless the last shutdown was `clean`, the log is recovered from `recovery_point` on. `killed`: the process ended
        without one, but the system kept what it had written (Loss.LAST_APPEND). With `lazy`, a log that
        does not exist has neither a directory nor files until its first append. A directory that is created gets the
        `topic_id`.

        Raises:
            InvalidTopicName: the name is not allowed; nothing was created.
            OSError: the directory cannot be created or read.
        """
        loss = Loss.NOTHING if clean else Loss.LAST_APPEND if killed else Loss.UNFLUSHED
        log = cls(fs, directory, topic, partition, config)
        log._topic_id = topic_id
        if fs.is_directory(log.folder):
            segments, log.recovery = load_segments(
                fs, log.folder, config, recovery_point, log_start_offset=log_start_offset, loss=loss
            )
            for segment in segments:
                log.segments.add(segment)
            if not clean:
                # The process that created them may have been killed before it flushed their directory entries.
                log._unflushed.directories = [log.folder.parent, log.folder]
            producer_snapshot.remove_snapshots_after(fs, log.folder, log.indexed_transactions_end)
        if log.segments.items and log.segments.items[-1].next_offset < log_start_offset:
            # What came after the deleted records was lost. Their offsets must not be used again.
            for segment in reversed(log.segments.items):
                segment.close()
                remove_segment_files(fs, log.folder, segment.base_offset)
            log.segments.forget()
            log._unflushed.fsync_later(log.folder)
        if log.segments.items:
            log.log_end_offset = log.segments.items[-1].next_offset
            log.log_start_offset = min(max(log_start_offset, log.segments.items[0].base_offset), log.log_end_offset)
            log.recovery_point = log.log_end_offset if clean else min(recovery_point, log.log_end_offset)
            finished = log.segments.items[:-1]
            log._unflushed.segments = [segment for segment in finished if segment.next_offset > log.recovery_point]
        else:
            log.log_start_offset = log.log_end_offset = log.recovery_point = log_start_offset
            if not lazy:
                log._create_segment()
        return log

    def configure(self, config: LogConfig) -> None:
        """Use other settings from the next append on."""
        self.config = config
        if self.segments.items:
            self.segments.items[-1].configure(config)
        self._flush_trigger.schedule(self)

    @property
    def size_bytes(self) -> int:
        """The size of all batches in bytes."""
        return sum(segment.size_bytes for segment in self.segments.items)

    @property
    def last_stable_offset(self) -> int | None:
        """The offset before which all transactions have ended (UnifiedLog.lastStableOffset).

        None as long as the transactions up to the end of the log are not known.
        """
        tracked = self.open_transactions
        if tracked is None or tracked.next_offset < self.log_end_offset:
            return None
        first = tracked.first_unstable_offset
        served = self.high_watermark
        return served if first is None else min(max(first, self.log_start_offset), served)

    @property
    def indexed_transactions_end(self) -> int:
        """The offset up to which no aborted transaction is missing from the transaction indexes.

        It is the base offset of the first segment that was recovered, or else the end of the log.
        """
        rebuilt = (segment.base_offset for segment in self.segments.items if segment.is_rebuilt)
        return next(rebuilt, self.segments.items[-1].next_offset if self.segments.items else 0)

    def newest_producer_snapshot(self) -> tuple[int, list[producer_snapshot.SnapshotEntry]]:
        """The newest producer snapshot and its offset; offset 0 and no producer if there is none.

        Raises:
            OSError: a file cannot be read or removed.
        """
        return producer_snapshot.newest_snapshot(self._fs, self.folder, self.log_end_offset)

    def save_producer_snapshot(self, offset: int, data: bytes, *, flush: bool = False) -> None:
        """Store the producer state before an offset, and remove all snapshots but the newest few.

        The transaction indexes are saved first: a load trusts them up to the snapshot.

        Raises:
            OSError: a file cannot be written or removed.
        """
        if not self.is_closed and self._fs.is_directory(self.folder):
            for segment in self.segments.items:
                segment.transaction_index.save(self._fs, flush=flush)
            producer_snapshot.write_snapshot(self._fs, self.folder, offset, data, flush=flush)
            self.snapshots_saved += 1

    # ----------------------------------------------------------------------------------------------------------- append

    def append(self, batches: bytearray, leader_epoch: int, now_ms: int) -> AppendResult:
        """Assign offsets to batches that nobody has checked, in place, and write them with one write.

        Raises:
            CorruptBatch: the bytes are not one or more whole batches of format 2, or a checksum is wrong.
            RecordBatchTooLarge: a batch is larger than max.message.bytes.
            RecordListTooLarge: the batches are together larger than segment.bytes.
            LogAppendError: the write failed.
        """
        config = self.config
        headers = place_batches(batches, self.log_end_offset, leader_epoch)
        for header in headers:
            if header.size_in_bytes > config.max_message_bytes:
                size, limit = header.size_in_bytes, config.max_message_bytes
                raise RecordBatchTooLarge(f"{self.name}: a batch has {size} bytes, but max.message.bytes is {limit}")
        self._check_size(len(batches))
        log_append_time_ms = NO_TIMESTAMP
        if config.message_timestamp_type == "LogAppendTime":
            log_append_time_ms = now_ms
            for header in headers:
                set_log_append_time(batches, header.position, now_ms)
            headers = place_batches(batches, self.log_end_offset, leader_epoch, False)
        last_offset = headers[-1].last_offset
        max_timestamp_ms = max([header.max_timestamp_ms for header in headers])
        try:
            self._segment_for(len(batches), last_offset, max_timestamp_ms).append(batches, headers)
        except OSError as error:
            raise LogAppendError(f"{self.name}: {error}") from error
        base_offset = self.log_end_offset
        self._appended(last_offset, len(batches))
        return AppendResult(base_offset, last_offset, len(headers), log_append_time_ms)

    def append_batch(self, header: BatchHeader, batch: bytearray, leader_epoch: int, now_ms: int) -> int:
        """Assign offsets to one batch that `validate_batch` has checked, in place and in its header, and write it.

        Returns:
            Its log append time in ms; -1 unless message.timestamp.type is LogAppendTime.

        Raises:
            CorruptBatch: no offsets are left.
            RecordListTooLarge: the batch is larger than segment.bytes.
            LogAppendError: the write failed.
        """
        size_bytes = header.size_in_bytes
        self._check_size(size_bytes)
        log_append_time_ms = now_ms if self.config.message_timestamp_type == "LogAppendTime" else NO_TIMESTAMP
        place_batch(header, batch, self.log_end_offset, leader_epoch, log_append_time_ms)
        last_offset = header.last_offset
        try:
            self._segment_for(size_bytes, last_offset, header.max_timestamp_ms).append(batch, (header,))
        except OSError as error:
            raise LogAppendError(f"{self.name}: {error}") from error
        self._appended(last_offset, size_bytes)
        return log_append_time_ms

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self.config.segment_bytes:
            raise RecordListTooLarge(
                f"{self.name}: an append has {size_bytes} bytes, but segment.bytes is {self.config.segment_bytes}"
            )

    def _segment_for(self, size_bytes: int, last_offset: int, max_timestamp_ms: int) -> Segment:
        """Return the active segment; roll a new one first if it is full or too old."""
        if not self.segments.items:
            if not self._fs.is_directory(self.folder.parent):
                # This raises. make_directory would create it, on another disk if that of the directory was unmounted.
                self._fs.names(self.folder.parent)
            return self._create_segment()
        active = self.segments.items[-1]
        # Nothing is appended to bytes that somebody may want to repair.
        is_whole = not active.damages or not active.ends_damaged
        if is_whole and active.has_room_for(size_bytes, last_offset, max_timestamp_ms):
            return active
        return self._roll()

    def roll(self) -> None:
        """End the active segment, unless it is empty, so that the next append begins another.

        Raises:
            OSError: a file cannot be written or created.
        """
        if self.segments.items and self.segments.items[-1].size_bytes > 0:
            self._roll()

    def _roll(self) -> Segment:
        active = self.segments.items[-1]
        active.finish()
        segment = self._create_segment()
        self._unflushed.segments.append(active)
        if (listener := self._flush_trigger.listener) is not None:
            listener.rolled(self)
        return segment

    def _create_segment(self) -> Segment:
        if not self._fs.is_directory(self.folder):
            self._unflushed.fsync_later(self.folder.parent)
            self._fs.make_directory(self.folder)
            if self._topic_id is not None:
                write_topic_id(self._fs, self.folder, self._topic_id)
        self._unflushed.fsync_later(self.folder)
        segment = Segment(self._fs, self.folder, self.log_end_offset, self.config)
        try:
            segment.create_files()
        except OSError:
            segment.close()
            raise
        self.segments.add(segment)
        return segment

    # --------------------------------------------------------------------------------------------------------- deletion

    def delete_records_before(self, offset: int) -> bool:
        """Advance `log_start_offset`; return whether it did. The caller stores it, then deletes the segments before it.

        Raises:
            OffsetOutOfRange: `offset` is after `log_end_offset`.
        """
        if offset > self.log_end_offset:
            raise OffsetOutOfRange(self.name, offset, self.log_start_offset, self.log_end_offset)
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        return True

    @property
    def has_segments_to_delete(self) -> bool:
        """Whether all records of the oldest segment lie before `log_start_offset`."""
        return (
            bool(self.segments.items)
            and self.segments.items[0].base_offset < self.segments.items[0].next_offset <= self.log_start_offset
        )

    def delete_oldest_segment(self) -> None:
        """Delete a segment of which `has_segments_to_delete`; a new one is rolled if it is the only one.

        Its files are only renamed; `LogSegments.remove_deleted_files` removes them later. The oldest one goes first, so
        that a crash leaves no gap.

        Raises:
            OSError: the files cannot be renamed, or the new segment cannot be created.
        """
        oldest = self.segments.items[0]
        if len(self.segments.items) == 1:
            oldest.finish()
            self._create_segment()
        self.segments.delete_oldest()
        self._unflushed.forget([oldest])
        self._unflushed.fsync_later(self.folder)

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> bool:
        """Replace neighbouring segments by a cleaned one, whose files are complete and have the suffix `.swap`.

        The files of the old ones are only renamed; `LogSegments.remove_deleted_files` removes them later. If the
        renaming fails, the log goes on with the old ones, and the next start completes the replacement.

        Returns:
            False if not all of the old segments are part of the log any more; nothing was changed.

        Raises:
            OSError: a file cannot be renamed.
        """
        first = self.segments.index_of_all(old)
        if first is None:
            return False
        self._unflushed.fsync_later(self.folder)
        self.segments.replace(first, len(old), new)
        self._unflushed.forget(old)
        return True

    # ------------------------------------------------------------------------------------------------------------- move

    @property
    def is_held(self) -> bool:
        """Whether another thread reads or flushes a segment."""
        return any(segment.is_held for segment in self.segments.items)

    def moved_to(self, directory: Path, copies: Sequence[SegmentFiles]) -> list[OpenFile]:
        """Go on with copies of all segments, which are in `directory`/`<topic>-<partition>` now. Nobody may hold them.

        All that was flushed before is on stable storage there. Return the files that were used before, for closing.
        """
        self.folder = directory / self.name
        self.segments.forget_deleted()
        former = [
            segment.moved_to(self.folder, copy.file, copy.index_bytes or (0, 0, 0))
            for segment, copy in zip(self.segments.items, copies, strict=True)
        ]
        self._unflushed.directories = [directory, self.folder] if copies else []
        return former

    def close(self) -> None:
        """Close the files without a flush."""
        self.is_closed = True
        self.segments.close()
