"""The transaction index of a segment (`.txnindex`): the transactions whose abort marker lies in the segment.

As the two other indexes it is kept in memory and written when the segment is rolled or closed; after a crash its
entries are found again when the log's producer state is rebuilt. Most segments have no aborted transaction and no file.

Counterpart in Kafka: `TransactionIndex`, `AbortedTxn`.
"""

import struct
from bisect import bisect_left
from pathlib import Path
from typing import NamedTuple

from coordinator.log.files import FileSystem, read_file
from coordinator.log.names import PathAttribute

VERSION = 0
ENTRY = struct.Struct(">hqqqq")


class AbortedTransaction(NamedTuple):
    """An aborted transaction: the offsets of its first record and of its marker.

    `last_stable_offset` is that of the log after the marker: all transactions that begin before it have ended.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions of one segment, in the order of their markers."""

    path = PathAttribute()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[AbortedTransaction] = []
        self._is_saved = self._is_flushed = True

    @property
    def is_flushed(self) -> bool:
        """Whether the file has all entries, also after a power loss."""
        return self._is_saved and self._is_flushed

    def append(self, entry: AbortedTransaction) -> None:
        self.entries.append(entry)
        self._is_saved = self._is_flushed = False

    def forget(self) -> None:
        """Drop all entries, those in the file too when it is saved next: they are to be found again."""
        self.entries.clear()
        self._is_saved = self._is_flushed = False

    def truncate(self, offset: int) -> None:
        """Drop the entries whose marker has this offset or a later one."""
        kept = bisect_left(self.entries, offset, key=lambda entry: entry.last_offset)
        if kept < len(self.entries):
            del self.entries[kept:]
            self._is_saved = self._is_flushed = False

    def position_of(self, offset: int) -> int:
        """The position of the first entry whose marker has this offset or a later one."""
        return bisect_left(self.entries, offset, key=lambda entry: entry.last_offset)

    def moved_to(self, folder: Path, saved_bytes: int) -> None:
        """The file is another one now, in this folder: a copy that was made when it had so many bytes."""
        self.path = folder / self.path.name
        if not self._is_saved or saved_bytes != len(self.entries) * ENTRY.size:
            self._is_saved = False
        self._is_flushed = self._is_saved and not self.entries

    def load(self, fs: FileSystem, base_offset: int) -> bool:
        """Read the file, if there is one; return False if it is no transaction index of this segment."""
        if not fs.exists(self.path):
            return True
        data = read_file(fs, self.path)
        if len(data) % ENTRY.size:
            return False
        before = base_offset - 1
        self.entries.clear()
        for version, *fields in ENTRY.iter_unpack(data):
            entry = AbortedTransaction(*fields)
            if version != VERSION or not 0 <= entry.first_offset <= entry.last_offset or entry.last_offset <= before:
                return False
            before = entry.last_offset
            self.entries.append(entry)
        return True

    def save(self, fs: FileSystem, *, flush: bool = False) -> None:
        """Write the file, if it has changed; without entries there is none, unless there was one before.

        Raises:
            OSError: the file cannot be written; the call may be retried.
        """
        if self._is_saved and (self._is_flushed or not flush):
            return
        if not self.entries and not fs.exists(self.path):
            self._is_saved = self._is_flushed = True
            return
        file = fs.open(self.path)
        try:
            data = b"".join(ENTRY.pack(VERSION, *entry) for entry in self.entries)
            file.write_at(data, 0)
            file.truncate(len(data))
            if flush:
                file.flush()
        finally:
            file.close()
        self._is_saved, self._is_flushed = True, flush
