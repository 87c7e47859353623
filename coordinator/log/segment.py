"""One segment: a log file named by its first offset, and its two indexes."""

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from _wire.records import (
    BATCH_HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    batch_headers,
    end_of_whole_batches,
    find_batch,
)
from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem, OpenFile
from coordinator.log.index import OFFSET_ENTRY, OffsetIndex, TimeIndex

INT32_MAX = 2**31 - 1
NO_TIMESTAMP = -1
INT64_MAX = 2**63 - 1
RECORD_FORMAT = 2
OFFSET_BYTES = 8
LENGTH_BYTES = 4
LENGTH_END = OFFSET_BYTES + LENGTH_BYTES  # what is needed to know where a batch ends
SEARCH_BYTES = (
    8 * 1024
)  # a position from the index is seldom further than index.interval.bytes from the batch that is wanted
WALK_BYTES = 1 << 20


def segment_path(directory: Path, base_offset: int, suffix: str) -> Path:
    """Kafka's name of a file of a segment, `.log`, `.index` or `.timeindex`."""
    return directory / f"{base_offset:020d}{suffix}"


def _headers_before_corruption(data: bytes, check_crc: bool) -> list[BatchHeader]:
    """The headers of the batches before the first corrupt one. Raises CorruptBatch when that comes first."""
    try:
        return batch_headers(data, 0, check_crc)
    except CorruptBatch as error:
        if error.offset == 0:
            raise
        return batch_headers(data[: error.offset], 0, False)


@dataclass(slots=True)
class PrebuiltBatch:
    """A batch that was built here for its place in the log."""

    data: bytes
    last_offset: int


