"""The log of one partition: segments in a directory, appended at the end, read at any offset (UnifiedLog.java)."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from _wire.records import BatchHeader, find_max_timestamp, find_timestamp, place_batches, set_log_append_time
from coordinator.log import producer_snapshot, segment_reads
from coordinator.log.config import INT64_MAX, LogConfig
from coordinator.log.errors import (
    LogAppendError,
    OffsetOutOfRange,
    RecordBatchTooLarge,
    RecordListTooLarge,
)
from coordinator.log.files import FileSystem
from coordinator.log.flush import Finish, Flush
from coordinator.log.names import folder_name
from coordinator.log.partition_metadata import write_topic_id
from coordinator.log.recovery import Loss, Recovery, load_segments
from coordinator.log.segment import NO_TIMESTAMP, PrebuiltBatch, Segment
from coordinator.log.segment_files import DELETED_SUFFIX, remove_segment_files
from coordinator.log.transaction_index import AbortedTransaction
from coordinator.logger import logger

REPLAY_BYTES = 1 << 20


class AppendResult(NamedTuple):
    """The result of an append. `log_append_time_ms` is -1 unless message.timestamp.type is LogAppendTime."""

    base_offset: int
    last_offset: int
    batch_count: int
    log_append_time_ms: int


class TimestampedOffset(NamedTuple):
    """A record that was found by its timestamp."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


class FlushListener(Protocol):
    """Decides when a log is flushed while it is open."""

    def rolled(self, log: "PartitionLog") -> None:
        """A new segment was begun; those before it will not change any more."""

    def flush_wanted(self, log: "PartitionLog", after_ms: int) -> None:
        """Records that were appended have to be flushed in so many ms."""


