"""One segment: a log file named by its first offset, and its indexes."""

import errno
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from _wire.records import (
    BATCH_HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    batch_headers,
    damaged_batch,
    end_of_whole_batches,
    find_batch,
)
from coordinator.log.config import LogConfig
from coordinator.log.damage import Damage, DamagedOffsets, scan
from coordinator.log.files import FileSystem, OpenFile
from coordinator.log.index import OFFSET_ENTRY, OffsetIndex, TimeIndex
from coordinator.log.names import PathAttribute
from coordinator.log.transaction_index import TransactionIndex
from coordinator.logger import logger

INT32_MAX = 2**31 - 1
NO_TIMESTAMP = -1
INT64_MAX = 2**63 - 1
RECORD_FORMAT = 2
OFFSET_BYTES = 8
LENGTH_BYTES = 4
LENGTH_END = OFFSET_BYTES + LENGTH_BYTES  # the part of a header that determines where the batch ends
DELETED_SUFFIX = ".deleted"
"""The end of the name of a file whose segment was deleted, until it is removed (file.delete.delay.ms)."""
CLEANED_SUFFIX = ".cleaned"
"""The end of the name of a file that a cleaning writes and that is not complete yet."""
SWAP_SUFFIX = ".swap"
"""The end of the name of a file that a cleaning has completed, until it has replaced those that it was made of."""
REMOVED_AT_ONCE_BYTES = 64 << 20
"""How much of a file is freed in one step: more takes the file system too long."""
SEARCH_BYTES = 8 * 1024
"""Bytes of one read of a search. An index position is seldom more than index.interval.bytes before the batch."""
WALK_BYTES = 1 << 20
MAGIC_POSITION = 16
DELTA_POSITION = 23
TIMESTAMP_BYTES = 8
TIMESTAMPS_END = 43
"""The part of a header up to the end of its largest timestamp."""
HEAD_BYTES = 27
"""The part of a header up to the end of its last offset delta."""


def segment_path(directory: Path, base_offset: int, suffix: str) -> Path:
    """Return the path of a segment's file, named as in Kafka. `suffix` is `.log` or that of an index."""
    return directory / f"{base_offset:020d}{suffix}"


def _headers_before_corruption(data: bytes, check_crc: bool) -> list[BatchHeader]:
    """Return the headers of the batches before the first corrupt one.

    Raises:
        CorruptBatch: the first batch is corrupt.
    """
    try:
        return batch_headers(data, 0, check_crc)
    except CorruptBatch as error:
        if error.offset == 0:
            raise
        return batch_headers(data[: error.offset], 0, False)


@dataclass(slots=True)
class PrebuiltBatch:
    """A batch of the server's own, built with the offsets that it has in the log."""

    data: bytes
    last_offset: int


