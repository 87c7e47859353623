"""One segment: a log file named by its first offset, and its indexes."""

import errno
from bisect import insort
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from _wire.records import (
    BatchHeader,
    CorruptBatch,
    batch_headers,
)
from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem, OpenFile
from coordinator.log.names import PathAttribute
from coordinator.log.recovery.damage import Damage
from coordinator.log.segments.batch_header import LENGTH_BYTES, LENGTH_END, OFFSET_BYTES
from coordinator.log.segments.files import CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX, segment_path
from coordinator.log.segments.index import OffsetIndex, TimeIndex
from coordinator.log.segments.segment_file import SegmentFile
from coordinator.log.segments.transaction_index import TransactionIndex

REMOVED_AT_ONCE_BYTES = 64 << 20
"""How much of a file is freed in one step: more takes the file system too long."""
WALK_BYTES = 1 << 20


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


class Segment(SegmentFile):
    """The batches with offsets from `base_offset` (inclusive) to `next_offset` (exclusive)."""

    log_path = PathAttribute()

    def __init__(self, fs: FileSystem, directory: Path, base_offset: int, config: LogConfig, suffix: str = "") -> None:
        """Open the files; create them if they do not exist. Their content is read by `load` or by recovery.

        `suffix` is that of the names of a segment that is not part of the log yet.
        """
        super().__init__(base_offset, config)
        self.log_path = segment_path(directory, base_offset, f".log{suffix}")
        self.offset_index = OffsetIndex(segment_path(directory, base_offset, f".index{suffix}"))
        self.time_index = TimeIndex(segment_path(directory, base_offset, f".timeindex{suffix}"))
        self.transaction_index = TransactionIndex(segment_path(directory, base_offset, f".txnindex{suffix}"))
        self.is_rebuilt = False
        """Whether its state was rebuilt from its batches: aborted transactions may be missing from their index."""
        self._fs = fs
        self.file = fs.open(self.log_path)
        self._holders = 0
        self._is_closed = False
        self.has_gaps = False
        """Whether offsets are missing that are not damaged: the segment was compacted."""

    def note_damage(self, damage: Damage) -> None:
        """Let reads go around bytes that are damaged; log one line."""
        insort(self.damages, damage, key=attrgetter("position"))
        damage.report()

    def read_exactly(self, position: int, size: int) -> bytes:
        """Read bytes that have been written before.

        Raises:
            OSError: they cannot be read, or the file has become shorter.
        """
        data = self.file.read_at(position, size)
        if len(data) < size:
            raise OSError(errno.EIO, f"file is shorter than the {self.size_bytes} bytes written", str(self.log_path))
        return data

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
        data = self.file.read_at(position, min(size_bytes, left))
        needed = LENGTH_END + int.from_bytes(data[OFFSET_BYTES:LENGTH_END], "big", signed=True)
        if len(data) < needed <= left:
            data = self.file.read_at(position, needed)
        if len(data) < min(size_bytes, left):
            raise OSError(errno.EIO, f"file is shorter than the {self.size_bytes} bytes written", str(self.log_path))
        return data

    def write_cleaned(self, data: memoryview, position: int) -> None:
        """Write batches of a segment that is not part of the log yet.

        Raises:
            OSError: the write failed.
        """
        self.file.write_at(data, position)

    def skip(self, damage: Damage) -> None:
        """Add bytes that are damaged at the end of what is tracked so far."""
        self.note_damage(damage)
        self.size_bytes = damage.end
        self.next_offset = damage.next_offset

    @property
    def ends_damaged(self) -> bool:
        """Whether the last bytes, or bytes that are missing after them, are no batch."""
        return bool(self.damages) and self.damages[-1].end == self.size_bytes

    def reset(self) -> None:
        """Reset the state in memory to that of an empty segment, before its batches are tracked one by one."""
        self.damages = []
        self.read_ends.clear()
        self.forget_batches()
        self.offset_index = OffsetIndex(self.offset_index.path)
        self.time_index = TimeIndex(self.time_index.path)
        self.transaction_index.forget()
        self.is_rebuilt = True

    def file_size(self) -> int:
        """Return the size of the log file in bytes, including a torn tail."""
        return self.file.size()

    def truncate(self, size_bytes: int) -> None:
        """Truncate the log file, at the end of a batch."""
        self.read_ends.clear()
        self.file.truncate(size_bytes)

    def create_files(self) -> None:
        """Let all files be empty; the directory is to be flushed before a clean stop.

        Raises:
            OSError: a file cannot be created.
        """
        self.file.truncate(0)
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
        self.cut_torn_tail()
        self.index_max_timestamp()
        self.save_indexes()

    def complete(self) -> None:
        """Complete the indexes for a clean stop, after which batches may follow again; they are not saved yet.

        Raises:
            OSError: the bytes of a failed append cannot be removed; the call may be retried.
        """
        self.cut_torn_tail()
        if self.offset_index.offsets:  # without any, a load reads all batches
            self.index_max_timestamp()

    def flush_log(self) -> None:
        """fsync the log file; this may run on another thread.

        Raises:
            OSError: the fsync failed.
        """
        self.file.flush()

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
        self.file.pin()  # another thread may be about to open it, by its old name, for a flush
        try:
            self.log_path = self._renamed(self.log_path, suffix)
            self.file.moved_to(self.log_path)
        finally:
            self.file.unpin()

    def _renamed(self, path: Path, suffix: str) -> Path:
        plain = path.name
        for former in (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX):
            plain = plain.removesuffix(former)
        target = path.with_name(plain + suffix)
        if target != path and self._fs.exists(path):
            self._fs.rename(path, target)
        return target

    @property
    def index_paths(self) -> tuple[Path, Path, Path]:
        """The files of the indexes."""
        return self.offset_index.path, self.time_index.path, self.transaction_index.path

    def moved_to(self, folder: Path, file: OpenFile, index_bytes: Sequence[int]) -> OpenFile:
        """Go on with copies of the files, which are in this folder now. Nobody may hold the segment.

        `file` is the log file, `index_bytes` are the sizes of the indexes when they were copied. Return the file that
        was used before, for closing.
        """
        assert self._holders == 0, self.log_path
        offset_bytes, time_bytes, transaction_bytes = index_bytes
        self.offset_index.moved_to(folder, offset_bytes)
        self.time_index.moved_to(folder, time_bytes)
        self.transaction_index.moved_to(folder, transaction_bytes)
        self.log_path = folder / self.log_path.name
        former, self.file = self.file, file
        file.moved_to(self.log_path)
        return former

    @property
    def is_held(self) -> bool:
        """Whether another thread reads or flushes the segment."""
        return self._holders > 0

    def remove_renamed_files(self) -> Iterator[None]:
        """Close and remove the files that `rename_files` has renamed, a large one in several steps.

        Raises:
            OSError: a file cannot be removed.
        """
        while (size_bytes := self.file.size()) > REMOVED_AT_ONCE_BYTES:
            self.file.truncate(size_bytes - REMOVED_AT_ONCE_BYTES)
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
        self.file.pin()

    def hold_for_flush(self) -> None:
        """As `hold`, for a thread that only calls `flush_log`: a file that has no descriptor gets none."""
        self._holders += 1
        self.file.pin(is_open=False)

    def release(self) -> None:
        """End one `hold` or `hold_for_flush`."""
        self._holders -= 1
        self.file.unpin()
        if self._is_closed and self._holders == 0:
            self.file.close()

    def close(self) -> None:
        self._is_closed = True
        if self._holders == 0:
            self.file.close()
