"""The cleaning of one log: for each key, only the last record stays (Cleaner.java).

A cleaning is a generator, in steps of about `READ_BYTES`. It says before each step where that may run: nearly all of
the work needs nothing that the event loop changes, and runs elsewhere (`Place.ANYWHERE`); the segments of the log are
replaced in the loop (`Place.LOOP`). The compiled half works without the GIL.
"""

import os
from collections.abc import Callable, Generator, Sequence
from enum import Enum
from typing import Final

import msgspec

from _wire.records import CorruptBatch
from coordinator.config.key import INT32_MAX
from coordinator.log.compaction.cleanable import CleanableLog
from coordinator.log.compaction.cleaned_segment import complete_cleaned, keep_modified_time
from coordinator.log.compaction.key_scan import KeyScan
from coordinator.log.compaction.offset_map import OffsetMap
from coordinator.log.compaction.record_filter import RecordFilter
from coordinator.log.compaction.transactions import Transactions
from coordinator.log.files import FileSystem
from coordinator.log.segments.batch_header import LENGTH_END
from coordinator.log.segments.files import CLEANED_SUFFIX, SWAP_SUFFIX, remove_segment_files
from coordinator.log.segments.reads import position_of
from coordinator.log.segments.segment import Segment

READ_BYTES: Final = 1 << 18
"""Bytes of one step: a disk in memory, or one that is throttled, is read a few ms at a time."""
SECRET_BYTES: Final = 16


class Place(Enum):
    """Where the next step of a cleaning has to run."""

    ANYWHERE = "anywhere"
    LOOP = "loop"


class CleaningAborted(Exception):
    """The log was changed or closed while it was cleaned. Nothing is wrong with it; another cleaning may succeed."""


class UncleanableLog(Exception):
    """The log cannot be cleaned because a batch is damaged. The message is one line with file, offset and position."""


class CleanerSettings(msgspec.Struct, frozen=True):
    """What does not depend on the log; `log.cleaner.*` and `producer.id.expiration.ms` in docs/configuration.md."""

    dedupe_buffer_bytes: int = 128 << 20
    load_factor: float = 0.9
    producer_expiration_ms: int = 86_400_000
    producers_max: int = 1_000_000
    """Of one log. Each takes 56 bytes, and clients may invent producer ids."""
    new_secret: Callable[[], bytes] = lambda: os.urandom(SECRET_BYTES)


class CleaningStats(msgspec.Struct):
    """What a cleaning has done so far. `io_bytes` are those that it has read and written."""

    io_bytes: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    records_read: int = 0
    records_kept: int = 0
    segments_before: int = 0
    segments_after: int = 0
    keys: int = 0
    map_bytes: int = 0

    def count_replaced(self, group: Sequence[Segment], cleaned: Segment) -> None:
        self.bytes_before += sum(segment.size_bytes for segment in group)
        self.bytes_after += cleaned.size_bytes
        self.segments_before += len(group)
        self.segments_after += 1


Steps = Generator[Place, None, None]

Cleaning = Generator[Place, None, int]
"""Returns the offset up to which the log is clean. What ends it, ends it in the loop."""


def clean(
    fs: FileSystem, target: CleanableLog, settings: CleanerSettings, stats: CleaningStats, now_ms: int
) -> Cleaning:
    """Clean a log that is due, in steps; the first one is to run in the loop.

    A crash at any point leaves the same records: either the old segments or the cleaned one that replaces them.

    Raises:
        UncleanableLog: a batch is damaged; segments before it may have been replaced.
        CleaningAborted: segments were deleted meanwhile, or the log was closed; others may have been replaced.
        OSError: a file cannot be read or written.
        MemoryError: there is no memory for the keys.
    """
    segments, all_segments = target.segments, [*target.log.segments]
    for segment in all_segments:
        segment.hold()
    try:
        end_offset = yield from _Work(fs, target, settings, stats, now_ms).run(segments, all_segments)
        yield Place.LOOP
        return end_offset
    except Exception:
        yield Place.LOOP
        raise
    finally:
        for segment in all_segments:
            segment.release()