class OpenTransactions(Protocol):
    """What is known of the transactions in a log."""

    @property
    def next_offset(self) -> int:
        """The offset before which all transactions are known."""

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the first open transaction begins; None: none is open."""


class PartitionLog:
    """The records with offsets from `log_start_offset` (inclusive) to `log_end_offset` (exclusive)."""

    def __init__(self, fs: FileSystem, directory: Path, topic: str, partition: int, config: LogConfig) -> None:
        """Create an empty log that is not on disk. Use `open` instead."""
        self.topic = topic
        self.partition = partition
        self.config = config
        self.name = folder_name(topic, partition)
        self.folder = directory / self.name
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.appended_bytes = 0
        """Bytes appended since the log was opened; what retention removes is not subtracted."""
        self.recovery_point = 0
        self.recovery = Recovery()
        self.open_transactions: OpenTransactions | None = None
        """None until somebody needs them (`broker/producer_directory.py`): they have to be read first."""
        self.is_closed = False
        self._listener: FlushListener | None = None
        self._durable_only = False
        self._flushed_bytes = 0
        """Of `appended_bytes`, those that a flush has covered."""
        self._tell_at = INT64_MAX
        """The log end offset from which on the listener is told that a flush is wanted."""
        self._fs = fs
        self._topic_id: bytes | None = None
        self._segments: list[Segment] = []
        self._base_offsets: list[int] = []
        self._unflushed: list[Segment] = []  # rolled since the last flush
        self._deleted: list[Segment] = []  # renamed, their files still to be removed
        self._directories_to_fsync: list[Path] = []

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
                log._add(segment)
            if not clean:
                # The process that created them may have been killed before it flushed their directory entries.
                log._directories_to_fsync = [log.folder.parent, log.folder]
            log._remove_snapshots_after(log.indexed_transactions_end)
        if log._segments and log._segments[-1].next_offset < log_start_offset:
            # What came after the deleted records was lost. Their offsets must not be used again.
            log._remove_all_segments()
        if log._segments:
            log.log_end_offset = log._segments[-1].next_offset
            log.log_start_offset = min(max(log_start_offset, log._base_offsets[0]), log.log_end_offset)
            log.recovery_point = log.log_end_offset if clean else min(recovery_point, log.log_end_offset)
            log._unflushed = [segment for segment in log._segments[:-1] if segment.next_offset > log.recovery_point]
        else:
            log.log_start_offset = log.log_end_offset = log.recovery_point = log_start_offset
            if not lazy:
                log._create_segment()
        return log

    def configure(self, config: LogConfig) -> None:
        """Use other settings from the next append on."""
        self.config = config
        if self._segments:
            self._segments[-1].configure(config)
        self._tell_at = self._next_flush()

    def watch(self, listener: FlushListener, *, durable_only: bool) -> None:
        """Let a listener decide on flushes. With `durable_only`, records are served when they have been flushed."""
        self._listener, self._durable_only = listener, durable_only
        self._tell_at = self._next_flush()

    @property
    def high_watermark(self) -> int:
        """The end of what is served."""
        return self.recovery_point if self._durable_only else self.log_end_offset

    @property
    def served_bytes(self) -> int:
        """Of `appended_bytes`, those that are served."""
        return self._flushed_bytes if self._durable_only else self.appended_bytes

    def _next_flush(self) -> int:
        if self._listener is None or self._durable_only:
            return INT64_MAX
        messages = 1 if self.config.flush_ms < INT64_MAX else self.config.flush_messages
        return min(self.recovery_point + messages, INT64_MAX)

    def _tell(self) -> None:
        """`flush.messages` or more records are not flushed, or the first one since the last flush (`flush.ms`)."""
        assert self._listener is not None
        messages = self.config.flush_messages
        if self.log_end_offset - self.recovery_point >= messages:
            self._tell_at = INT64_MAX
            self._listener.flush_wanted(self, 0)
        else:
            self._tell_at = min(self.recovery_point + messages, INT64_MAX)
            self._listener.flush_wanted(self, self.config.flush_ms)

    @property
    def size_bytes(self) -> int:
        """The size of all batches in bytes."""
        return sum(segment.size_bytes for segment in self._segments)

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments, oldest first. The last one is the active segment."""
        return self._segments

    @property
    def last_stable_offset(self) -> int | None:
        """The offset before which all transactions have ended (UnifiedLog.lastStableOffset).

        None as long as the transactions up to the end of the log are not known.
        """
        known = self.open_transactions
        if known is None or known.next_offset < self.log_end_offset:
            return None
        first = known.first_unstable_offset
        served = self.high_watermark
        return served if first is None else min(max(first, self.log_start_offset), served)

    @property
    def indexed_transactions_end(self) -> int:
        """The offset up to which no aborted transaction is missing from the transaction indexes.

        It is the base offset of the first segment that was recovered, or else the end of the log.
        """
        rebuilt = (segment.base_offset for segment in self._segments if segment.is_rebuilt)
        return next(rebuilt, self._segments[-1].next_offset if self._segments else 0)

    def _remove_snapshots_after(self, offset: int) -> None:
        """Remove producer snapshots after whose offset the log has to be read again."""
        offsets = producer_snapshot.stored_offsets(self._fs, self.folder)
        producer_snapshot.remove_snapshots(self._fs, self.folder, offsets[bisect_right(offsets, offset) :])

    def newest_producer_snapshot(self) -> tuple[int, list[producer_snapshot.SnapshotEntry]]:
        """The newest producer snapshot and its offset; a damaged one is removed, and the one before it counts.

        Offset 0 and no producer if there is none.

        Raises:
            OSError: a file cannot be read or removed.
        """
        for offset in reversed(producer_snapshot.stored_offsets(self._fs, self.folder)):
            try:
                if offset <= self.log_end_offset:
                    return offset, producer_snapshot.read_snapshot(self._fs, self.folder, offset)
                problem = f"the log ends at {self.log_end_offset}"
            except producer_snapshot.DamagedSnapshot as damage:
                problem = str(damage)
            logger.warning("producer snapshot ignored", log=self.name, offset=offset, problem=problem)
            producer_snapshot.remove_snapshots(self._fs, self.folder, [offset])
        return 0, []

    def save_producer_snapshot(self, offset: int, data: bytes, *, flush: bool = False) -> None:
        """Store the producer state before an offset, and remove all snapshots but the newest few.

        The transaction indexes are saved first: a load trusts them up to the snapshot.

        Raises:
            OSError: a file cannot be written or removed.
        """
        if self._fs.is_directory(self.folder):
            for segment in self._segments:
                segment.transaction_index.save(self._fs, flush=flush)
            producer_snapshot.write_snapshot(self._fs, self.folder, offset, data, flush=flush)

    def has_aborted_transactions(self, offset: int) -> bool:
        """Whether the segments from the one that holds `offset` on may have aborted transactions."""
        segments = self._segments[self._segment_position(offset) :]
        return any(segment.transaction_index.entries for segment in segments)

    def aborted_transactions(self, offset: int, end_offset: int) -> Iterator[AbortedTransaction]:
        """Iterate over the aborted transactions with records from `offset` (inclusive) to `end_offset` (exclusive)."""
        for segment in self._segments[self._segment_position(offset) :]:
            entries = segment.transaction_index.entries
            for position in range(segment.transaction_index.position_of(offset), len(entries)):
                entry = entries[position]
                if entry.first_offset < end_offset:
                    yield entry
                if entry.last_stable_offset >= end_offset:
                    return  # all later ones begin after the end

    def segment_at(self, offset: int) -> Segment | None:
        """The segment that holds an offset, the last one for the end of the log; None if there is none."""
        return self._segments[self._segment_position(offset)] if self._segments else None

    # ----------------------------------------------------------------------------------------------------------- append

    def append(self, batches: bytearray, leader_epoch: int, now_ms: int, *, check_crc: bool = True) -> AppendResult:
        """Assign offsets to a client's batches, in place, and write them with one write.

        Without `check_crc`, the caller has checked their checksums.

        Raises:
            CorruptBatch: the bytes are not one or more whole batches of format 2, or a checksum is wrong.
            RecordBatchTooLarge: a batch is larger than max.message.bytes.
            RecordListTooLarge: the batches are together larger than segment.bytes.
            LogAppendError: the write failed.
        """
        config = self.config
        headers = place_batches(batches, self.log_end_offset, leader_epoch, check_crc)
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
        self.log_end_offset = last_offset + 1
        self.appended_bytes += len(batches)
        if self.log_end_offset >= self._tell_at:
            self._tell()
        return AppendResult(base_offset, last_offset, len(headers), log_append_time_ms)

    def append_prebuilt(self, batches: Sequence[PrebuiltBatch], max_timestamp_ms: int) -> None:
        """Write the server's own batches, whose offsets start at `log_end_offset`, with one write.

        They are not validated, and max.message.bytes does not apply to them.

        Raises:
            RecordListTooLarge: the batches are together larger than segment.bytes.
            LogAppendError: the write failed.
        """
        data = batches[0].data if len(batches) == 1 else b"".join([each.data for each in batches])
        last_offset = batches[-1].last_offset
        self._check_size(len(data))
        try:
            segment = self._segment_for(len(data), last_offset, max_timestamp_ms)
            segment.append_prebuilt(data, batches, max_timestamp_ms)
        except OSError as error:
            raise LogAppendError(f"{self.name}: {error}") from error
        self.log_end_offset = last_offset + 1
        self.appended_bytes += len(data)
        if self.log_end_offset >= self._tell_at:
            self._tell()

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self.config.segment_bytes:
            raise RecordListTooLarge(
                f"{self.name}: an append has {size_bytes} bytes, but segment.bytes is {self.config.segment_bytes}"
            )

    def _segment_for(self, size_bytes: int, last_offset: int, max_timestamp_ms: int) -> Segment:
        """Return the active segment; roll a new one first if it is full or too old."""
        if not self._segments:
            return self._create_segment()
        active = self._segments[-1]
        # Nothing is appended to bytes that somebody may want to repair.
        if active.has_room_for(size_bytes, last_offset, max_timestamp_ms) and not active.ends_damaged:
            return active
        return self._roll()

    def roll(self) -> None:
        """End the active segment, unless it is empty, so that the next append begins another.

        Raises:
            OSError: a file cannot be written or created.
        """
        if self._segments and self._segments[-1].size_bytes > 0:
            self._roll()

    def _roll(self) -> Segment:
        active = self._segments[-1]
        active.finish()
        segment = self._create_segment()
        self._unflushed.append(active)
        if self._listener is not None:
            self._listener.rolled(self)
        return segment

    def _create_segment(self) -> Segment:
        if not self._fs.is_directory(self.folder):
            self._fsync_later(self.folder.parent)
            self._fs.make_directory(self.folder)
            if self._topic_id is not None:
                write_topic_id(self._fs, self.folder, self._topic_id)
        self._fsync_later(self.folder)
        segment = Segment(self._fs, self.folder, self.log_end_offset, self.config)
        try:
            segment.create_files()
        except OSError:
            segment.close()
            raise
        self._add(segment)
        return segment

    def _fsync_later(self, folder: Path) -> None:
        """Remember to fsync a directory. Call this before an entry is created in it.

        If the creation fails half-way, the entry may survive, so the directory must be fsynced before a clean stop.
        """
        if folder not in self._directories_to_fsync:
            self._directories_to_fsync.append(folder)

    def _add(self, segment: Segment) -> None:
        self._segments.append(segment)
        self._base_offsets.append(segment.base_offset)

    # ------------------------------------------------------------------------------------------------------------- read

    def read(
        self, offset: int, max_bytes: int, *, at_least_one_batch: bool = True, before_offset: int | None = None
    ) -> bytes:
        """Return whole batches, starting with the one that contains `offset`; the caller skips the records before it.

        At most `max_bytes` are returned, or one larger batch if `at_least_one_batch`. The batches come from one
        segment, so more may follow. Batches that start at `before_offset` or later are left out. The result is empty at
        the end of the log.

        Raises:
            CorruptBatch: there is no whole batch where one is expected. Checksums are not verified.
            OffsetOutOfRange: `offset` is before `log_start_offset` or after `log_end_offset`.
            OSError: the log cannot be read.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(self.name, offset, self.log_start_offset, self.log_end_offset)
        limit = self.high_watermark if before_offset is None else before_offset
        for segment in self._segments[self._segment_position(offset) :]:
            if offset >= limit:
                break
            data = segment_reads.read(
                segment, offset, max_bytes, at_least_one_batch=at_least_one_batch, before_offset=limit
            )
            if data or segment_reads.position_of(segment, offset) < segment.size_bytes:
                return data
        return b""

    def bytes_from(self, offset: int) -> int:
        """Return the bytes of the batches from the one that contains `offset` to the end of the log.

        Raises:
            CorruptBatch: a batch on the way to the offset is damaged.
            OffsetOutOfRange: `offset` is before `log_start_offset` or after `log_end_offset`.
            OSError: the log cannot be read.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(self.name, offset, self.log_start_offset, self.log_end_offset)
        if offset == self.log_end_offset:
            return 0
        first = self._segment_position(offset)
        size_bytes = sum(segment.size_bytes for segment in self._segments[first:])
        return size_bytes - segment_reads.position_of(self._segments[first], offset)

    def batches(self, from_offset: int, read_bytes: int = REPLAY_BYTES) -> Iterator[tuple[BatchHeader, bytes]]:
        """Iterate over the batches, from the one that contains `from_offset` to the end of the log.

        Batches that are appended during the iteration are included. `read_bytes` are read at a time, more for a larger
        batch.

        Raises:
            CorruptBatch: a checksum is wrong, a batch is not whole, or its offsets do not follow those before it.
            OffsetOutOfRange: `from_offset` is before `log_start_offset` or after `log_end_offset`.
            OSError: the log cannot be read.
        """
        if not self.log_start_offset <= from_offset <= self.log_end_offset:
            raise OffsetOutOfRange(self.name, from_offset, self.log_start_offset, self.log_end_offset)
        offset = from_offset
        # Segments may be deleted, or replaced by a cleaned one, during the iteration.
        while (segment := self._segment_after(offset)) is not None:
            segment_reads.check_damages_again(segment)
            yield from segment_reads.batches(segment, offset, read_bytes)
            offset = max(offset, segment.next_offset)

    def _segment_after(self, offset: int) -> Segment | None:
        """The first segment that ends after `offset`; None if there is none."""
        for position in range(self._segment_position(offset), len(self._segments)):
            if self._segments[position].next_offset > offset:
                return self._segments[position]
        return None

    def offset_after_damage(self, offset: int) -> int:
        """Return where a reader goes on after an offset that is known to be damaged; else the next segment's start."""
        for segment in self._segments[self._segment_position(offset) :]:
            if segment.base_offset > offset:
                return segment.base_offset
            for damage in segment.damages:
                if damage.first_offset <= offset < damage.next_offset:
                    return damage.next_offset
        return self.log_end_offset

    def _segment_position(self, offset: int) -> int:
        return max(0, bisect_right(self._base_offsets, offset) - 1)

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

    def retained_from(self, now_ms: int) -> int:
        """Return the offset before which retention.ms and retention.bytes let whole segments be deleted.

        It is `log_end_offset` if all records are too old, or too many (UnifiedLog.deleteOldSegments).

        Raises:
            OSError: the time at which a segment was written cannot be read.
        """
        config = self.config
        surplus_bytes = -1 if config.retention_bytes < 0 else self.size_bytes - config.retention_bytes
        kept_from = self.log_start_offset
        if "delete" not in config.cleanup_policy:
            return kept_from
        for segment in self._segments:
            if segment.next_offset == segment.base_offset and segment is self._segments[-1]:
                break
            is_old = config.retention_ms >= 0 and now_ms - segment.largest_timestamp_ms() > config.retention_ms
            is_surplus = config.retention_bytes >= 0 and surplus_bytes >= segment.size_bytes
            if not is_old and not is_surplus and segment.next_offset > self.log_start_offset:
                break
            surplus_bytes -= segment.size_bytes
            kept_from = max(kept_from, segment.next_offset)
        return kept_from

    @property
    def has_segments_to_delete(self) -> bool:
        """Whether all records of the oldest segment lie before `log_start_offset`."""
        return (
            bool(self._segments)
            and self._segments[0].base_offset < self._segments[0].next_offset <= self.log_start_offset
        )

    def delete_oldest_segment(self) -> None:
        """Delete a segment of which `has_segments_to_delete`; a new one is rolled if it is the only one.

        Its files are only renamed; `remove_deleted_files` removes them later. The oldest one goes first, so that a
        crash leaves no gap.

        Raises:
            OSError: the files cannot be renamed, or the new segment cannot be created.
        """
        oldest = self._segments[0]
        if len(self._segments) == 1:
            oldest.finish()
            self._create_segment()
        oldest.rename_files()
        del self._segments[0], self._base_offsets[0]
        if oldest in self._unflushed:
            self._unflushed.remove(oldest)
        self._fsync_later(self.folder)
        self._deleted.append(oldest)

    def remove_deleted_files(self, count: int) -> Iterator[None]:
        """Remove the files of the `count` segments that were deleted first, in steps.

        Raises:
            OSError: a file cannot be removed; it is removed at the next start.
        """
        for _ in range(count):
            if not self._deleted:  # the log was closed
                return
            segment = self._deleted[0]
            for _ in segment.remove_renamed_files():
                yield
                if not self._deleted:
                    return
            del self._deleted[0]
            yield

    def replace_segments(self, old: Sequence[Segment], new: Segment) -> bool:
        """Replace neighbouring segments by a cleaned one, whose files are complete and have the suffix `.swap`.

        The files of the old ones are only renamed; `remove_deleted_files` removes them later. If the renaming fails,
        the log goes on with the old ones, and the next start completes the replacement.

        Returns:
            False if not all of the old segments are part of the log any more; nothing was changed.

        Raises:
            OSError: a file cannot be renamed.
        """
        first = next((i for i, segment in enumerate(self._segments) if segment is old[0]), len(self._segments))
        end = first + len(old)
        if end >= len(self._segments) or any(a is not b for a, b in zip(self._segments[first:end], old, strict=True)):
            return False
        self._fsync_later(self.folder)
        for segment in old:
            segment.change_suffix(DELETED_SUFFIX)
        new.change_suffix("")
        self._segments[first:end] = [new]
        self._base_offsets[first:end] = [new.base_offset]
        self._unflushed = [segment for segment in self._unflushed if segment not in old]
        self._deleted.extend(old)
        return True

    def _remove_all_segments(self) -> None:
        for segment in reversed(self._segments):
            segment.close()
            remove_segment_files(self._fs, self.folder, segment.base_offset)
        self._segments, self._base_offsets = [], []
        self._fsync_later(self.folder)

    # ------------------------------------------------------------------------------------------------------------- time

    def offset_for_timestamp(self, timestamp_ms: int) -> TimestampedOffset | None:
        """Return the first record whose timestamp is `timestamp_ms` or later; None if there is none.

        Raises:
            CorruptBatch: a batch is damaged.
            OSError: the log cannot be read.
        """
        late = (segment for segment in self._live_segments() if segment.max_timestamp_ms >= timestamp_ms)
        if (segment := next(late, None)) is None:
            return None
        start = segment_reads.offset_before(segment, timestamp_ms)
        for header, batch in self.batches(max(start, self.log_start_offset)):
            if header.max_timestamp_ms >= timestamp_ms:
                found = find_timestamp(batch, timestamp_ms, self.log_start_offset)
                if found is not None:
                    return TimestampedOffset(*found)
        return None

    def max_timestamp(self) -> TimestampedOffset | None:
        """Return the first of the records with the greatest timestamp (KIP-734); None if no record has a timestamp.

        Raises:
            CorruptBatch: a batch is damaged.
            OSError: the log cannot be read.
        """
        latest = max(self._live_segments(), key=lambda segment: segment.max_timestamp_ms, default=None)
        if latest is None or latest.max_timestamp_ms == NO_TIMESTAMP:
            return None
        offset = max(latest.offset_of_max_timestamp, self.log_start_offset)
        data = self.read(offset, 0, before_offset=self.log_end_offset)
        found = find_max_timestamp(data)
        return None if found is None else TimestampedOffset(*found)

    def _live_segments(self) -> list[Segment]:
        return [segment for segment in self._segments if segment.next_offset > self.log_start_offset]

    # ------------------------------------------------------------------------------------------------------------ flush

    def start_flush(self) -> Flush | None:
        """Return the flush of all unflushed records; None if there are none.

        The caller calls its `run`, and then `finish_flush`.
        """
        if self.recovery_point >= self.log_end_offset and not self._directories_to_fsync:
            return None
        flush = Flush(
            self,
            self.log_end_offset,
            self.appended_bytes,
            self._fs,
            tuple(self._unflushed),
            self._segments[-1] if self._segments else None,
            tuple(self._directories_to_fsync),
        )
        self._unflushed.clear()
        self._directories_to_fsync.clear()
        return flush

    def start_flush_of_rolled(self) -> Flush | None:
        """As `start_flush`, of the segments that will not change any more; those that were begun stay unflushed."""
        if not self._unflushed:
            return None
        rolled, directories = tuple(self._unflushed), tuple(self._directories_to_fsync)
        self._unflushed.clear()
        self._directories_to_fsync.clear()
        return Flush(self, rolled[-1].next_offset, 0, self._fs, rolled, None, directories)

    def finish_flush(self, flush: Flush) -> None:
        """Advance the recovery point to the end of a completed flush."""
        for segment in flush.segments:
            segment.let_go()
        self.recovery_point = max(self.recovery_point, flush.end_offset)
        self._flushed_bytes = max(self._flushed_bytes, flush.appended_bytes)
        self._tell_at = self._next_flush()
        if self.log_end_offset >= self._tell_at:
            self._tell()  # of what was appended meanwhile

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
        if self._segments:
            self._segments[-1].complete()
        flush = self.start_flush()
        unsaved = [segment for segment in self._segments if not segment.indexes_are_flushed]
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

    def close(self) -> None:
        """Close the files without a flush."""
        self.is_closed = True
        for segment in (*self._segments, *self._deleted):
            segment.close()
        self._segments, self._base_offsets, self._deleted = [], [], []