class Segment:
    """Batches with offsets from `base_offset` up to, not including, `next_offset`."""

    def __init__(self, fs: FileSystem, directory: Path, base_offset: int, config: LogConfig) -> None:
        """Open the files, made if they are not there; what they hold is found out by `load` or by recovery."""
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.size_bytes = 0
        self.max_timestamp_ms = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.first_timestamp_ms = NO_TIMESTAMP
        self.log_path = segment_path(directory, base_offset, ".log")
        self.offset_index = OffsetIndex(segment_path(directory, base_offset, ".index"))
        self.time_index = TimeIndex(segment_path(directory, base_offset, ".timeindex"))
        self._fs = fs
        self._config = config
        self._file: OpenFile = fs.open(self.log_path)
        self._bytes_since_index_entry = 0
        self._has_torn_tail = False

    def append(self, batches: bytearray, headers: Sequence[BatchHeader]) -> None:
        """Write batches that have their offsets, in one write. Raises OSError; the segment is then as before."""
        self._write(batches)
        for header in headers:
            self.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)

    def append_prebuilt(self, data: bytes, batches: Sequence[PrebuiltBatch], max_timestamp_ms: int) -> None:
        """The same for batches that were built here, of which this is known; `data` is all of them."""
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
        """No recovery must find what a failed write left behind. If this fails too, whatever comes next tries again."""
        if self._has_torn_tail:
            self._file.truncate(self.size_bytes)
            self._has_torn_tail = False

    def track_batch(self, size_in_bytes: int, last_offset: int, max_timestamp_ms: int) -> None:
        """Count a batch that lies at the end of the segment, and index it if it is its turn (LogSegment.append)."""
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
        """Whether batches go into this segment or into a next one (LogSegment.shouldRoll).

        Time is that of the batches, from the first one to `timestamp_ms`; without timestamps it does not pass.
        """
        if self.size_bytes == 0:
            return True
        config = self._config
        return (
            self.size_bytes + size_bytes <= config.segment_bytes
            and last_offset - self.base_offset <= INT32_MAX
            and (self.first_timestamp_ms < 0 or timestamp_ms - self.first_timestamp_ms <= config.segment_ms)
            and len(self.offset_index.offsets) < config.segment_index_bytes // OFFSET_ENTRY.size
        )

    def position_of(self, offset: int) -> int:
        """Where the batch begins that holds `offset` or is the first after it; the end when there is none."""
        position = start = self.offset_index.position_before(offset - self.base_offset)
        while position < self.size_bytes:
            data = self._read_exactly(position, min(SEARCH_BYTES, self.size_bytes - position))
            if position == start > 0 and int.from_bytes(data[:OFFSET_BYTES], "big") > offset:
                raise self._corrupt(position, "base_offset", f"not the batch that {self.offset_index.path.name} names")
            step, found = self._find_batch(data, offset, position)
            position += step
            if found:
                return position
            if step == 0:
                raise self._corrupt(position, "", f"{len(data)} bytes are less than a header")
        if position > self.size_bytes or self.base_offset <= offset < self.next_offset:
            raise self._corrupt(position, "batch_length", f"offset {offset} is not found before the end of the segment")
        return position

    def _find_batch(self, data: bytes, offset: int, position: int) -> tuple[int, bool]:
        try:
            return find_batch(data, offset)
        except CorruptBatch as problem:
            raise self._corrupt(position + problem.offset, problem.field, problem.why) from None

    def read(self, offset: int, max_bytes: int, *, at_least_one_batch: bool, before_offset: int) -> bytes:
        """Whole batches from the one that holds `offset` on.

        Raises:
            CorruptBatch: there is no whole batch where one should be. Checksums are not looked at.
            OSError: the disk refused.
        """
        return self._read_at(self.position_of(offset), max_bytes, at_least_one_batch, before_offset)

    def _read_at(self, position: int, max_bytes: int, at_least_one_batch: bool, before_offset: int) -> bytes:
        """Whole batches from `position` on, where one begins unless it is the end of the segment."""
        left = self.size_bytes - position
        data = self._read_exactly(position, max(0, min(max_bytes, left)))
        end = end_of_whole_batches(data, before_offset)
        if end == 0 and left > 0:
            base_offset, size_bytes = self._offset_and_size_at(position)
            at_least_one_batch = at_least_one_batch and base_offset < before_offset
            return self._read_exactly(position, size_bytes) if at_least_one_batch else b""
        return data if end == len(data) else data[:end]

    def _offset_and_size_at(self, position: int) -> tuple[int, int]:
        """The base offset and the size in bytes of the batch at `position`; it is there to its end."""
        left = self.size_bytes - position
        head = self._read_exactly(position, min(LENGTH_END, left))
        base_offset = int.from_bytes(head[:OFFSET_BYTES], "big", signed=True)
        size_bytes = LENGTH_END + int.from_bytes(head[OFFSET_BYTES:], "big", signed=True)
        if not BATCH_HEADER_BYTES <= size_bytes <= left:
            raise self._corrupt(position, "batch_length", f"a batch of {size_bytes} bytes, {left} are left")
        if not self.base_offset <= base_offset < self.next_offset:
            raise self._corrupt(position, "base_offset", f"{base_offset} in a segment that ends at {self.next_offset}")
        return base_offset, size_bytes

    def batches(self, offset: int, read_bytes: int) -> Iterator[tuple[BatchHeader, bytes]]:
        """Every batch from the one that holds `offset` on, to the end as it is when the iteration gets there.

        `read_bytes` are read at once, and more for a batch that is larger.

        Raises:
            CorruptBatch: a checksum is wrong, a batch is not whole, or its offsets do not follow those before it.
            OSError: the disk refused.
        """
        position, lowest_offset = self.position_of(offset), self.base_offset
        while position < self.size_bytes:
            data = self._read_at(position, read_bytes, at_least_one_batch=True, before_offset=INT64_MAX)
            try:
                headers = batch_headers(data)
            except CorruptBatch as problem:
                raise self._corrupt(position + problem.offset, problem.field, problem.why) from None
            for header in headers:
                if header.base_offset < lowest_offset or header.last_offset >= self.next_offset:
                    offsets = f"{header.base_offset} to {header.last_offset}"
                    allowed = f"{lowest_offset} to {self.next_offset - 1}"
                    raise self._corrupt(position + header.position, "base_offset", f"{offsets} is not in {allowed}")
                lowest_offset = header.next_offset
                yield header, data[header.position : header.position + header.size_in_bytes]
            position += len(data)

    def _read_exactly(self, position: int, size: int) -> bytes:
        """Bytes that were written. Raises OSError, also when the file has become shorter."""
        data = self._file.read_at(position, size)
        if len(data) < size:
            raise OSError(errno.EIO, f"shorter than the {self.size_bytes} bytes written", str(self.log_path))
        return data

    def _corrupt(self, position: int, field: str, why: str) -> CorruptBatch:
        """A CorruptBatch to raise, for what lies at `position` of the log file."""
        return CorruptBatch("RecordBatch", RECORD_FORMAT, field, position, f"{why} ({self.log_path.name})")

    def walk(self, position: int, end: int, *, check_crc: bool) -> Iterator[BatchHeader]:
        """The headers of the whole batches between two positions of the file, from a batch's start on.

        Stops before a batch that does not end before `end`. Each header's `position` counts within the bytes that were
        read for it. Raises CorruptBatch and OSError.
        """
        for _, headers in self.chunks(position, end, check_crc=check_crc):
            yield from headers

    def chunks(self, position: int, end: int, *, check_crc: bool) -> Iterator[tuple[bytes, list[BatchHeader]]]:
        """As `walk`, with the bytes."""
        while end - position > LENGTH_END:
            length = int.from_bytes(self._read_exactly(position + OFFSET_BYTES, LENGTH_BYTES), "big", signed=True)
            if length > end - position - LENGTH_END:
                return
            data = self._read_exactly(position, min(max(WALK_BYTES, LENGTH_END + length), end - position))
            headers = _headers_before_corruption(data, check_crc)
            yield data, headers
            position += headers[-1].position + headers[-1].size_in_bytes

    def load(self) -> bool:
        """Find out what the files hold by the indexes and the batches after their last entries.

        False when the indexes do not fit the log, or the log does not end with a whole batch: then it takes a recovery.
        """
        end = self._file.size()
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
        """Note the batches after the last index entry, up to the first one that cannot be the next."""
        self.size_bytes = self.offset_index.positions[-1] if self.offset_index.positions else 0
        for header in self.walk(self.size_bytes, end, check_crc=True):
            if not self.can_be_next(header):
                break
            self.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)

    def can_be_next(self, header: BatchHeader) -> bool:
        """Whether a batch that lies at the end of the segment can be its next one; `note` takes no other."""
        return (
            header.magic == RECORD_FORMAT
            and header.base_offset >= self.next_offset
            and header.last_offset - self.base_offset <= INT32_MAX
            and self.size_bytes <= INT32_MAX
        )

    def _indexes_fit(self) -> bool:
        """Whether the last entries speak of batches that are there."""
        last_offset = self.next_offset - self.base_offset - 1
        if self.time_index.offsets and self.time_index.offsets[-1] > last_offset:
            return False
        if not self.offset_index.offsets:
            return True
        header = next(self.walk(self.offset_index.positions[-1], self.size_bytes, check_crc=False))
        return header.last_offset - self.base_offset == self.offset_index.offsets[-1]

    def reset(self) -> None:
        """Go back to an empty segment, in memory, before its batches are noted one by one."""
        self.size_bytes = self._bytes_since_index_entry = 0
        self.next_offset = self.offset_of_max_timestamp = self.base_offset
        self.max_timestamp_ms = self.first_timestamp_ms = NO_TIMESTAMP
        self.offset_index = OffsetIndex(self.offset_index.path)
        self.time_index = TimeIndex(self.time_index.path)

    def file_size(self) -> int:
        """Bytes of the log file, a torn tail included."""
        return self._file.size()

    def truncate(self, size_bytes: int) -> None:
        """Cut the log file at the end of a batch."""
        self._file.truncate(size_bytes)

    def save_indexes(self, *, flush: bool = False) -> None:
        """Bring the index files up to date. Raises OSError; may then be tried again."""
        self.offset_index.save(self._fs, flush=flush)
        self.time_index.save(self._fs, flush=flush)

    def finish(self) -> None:
        """No batch follows any more: the last word on time goes into the index (LogSegment.onBecomeInactiveSegment).

        Raises OSError; may then be tried again.
        """
        self._cut_torn_tail()
        self._index_max_timestamp()
        self.save_indexes()

    def flush_log(self) -> None:
        """fsync of the log file; may run on another thread. Raises OSError."""
        self._file.flush()

    def close(self) -> None:
        self._file.close()