class _Work:
    def __init__(
        self, fs: FileSystem, target: CleanableLog, settings: CleanerSettings, stats: CleaningStats, now_ms: int
    ) -> None:
        self._fs = fs
        self._target = target
        self._log = target.log
        self._config = target.log.config
        self._stats = stats
        self._now_ms = now_ms
        secret = settings.new_secret()
        self._map = OffsetMap(settings.dedupe_buffer_bytes, settings.load_factor, secret)
        live_after_ms = now_ms - settings.producer_expiration_ms
        self._transactions = Transactions(secret, live_after_ms, settings.producers_max)

    def run(self, segments: Sequence[Segment], all_segments: Sequence[Segment]) -> Cleaning:
        ends = [segment.size_bytes for segment in all_segments]  # batches may be appended to the last one
        recovery_point = self._log.recovery_point
        yield Place.ANYWHERE
        self._flush(segments, recovery_point)
        yield from self._scan_transactions(all_segments, ends)
        segments = self._decided(segments)
        yield from self._scan_keys(segments)
        end_offset = self._map.latest_offset + 1
        if end_offset <= self._target.first_dirty_offset:
            return self._target.first_dirty_offset
        self._stats.keys, self._stats.map_bytes = self._map.keys, self._map.size_bytes
        to_clean = [segment for segment in segments if segment.base_offset < end_offset]
        filtered = RecordFilter(
            self._map,
            self._transactions,
            self._now_ms,
            self._config.delete_retention_ms,
            self._config.index_interval_bytes,
        )
        for group in groups(to_clean, self._config.segment_bytes, self._config.segment_index_bytes):
            yield from self._clean_group(group, filtered)
        self._stats.records_read, self._stats.records_kept = filtered.records_read, filtered.records_kept
        return end_offset

    def _flush(self, segments: Sequence[Segment], recovery_point: int) -> None:
        """Flush what will be read: a power loss must not take the last record of a key after the others have gone."""
        unflushed = [segment for segment in segments if segment.next_offset > recovery_point]
        for segment in unflushed:
            segment.flush_log()
        if unflushed:
            self._fs.flush_directory(self._log.folder)

    def _scan_transactions(self, segments: Sequence[Segment], ends: Sequence[int]) -> Steps:
        """The marker of a transaction may lie after the part that is cleaned, so the whole log is read."""
        for segment, end in zip(segments, ends, strict=True):
            yield from self._read(segment, 0, end, self._transactions.scan)

    def _decided(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        """The segments before the first one with a transaction that is not decided, whatever the caller knows of it."""
        first_open = self._transactions.first_open_offset
        undecided = (i for i, segment in enumerate(segments) if segment.next_offset > first_open)
        return segments[: next(undecided, len(segments))]

    def _scan_keys(self, segments: Sequence[Segment]) -> Steps:
        from_offset = self._target.first_dirty_offset
        scan = KeyScan(self._map, self._transactions, from_offset)
        for segment in segments:
            if segment.next_offset <= from_offset:
                continue
            position = self._position_of(segment, from_offset)
            yield from self._read(segment, position, segment.size_bytes, scan.add, lambda: scan.is_full)
            if scan.is_full:
                return
            scan.end_segment(segment.next_offset)

    def _position_of(self, segment: Segment, offset: int) -> int:
        try:
            return position_of(segment, offset)
        except CorruptBatch as problem:
            raise self._uncleanable(segment, problem.offset, problem) from None

    def _read(
        self,
        segment: Segment,
        position: int,
        end: int,
        consume: Callable[[bytes], int],
        is_over: Callable[[], bool] = lambda: False,
    ) -> Steps:
        """Pass the batches between two positions of a segment to `consume`, which returns how many bytes it used."""
        while position < end and not is_over():
            data = segment.read_whole_batches(position, READ_BYTES)[: end - position]
            try:
                used = consume(data)
            except CorruptBatch as problem:
                raise self._uncleanable(segment, position + problem.offset, problem) from None
            self._stats.io_bytes += len(data)
            if used == 0 and not is_over():
                not_whole = CorruptBatch("RecordBatch", 2, "batch_length", position, "the batch is not whole")
                raise self._uncleanable(segment, position, not_whole)
            position += used
            yield Place.ANYWHERE

    def _uncleanable(self, segment: Segment, position: int, problem: CorruptBatch) -> UncleanableLog:
        head = segment.read_whole_batches(position, LENGTH_END) if position < segment.size_bytes else b""
        offset = int.from_bytes(head[:8], "big", signed=True)
        where = f"{segment.log_path.name}, position {position}, offset {offset}"
        return UncleanableLog(f"{where}: {problem.field or 'batch'}: {problem.why}")

    def _clean_group(self, group: Sequence[Segment], filtered: RecordFilter) -> Steps:
        """Write what stays of neighbouring segments to a new one, and replace them by it."""
        base_offset = group[0].base_offset
        remove_segment_files(self._fs, self._log.folder, base_offset, CLEANED_SUFFIX)
        cleaned = Segment(self._fs, self._log.folder, base_offset, self._config, CLEANED_SUFFIX)
        cleaned.hold()
        is_needed = is_part_of_log = False
        try:
            yield from self._write_group(group, cleaned, filtered)
            keep_modified_time(self._fs, cleaned, group[-1])
            cleaned.change_suffix(SWAP_SUFFIX)
            self._fs.flush_directory(self._log.folder)
            yield Place.LOOP
            is_needed = True  # also if a renaming fails: old files may have been renamed already
            is_needed = self._log.replace_segments(group, cleaned)
            if not is_needed:
                raise CleaningAborted("segments were deleted")
            is_part_of_log = True
            cleaned.release()
            self._stats.count_replaced(group, cleaned)
            yield Place.ANYWHERE
            self._fs.flush_directory(self._log.folder)
        finally:
            if not is_part_of_log:
                cleaned.release()
                cleaned.close()
            if not is_needed:
                for suffix in (CLEANED_SUFFIX, SWAP_SUFFIX):
                    remove_segment_files(self._fs, self._log.folder, base_offset, suffix)

    def _write_group(self, group: Sequence[Segment], cleaned: Segment, filtered: RecordFilter) -> Steps:
        index_entries: list[tuple[int, int, int, int]] = []
        filtered.begin_segment(cleaned.base_offset, group[-1].next_offset)
        position = 0

        def filter_and_write(data: bytes) -> int:
            nonlocal position
            used = filtered.filter(data)
            output = filtered.output
            if len(output):
                cleaned.write_cleaned(output, position)
                position += len(output)
                self._stats.io_bytes += len(output)
            index_entries.extend(filtered.pop_index_entries())
            return used

        for segment in group:
            yield from self._read(segment, 0, segment.size_bytes, filter_and_write)
        complete_cleaned(
            cleaned,
            filtered.size_bytes,
            filtered.next_offset,
            (filtered.first_timestamp_ms, filtered.max_timestamp_ms, filtered.offset_of_max_timestamp),
            index_entries,
        )


def groups(segments: Sequence[Segment], segment_bytes: int, index_bytes: int) -> list[list[Segment]]:
    """Share segments out among those that they will become (Cleaner.groupSegmentsBySize).

    The segments of a group fit into one: their bytes, their indexes, and the distance of their offsets.
    """
    shared: list[list[Segment]] = []
    size_bytes = index_size_bytes = time_index_bytes = 0
    for segment in segments:
        size_bytes += segment.size_bytes
        index_size_bytes += segment.offset_index.size_bytes
        time_index_bytes += segment.time_index.size_bytes
        if (
            not shared
            or size_bytes > segment_bytes
            or max(index_size_bytes, time_index_bytes) > index_bytes
            or segment.next_offset - 1 - shared[-1][0].base_offset > INT32_MAX
        ):
            shared.append([])
            size_bytes = segment.size_bytes
            index_size_bytes = segment.offset_index.size_bytes
            time_index_bytes = segment.time_index.size_bytes
        shared[-1].append(segment)
    return shared
