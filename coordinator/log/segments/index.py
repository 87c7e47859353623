"""The two sparse indexes of a segment, in Kafka's format: big-endian entries of fixed size, nothing else.

Both are kept in memory and written to their files when the segment is rolled or closed. After a crash the index files
of the active segment are incomplete; recovery rebuilds them from the log.
"""

import struct
from array import array
from bisect import bisect_left, bisect_right
from itertools import pairwise
from pathlib import Path

from coordinator.log.files import FileSystem, read_file
from coordinator.log.names import PathAttribute

OFFSET_ENTRY = struct.Struct(">ii")  # offset relative to the segment's base, position in the log file
TIME_ENTRY = struct.Struct(">qi")  # timestamp in ms, offset relative to the segment's base


class SparseIndex:
    """What both indexes have in common: two columns of entries in memory, and the file that gets them."""

    path = PathAttribute()
    entry: struct.Struct
    """An entry in the file: one value of each column."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved = 0  # entries in the file
        self._is_saved = self._is_flushed = False

    @property
    def columns(self) -> "tuple[array[int], array[int]]":
        """The entries, of which both have as many."""
        raise NotImplementedError

    @property
    def size_bytes(self) -> int:
        return len(self.columns[0]) * self.entry.size

    @property
    def is_flushed(self) -> bool:
        """Whether the file has all entries, also after a power loss."""
        return self._is_saved and self._is_flushed

    def create(self, fs: FileSystem) -> None:
        """Let the file be empty: it is flushed with the entry of its directory.

        Raises:
            OSError: the file cannot be created.
        """
        _append_entries(fs, self.path, b"", 0, flush=False)
        self._saved, self._is_saved, self._is_flushed = 0, True, True

    def drop(self, number: int) -> None:
        """Leave out an entry that does not fit the log file; the whole file is written at the next `save`."""
        for column in self.columns:
            del column[number]
        self._saved, self._is_saved, self._is_flushed = 0, False, False

    def save(self, fs: FileSystem, *, flush: bool = False) -> None:
        """Append the entries that are not in the file yet.

        Raises:
            OSError: the file cannot be written; the call may be retried.
        """
        if self._is_saved and (self._is_flushed or not flush):
            return
        first, second = self.columns
        data = b"".join(map(self.entry.pack, first[self._saved :], second[self._saved :]))
        _append_entries(fs, self.path, data, self._saved * self.entry.size, flush)
        self._saved = len(first)
        self._is_saved, self._is_flushed = True, flush

    def moved_to(self, folder: Path, saved_bytes: int) -> None:
        """The file is another one now, in this folder: a copy that was made when it had so many bytes."""
        self.path = folder / self.path.name
        if not self._is_saved or saved_bytes != self.size_bytes:
            self._saved, self._is_saved = 0, False
        self._is_flushed = False

    def _loaded(self) -> None:
        """The columns are what the file has."""
        self._saved = len(self.columns[0])
        self._is_saved = self._is_flushed = True


class OffsetIndex(SparseIndex):
    """Positions of batches: one entry per index.interval.bytes, with a batch's last offset and its position."""

    entry = OFFSET_ENTRY

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.offsets = array("i")
        self.positions = array("i")

    @property
    def columns(self) -> "tuple[array[int], array[int]]":
        return self.offsets, self.positions

    def append(self, relative_offset: int, position: int) -> None:
        self.offsets.append(relative_offset)
        self.positions.append(position)
        self._is_saved = self._is_flushed = False

    def entry_before(self, relative_offset: int) -> tuple[int, int, int] | None:
        """Return the last entry of a batch that is not after the one that contains the offset; None if there is none.

        It is the number of the entry, the last offset of its batch, and the position of the batch.
        """
        number = bisect_right(self.offsets, relative_offset) - 1
        return None if number < 0 else (number, self.offsets[number], self.positions[number])

    def entry_at(self, position: int) -> int | None:
        """Return the last offset, relative to the base, of the last batch with an entry that ends before a position."""
        number = bisect_right(self.positions, position) - 2
        return None if number < 0 else self.offsets[number]

    def load(self, fs: FileSystem, log_bytes: int) -> bool:
        """Read the file; return False if it does not fit a log file of `log_bytes`."""
        entries = _read_entries(fs, self.path, OFFSET_ENTRY)
        if entries is None:
            return False
        self.offsets, self.positions = array("i", entries[0]), array("i", entries[1])
        self._loaded()
        return (
            _ascends(self.offsets)
            and _ascends(self.positions)
            and (not self.offsets or (self.offsets[0] >= 0 <= self.positions[0] and self.positions[-1] < log_bytes))
        )


class TimeIndex(SparseIndex):
    """For each entry of the offset index: the greatest timestamp so far, and the last offset of the batch with it."""

    entry = TIME_ENTRY

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.timestamps_ms = array("q")
        self.offsets = array("i")

    @property
    def columns(self) -> "tuple[array[int], array[int]]":
        return self.timestamps_ms, self.offsets

    def append(self, timestamp_ms: int, relative_offset: int) -> None:
        """Add an entry, unless its timestamp is not later than that of the last entry: timestamps must ascend."""
        if not self.timestamps_ms or timestamp_ms > self.timestamps_ms[-1]:
            self.timestamps_ms.append(timestamp_ms)
            self.offsets.append(relative_offset)
            self._is_saved = self._is_flushed = False

    def entry_before(self, timestamp_ms: int) -> tuple[int, int, int] | None:
        """Return the last entry before `timestamp_ms`: its number, its timestamp and its offset; None without one.

        All timestamps up to its offset are before `timestamp_ms`.
        """
        number = bisect_left(self.timestamps_ms, timestamp_ms) - 1
        return None if number < 0 else (number, self.timestamps_ms[number], self.offsets[number])

    @property
    def last(self) -> tuple[int, int]:
        """Timestamp and offset of the last entry; there must be one."""
        return self.timestamps_ms[-1], self.offsets[-1]

    def load(self, fs: FileSystem) -> bool:
        """Read the file; return False if it is not a time index."""
        entries = _read_entries(fs, self.path, TIME_ENTRY)
        if entries is None:
            return False
        self.timestamps_ms, self.offsets = array("q", entries[0]), array("i", entries[1])
        self._loaded()
        return _ascends(self.timestamps_ms) and _ascends(self.offsets) and (not self.offsets or self.offsets[0] >= 0)


def _ascends(values: "array[int]") -> bool:
    return all(before < after for before, after in pairwise(values))


def _read_entries(fs: FileSystem, path: Path, entry: struct.Struct) -> tuple[list[int], list[int]] | None:
    """Return the two columns of an index file; None if it does not exist or ends within an entry."""
    if not fs.exists(path):
        return None
    data = read_file(fs, path)
    if len(data) % entry.size:
        return None
    rows = list(entry.iter_unpack(data))
    return [row[0] for row in rows], [row[1] for row in rows]


def _append_entries(fs: FileSystem, path: Path, data: bytes, position: int, flush: bool) -> None:
    file = fs.open(path)
    try:
        if data:
            file.write_at(data, position)
        file.truncate(position + len(data))
        if flush:
            file.flush()
    finally:
        file.close()