class Segment:
    """The batches with offsets from `base_offset` (inclusive) to `next_offset` (exclusive)."""

    log_path = PathAttribute()

    def __init__(self, fs: FileSystem, directory: Path, base_offset: int, config: LogConfig, suffix: str = "") -> None:
        """Open the files; create them if they do not exist. Their content is read by `load` or by recovery.

        `suffix` is that of the names of a segment that is not part of the log yet.
        """
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size_bytes = 0
        self.max_timestamp_ms = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.first_timestamp_ms = NO_TIMESTAMP
        self.damages: list[Damage] = []
        """What is known to be damaged, by position. Reads go around it."""
        self.log_path = segment_path(directory, base_offset, f".log{suffix}")
        self.offset_index = OffsetIndex(segment_path(directory, base_offset, f".index{suffix}"))
        self.time_index = TimeIndex(segment_path(directory, base_offset, f".timeindex{suffix}"))
        self.transaction_index = TransactionIndex(segment_path(directory, base_offset, f".txnindex{suffix}"))
        self.is_rebuilt = False
        """Whether its state was rebuilt from its batches: aborted transactions may be missing from their index."""
        self._fs = fs
        self.configure(config)
        self._file: OpenFile = fs.open(self.log_path)
        self._bytes_since_index_entry = 0
        self._has_torn_tail = False
        self._holders = 0
        self._is_closed = False
        self._has_gaps = False
        """Whether offsets are missing that are not damaged: the segment was compacted."""

    @property
    def max_message_bytes(self) -> int:
        return self._config.max_message_bytes

    def configure(self, config: LogConfig) -> None:
        """Use other settings from the next append on."""
        self._config = config
        self._index_entries_max = config.segment_index_bytes // OFFSET_ENTRY.size

    def append(self, batches: bytearray, headers: Sequence[BatchHeader]) -> None:
        """Write batches, whose offsets are assigned, with one write.

        Raises:
            OSError: the write failed; the segment is unchanged.
        """
        self._write(batches)
        for header in headers:
            self.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)

    def append_prebuilt(self, data: bytes, batches: Sequence[PrebuiltBatch], max_timestamp_ms: int) -> None:
        """Write the server's own batches with one write; `data` is their concatenation.

        Raises:
            OSError: the write failed; the segment is unchanged.
        """
        self._write(data)
        for each in batches:
            self.track_batch(len(each.data), each.last_offset, max_timestamp_ms)

    def _write(self, data: bytes | bytearray) -> None:
        if self._has_torn_tail:
            self._cut_torn_tail()
        try:
            self._file.write_at(data, self.size_bytes)
        except OSError:
            self._has_torn_tail = True
            self._cut_torn_tail()
            raise

    def _cut_torn_tail(self) -> None:
        """Remove the bytes of a failed write, which a recovery must not find. If this fails, the next call retries."""
        if self._has_torn_tail:
            self._file.truncate(self.size_bytes)
            self._has_torn_tail = False

    def track_batch(self, size_in_bytes: int, last_offset: int, max_timestamp_ms: int) -> None:
        """Add a batch at the end of the file to the segment's state and, if it is due, to the indexes.

        See LogSegment.append.
        """
        if self.size_bytes == 0:
            self.first_timestamp_ms = max_timestamp_ms
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.offset_of_max_timestamp = last_offset
        if self._bytes_since_index_entry > self._config.index_interval_bytes:
            self.offset_index.append(last_offset - self.base_offset, self.size_bytes)
            self._index_max_timestamp()
            self._bytes_since_index_entry = 0
        self.size_bytes += size_in_bytes
        self._bytes_since_index_entry += size_in_bytes
        self.next_offset = last_offset + 1

    def _index_max_timestamp(self) -> None:
        if self.max_timestamp_ms != NO_TIMESTAMP:
            self.time_index.append(self.max_timestamp_ms, self.offset_of_max_timestamp - self.base_offset)

    def has_room_for(self, size_bytes: int, last_offset: int, timestamp_ms: int) -> bool:
        """Return whether batches fit into this segment; otherwise a new one must be rolled (LogSegment.shouldRoll).

        The age is the time from the first batch's timestamp to `timestamp_ms`; 0 if the first batch has no timestamp.
        """
        if self.size_bytes == 0:
            return True
        config = self._config
        return (
            self.size_bytes + size_bytes <= config.segment_bytes
            and last_offset - self.base_offset <= INT32_MAX
            and (self.first_timestamp_ms < 0 or timestamp_ms - self.first_timestamp_ms <= config.segment_ms)
            and len(self.offset_index.offsets) < self._index_entries_max
        )

    def position_of(self, offset: int) -> int:
        """Return the position of the batch that contains `offset` or is the first after it; the end if there is none.

        Raises:
            CorruptBatch: the offset lies in a damaged batch, or a batch on the way to it is damaged.
            OSError: the file cannot be read.
        """
        start, expected = self._start_of_search(offset)
        try:
            return self._position_from(start, expected, offset)
        except CorruptBatch as problem:
            if not self._look_for_damage(start, expected, problem.offset + 1):
                # What looked like damage may be a gap, as compaction leaves them.
                self._has_gaps = True
        start, expected = self._start_of_search(offset)
        return self._position_from(start, expected, offset)

    def _start_of_search(self, offset: int) -> tuple[int, int]:
        """Position and lowest offset of a batch at or before the one that contains `offset`.

        Raises:
            CorruptBatch: the offset lies in a damaged batch.
        """
        start, expected = self._indexed_position(offset)
        for damage in self.damages:
            if damage.first_offset <= offset < damage.next_offset:
                raise damage.error()
            if damage.next_offset <= offset and damage.end > start:
                start, expected = damage.end, damage.next_offset
        return start, expected

    def _indexed_position(self, offset: int) -> tuple[int, int]:
        """As `_start_of_search`, by the offset index. Entries that do not name the start of their batch are dropped."""
        while (entry := self.offset_index.entry_before(offset - self.base_offset)) is not None:
            number, relative_offset, position = entry
            head = self._file.read_at(position, HEAD_BYTES)
            if len(head) == HEAD_BYTES and head[MAGIC_POSITION] == RECORD_FORMAT:
                base_offset = int.from_bytes(head[:OFFSET_BYTES], "big", signed=True)
                delta = int.from_bytes(head[DELTA_POSITION:], "big", signed=True)
                if base_offset + delta == self.base_offset + relative_offset:
                    return position, base_offset
            self._report_index(self.offset_index.path)
            self.offset_index.drop(number)
        return 0, self.base_offset

    def _report_index(self, path: Path) -> None:
        """Log one line about an index entry that does not fit the log file."""
        logger.warning("an entry of an index does not fit its log file; it is left out", file=str(path))

    def _position_from(self, position: int, lowest_offset: int, offset: int) -> int:
        """As `position_of`, from a batch on that is not after it and that begins at `lowest_offset` or later."""
        end = next((each.position for each in self.damages if each.position >= position), self.size_bytes)
        while position < end:
            data = self.read_exactly(position, min(SEARCH_BYTES, end - position))
            step, found = self._find_batch(data, offset, lowest_offset, position)
            position, lowest_offset = position + step, -1
            if found:
                return position
            if step == 0:
                raise self._corrupt(position, "", f"{len(data)} bytes are less than a header")
        if position > end or (end == self.size_bytes and self.base_offset <= offset < self.next_offset):
            raise self._corrupt(position, "batch_length", f"offset {offset} is not found before the end of the segment")
        return position

    def _find_batch(self, data: bytes, offset: int, lowest_offset: int, position: int) -> tuple[int, bool]:
        try:
            return find_batch(data, offset, lowest_offset, self._has_gaps)
        except CorruptBatch as problem:
            raise self._corrupt(position + problem.offset, problem.field, problem.why) from None

    def _look_for_damage(self, position: int, expected: int, before: int) -> bool:
        """Read the batches from `position` up to `before` with their checksums; note what is damaged and log it.

        Returns:
            Whether there is damage that was not known.
        """
        found = False
        end = next((each.position for each in self.damages if each.position >= position), self.size_bytes)
        batches = scan(
            self, position, end, expected, next_base_offset=max(self.next_offset, expected), may_have_gaps=True
        )
        for item in batches:
            if isinstance(item, Damage):
                self.note_damage(item)
                found = True
            if item.position >= before:
                break
        return found

    def note_damage(self, damage: Damage) -> None:
        """Let reads go around bytes that are damaged; log one line."""
        insort(self.damages, damage, key=attrgetter("position"))
        damage.report()

    def check_damages_again(self) -> None:
        """Forget what is no longer damaged: what was read wrongly once may be right on the disk."""
        for damage in list(self.damages):
            batches = scan(
                self,
                damage.position,
                damage.end,
                damage.first_offset,
                next_base_offset=damage.next_offset,
                may_have_gaps=True,
            )
            if damage.size_bytes and not any(isinstance(item, Damage) for item in batches):
                self.damages.remove(damage)

    def read(self, offset: int, max_bytes: int, *, at_least_one_batch: bool, before_offset: int) -> bytes:
        """Return whole batches, starting with the one that contains `offset`. Their checksums are verified.

        Raises:
            CorruptBatch: the batch that contains `offset` is damaged.
            OSError: the file cannot be read.
        """
        try:
            position = self.position_of(offset)
        except DamagedOffsets:
            self.check_damages_again()
            position = self.position_of(offset)
        try:
            data = self._read_at(position, max_bytes, at_least_one_batch, before_offset)
        except CorruptBatch:
            if not self._damaged_up_to(offset, position):
                raise
        else:
            damaged = damaged_batch(data, offset)
            if damaged == 0 and not self._damaged_up_to(offset, position):
                # There was a gap before the first batch, as compaction leaves them.
                damaged = damaged_batch(data, INT64_MAX)
            if damaged < 0 or not self._damaged_up_to(offset, position + damaged):
                return data
        return self._read_at(self.position_of(offset), max_bytes, at_least_one_batch, before_offset)

    def _damaged_up_to(self, offset: int, position: int) -> bool:
        """Look for damage from before the batch that contains `offset` on, up to the batch at a later position."""
        start, expected = self._start_of_search(offset)
        return self._look_for_damage(start, expected, position + 1)

    def _read_at(self, position: int, max_bytes: int, at_least_one_batch: bool, before_offset: int) -> bytes:
        """Return whole batches from `position`, which is the start of a batch or the end of the segment."""
        left = self._end_of_good(position) - position
        data = self.read_exactly(position, max(0, min(max_bytes, left)))
        end = end_of_whole_batches(data, before_offset)
        if end == 0 and left > 0:
            base_offset, size_bytes = self._offset_and_size_at(position)
            at_least_one_batch = at_least_one_batch and base_offset < before_offset
            return self.read_exactly(position, size_bytes) if at_least_one_batch else b""
        return data if end == len(data) else data[:end]

    def _end_of_good(self, position: int) -> int:
        """The end of the batches that can be read from a position on.

        Raises:
            CorruptBatch: the position is that of a damaged batch.
        """
        for damage in self.damages:
            if damage.position == position:
                raise damage.error()
            if damage.position > position:
                return damage.position
        return self.size_bytes

    def _offset_and_size_at(self, position: int) -> tuple[int, int]:
        """Return the base offset and the size in bytes of the batch at `position`, which is in the file completely."""
        left = self._end_of_good(position) - position
        head = self.read_exactly(position, min(LENGTH_END, left))
        base_offset = int.from_bytes(head[:OFFSET_BYTES], "big", signed=True)
        size_bytes = LENGTH_END + int.from_bytes(head[OFFSET_BYTES:], "big", signed=True)
        if not BATCH_HEADER_BYTES <= size_bytes <= left:
            raise self._corrupt(position, "batch_length", f"a batch of {size_bytes} bytes where {left} bytes are left")
        if not self.base_offset <= base_offset < self.next_offset:
            raise self._corrupt(position, "base_offset", f"{base_offset} in a segment that ends at {self.next_offset}")
        return base_offset, size_bytes

    def batches(self, offset: int, read_bytes: int) -> Iterator[tuple[BatchHeader, bytes]]:
        """Iterate over the batches, from the one that contains `offset` to the end of the segment.

        Batches that are appended during the iteration are included. `read_bytes` are read at a time, more for a larger
        batch.

        Raises:
            CorruptBatch: a checksum is wrong, a batch is not whole, or its offsets do not follow those before it.
            OSError: the file cannot be read.
        """
        position, lowest_offset = self.position_of(offset), self.base_offset
        while position < self.size_bytes:
            data = self._read_at(position, read_bytes, at_least_one_batch=True, before_offset=INT64_MAX)
            try:
                headers = batch_headers(data)
            except CorruptBatch as problem:
                self._look_for_damage(position, lowest_offset, position + problem.offset + 1)
                raise self._corrupt(position + problem.offset, problem.field, problem.why) from None
            for header in headers:
                if header.base_offset < lowest_offset or header.last_offset >= self.next_offset:
                    offsets = f"{header.base_offset} to {header.last_offset}"
                    allowed = f"{lowest_offset} to {self.next_offset - 1}"
                    self._look_for_damage(position, lowest_offset, position + header.position + 1)
                    raise self._corrupt(position + header.position, "base_offset", f"{offsets} is not in {allowed}")
                lowest_offset = header.next_offset
                yield header, data[header.position : header.position + header.size_in_bytes]
            position += len(data)

    def read_exactly(self, position: int, size: int) -> bytes:
        """Read bytes that have been written before.

        Raises:
            OSError: they cannot be read, or the file has become shorter.
        """
        data = self._file.read_at(position, size)
        if len(data) < size:
            raise OSError(errno.EIO, f"file is shorter than the {self.size_bytes} bytes written", str(self.log_path))
        return data

    def _corrupt(self, position: int, field: str, why: str) -> CorruptBatch:
        """Return the exception for a problem at `position` of the log file."""
        return CorruptBatch(
            "RecordBatch", RECORD_FORMAT, field, position, f"{why} ({self.log_path.parent.name}/{self.log_path.name})"
        )

    def walk(self, position: int, end: int, *, check_crc: bool) -> Iterator[BatchHeader]:
        """Iterate over the headers of the whole batches between two positions; `position` is the start of a batch.

        The iteration stops before a batch that ends after `end`. Each header's `position` is relative to the chunk that
        was read for it.

        Raises:
            CorruptBatch: a batch is damaged; all batches before it have been yielded.
            OSError: the file cannot be read.
        """
        for _, headers in self.chunks(position, end, check_crc=check_crc):
            yield from headers

    def chunks(self, position: int, end: int, *, check_crc: bool) -> Iterator[tuple[bytes, list[BatchHeader]]]:
        """Iterate as `walk` does, but yield each chunk's bytes together with the headers of its batches."""
        while end - position > LENGTH_END:
            length = int.from_bytes(self.read_exactly(position + OFFSET_BYTES, LENGTH_BYTES), "big", signed=True)
            if length > end - position - LENGTH_END:
                return
            data = self.read_exactly(position, min(max(WALK_BYTES, LENGTH_END + length), end - position))
            headers = _headers_before_corruption(data, check_crc)
            yield data, headers
            position += headers[-1].position + headers[-1].size_in_bytes

    def read_whole_batches(self, position: int, size_bytes: int) -> bytes:
        """Return about `size_bytes` from `position`, where a batch starts: at least that batch, if it is whole.

        What the bytes end with may be the beginning of a batch.

        Raises:
            OSError: the file cannot be read.
        """
        left = self.size_bytes - position
        data = self._file.read_at(position, min(size_bytes, left))
        needed = LENGTH_END + int.from_bytes(data[OFFSET_BYTES:LENGTH_END], "big", signed=True)
        if len(data) < needed <= left:
            data = self._file.read_at(position, needed)
        if len(data) < min(size_bytes, left):
            raise OSError(errno.EIO, f"file is shorter than the {self.size_bytes} bytes written", str(self.log_path))
        return data

    def write_cleaned(self, data: memoryview, position: int) -> None:
        """Write batches of a segment that is not part of the log yet.

        Raises:
            OSError: the write failed.
        """
        self._file.write_at(data, position)

    def complete_cleaned(
        self,
        size_bytes: int,
        next_offset: int,
        timestamps_ms: tuple[int, int, int],
        index_entries: Sequence[tuple[int, int, int, int]],
    ) -> None:
        """Set the state of a segment whose batches have been written by `write_cleaned`, and save its indexes.

        `timestamps_ms` are the timestamp of the first batch, the greatest one, and the offset of that. An index entry
        is: last offset and position of a batch, the greatest timestamp so far, and its offset. All is flushed.

        Raises:
            OSError: a file cannot be written.
        """
        self.size_bytes, self.next_offset = size_bytes, next_offset
        self.first_timestamp_ms, self.max_timestamp_ms, self.offset_of_max_timestamp = timestamps_ms
        for last_offset, position, max_timestamp_ms, offset_of_max_timestamp in index_entries:
            self.offset_index.append(last_offset - self.base_offset, position)
            if max_timestamp_ms != NO_TIMESTAMP:
                self.time_index.append(max_timestamp_ms, offset_of_max_timestamp - self.base_offset)
        self._index_max_timestamp()
        self.save_indexes(flush=True)
        self._file.flush()

    def keep_modified_time(self, of: "Segment") -> None:
        """Give the files the time at which those of another segment were written: retention counts from it.

        Raises:
            OSError: the time cannot be read or set.
        """
        time_ms = self._fs.modified_ms(of.log_path)
        for path in (self.offset_index.path, self.time_index.path, self.log_path):
            self._fs.set_modified_ms(path, time_ms)

    def load(self) -> bool:
        """Restore the segment's state from the indexes and the batches after their last entries.

        Returns:
            False if the indexes do not fit the log file, or the file does not end with a whole batch. The segment must
            then be recovered.

        Raises:
            OSError: a file cannot be read.
        """
        end = self._file.size()
        if not self.transaction_index.load(self._fs, self.base_offset):
            return False
        if not self.offset_index.load(self._fs, end) or not self.time_index.load(self._fs):
            self.reset()
            return end == 0
        if self.time_index.offsets:
            self.max_timestamp_ms = self.time_index.timestamps_ms[-1]
            self.offset_of_max_timestamp = self.base_offset + self.time_index.offsets[-1]
        try:
            self._load_after_last_index_entry(end)
            first = next(self.walk(0, self.size_bytes, check_crc=False), None)
        except CorruptBatch:
            return False
        self.first_timestamp_ms = NO_TIMESTAMP if first is None else first.max_timestamp_ms
        return self.size_bytes == end and self._indexes_fit()

    def _load_after_last_index_entry(self, end: int) -> None:
        """Track the batches after the last index entry, up to the first one that cannot be the next."""
        self.size_bytes = self.offset_index.positions[-1] if self.offset_index.positions else 0
        for header in self.walk(self.size_bytes, end, check_crc=True):
            if not self.can_be_next(header):
                break
            self.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)

    def skip(self, damage: Damage) -> None:
        """Add bytes that are damaged at the end of what is tracked so far."""
        self.note_damage(damage)
        self.size_bytes = damage.end
        self.next_offset = damage.next_offset

    @property
    def ends_damaged(self) -> bool:
        """Whether the last bytes, or bytes that are missing after them, are no batch."""
        return bool(self.damages) and self.damages[-1].end == self.size_bytes

    def can_be_next(self, header: BatchHeader) -> bool:
        """Return whether a batch at the end of the file is a valid next batch, as `track_batch` requires."""
        return (
            header.magic == RECORD_FORMAT
            and header.base_offset >= self.next_offset
            and header.last_offset - self.base_offset <= INT32_MAX
            and self.size_bytes <= INT32_MAX
        )

    def _indexes_fit(self) -> bool:
        """Return whether the last entries of the indexes refer to batches that exist."""
        last_offset = self.next_offset - self.base_offset - 1
        if self.time_index.offsets and (
            self.time_index.offsets[-1] > last_offset or not self._time_entry_fits(*self.time_index.last)
        ):
            return False
        if not self.offset_index.offsets:
            return True
        header = next(self.walk(self.offset_index.positions[-1], self.size_bytes, check_crc=False))
        return header.last_offset - self.base_offset == self.offset_index.offsets[-1]

    def _time_entry_fits(self, timestamp_ms: int, relative_offset: int) -> bool:
        """Return whether an entry of the time index names a batch with its timestamp."""
        offset = self.base_offset + relative_offset
        try:
            head = self._file.read_at(self.position_of(offset), TIMESTAMPS_END)
        except CorruptBatch:
            return False
        last_offset = int.from_bytes(head[:OFFSET_BYTES], "big") + int.from_bytes(
            head[DELTA_POSITION:HEAD_BYTES], "big"
        )
        return (last_offset, int.from_bytes(head[-TIMESTAMP_BYTES:], "big", signed=True)) == (offset, timestamp_ms)

    def offset_before(self, timestamp_ms: int) -> int:
        """Return an offset up to which all timestamps are before `timestamp_ms`.

        Entries of the time index that do not fit the log file are dropped.

        Raises:
            OSError: the file cannot be read.
        """
        while (entry := self.time_index.entry_before(timestamp_ms)) is not None:
            number, entry_ms, relative_offset = entry
            if self._time_entry_fits(entry_ms, relative_offset):
                return self.base_offset + relative_offset
            self._report_index(self.time_index.path)
            self.time_index.drop(number)
        return self.base_offset

    def reset(self) -> None:
        """Reset the state in memory to that of an empty segment, before its batches are tracked one by one."""
        self.damages = []
        self.size_bytes = self._bytes_since_index_entry = 0
        self.next_offset = self.offset_of_max_timestamp = self.base_offset
        self.max_timestamp_ms = self.first_timestamp_ms = NO_TIMESTAMP
        self.offset_index = OffsetIndex(self.offset_index.path)
        self.time_index = TimeIndex(self.time_index.path)
        self.transaction_index.forget()
        self.is_rebuilt = True

    def file_size(self) -> int:
        """Return the size of the log file in bytes, including a torn tail."""
        return self._file.size()

    def truncate(self, size_bytes: int) -> None:
        """Truncate the log file, at the end of a batch."""
        self._file.truncate(size_bytes)

    def create_files(self) -> None:
        """Let all files be empty; the directory is to be flushed before a clean stop.

        Raises:
            OSError: a file cannot be created.
        """
        self._file.truncate(0)
        self.offset_index.create(self._fs)
        self.time_index.create(self._fs)
        self.transaction_index.save(self._fs)

    @property
    def indexes_are_flushed(self) -> bool:
        """Whether the index files have all entries, also after a power loss."""
        return self.offset_index.is_flushed and self.time_index.is_flushed and self.transaction_index.is_flushed

    def save_indexes(self, *, flush: bool = False) -> None:
        """Bring the index files up to date.

        Raises:
            OSError: a file cannot be written; the call may be retried.
        """
        self.offset_index.save(self._fs, flush=flush)
        self.time_index.save(self._fs, flush=flush)
        self.transaction_index.save(self._fs, flush=flush)

    def finish(self) -> None:
        """Complete the indexes, because no batch will follow (LogSegment.onBecomeInactiveSegment).

        Raises:
            OSError: a file cannot be written; the call may be retried.
        """
        self._cut_torn_tail()
        self._index_max_timestamp()
        self.save_indexes()

    def complete(self) -> None:
        """Complete the indexes for a clean stop, after which batches may follow again; they are not saved yet.

        Raises:
            OSError: the bytes of a failed append cannot be removed; the call may be retried.
        """
        self._cut_torn_tail()
        if self.offset_index.offsets:  # without any, a load reads all batches
            self._index_max_timestamp()

    def flush_log(self) -> None:
        """fsync the log file; this may run on another thread.

        Raises:
            OSError: the fsync failed.
        """
        self._file.flush()

    def largest_timestamp_ms(self) -> int:
        """The largest timestamp of the records; without any, when the log file was last written (LogSegment.java).

        Raises:
            OSError: the file is not there.
        """
        return self.max_timestamp_ms if self.max_timestamp_ms >= 0 else self._fs.modified_ms(self.log_path)

    def rename_files(self) -> None:
        """Rename the files of a segment that is deleted. It can still be read by who has it.

        The log file is the last one: until then the next start finds the segment whole.

        Raises:
            OSError: a file cannot be renamed; the call may be retried.
        """
        self.change_suffix(DELETED_SUFFIX)

    def change_suffix(self, suffix: str) -> None:
        """Give the files of the segment, those that exist, another suffix; the log file is the last one.

        Raises:
            OSError: a file cannot be renamed; the call may be retried.
        """
        for index in (self.offset_index, self.time_index, self.transaction_index):
            index.path = self._renamed(index.path, suffix)
        self._file.pin()  # another thread may be about to open it, by its old name, for a flush
        try:
            self.log_path = self._renamed(self.log_path, suffix)
            self._file.moved_to(self.log_path)
        finally:
            self._file.unpin()

    def _renamed(self, path: Path, suffix: str) -> Path:
        plain = path.name
        for former in (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX):
            plain = plain.removesuffix(former)
        target = path.with_name(plain + suffix)
        if target != path and self._fs.exists(path):
            self._fs.rename(path, target)
        return target

    def remove_renamed_files(self) -> Iterator[None]:
        """Close and remove the files that `rename_files` has renamed, a large one in several steps.

        Raises:
            OSError: a file cannot be removed.
        """
        while (size_bytes := self._file.size()) > REMOVED_AT_ONCE_BYTES:
            self._file.truncate(size_bytes - REMOVED_AT_ONCE_BYTES)
            yield
        self.close()
        for path in (
            self.offset_index.path,
            self.time_index.path,
            self.transaction_index.path,
            self.log_path,
        ):
            if self._fs.exists(path):
                self._fs.remove(path)

    def hold(self) -> None:
        """Keep the log file open, also if the segment is closed, until `let_go`: another thread reads it."""
        self._holders += 1
        self._file.pin()

    def hold_for_flush(self) -> None:
        """As `hold`, for a thread that only calls `flush_log`: a file that has no descriptor gets none."""
        self._holders += 1
        self._file.pin(is_open=False)

    def let_go(self) -> None:
        """End one `hold` or `hold_for_flush`."""
        self._holders -= 1
        self._file.unpin()
        if self._is_closed and self._holders == 0:
            self._file.close()

    def close(self) -> None:
        self._is_closed = True
        if self._holders == 0:
            self._file.close()
