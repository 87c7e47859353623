"""Replaces the records of a log before its active segment by others that say the same.

The new ones are written to a file of their own, which takes the place of the old files as after a cleaning (`swap.py`):
a crash at any point leaves the old records or the new ones. They end at the same offset.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Final

from _wire.records import build_batch, place_batches
from coordinator.config.key import INT32_MAX
from coordinator.log.compaction.cleaned_segment import complete_cleaned
from coordinator.log.files import FileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.files import CLEANED_SUFFIX, SWAP_SUFFIX, remove_segment_files
from coordinator.log.segments.segment import Segment

BATCH_BYTES: Final = 1 << 18
"""Of the values of the records in one batch."""


class Rewrite:
    """One replacement. `write` may run in another thread, while the log is appended to; all else is for the loop."""

    def __init__(self, fs: FileSystem, log: PartitionLog) -> None:
        """Begin; the log gets a new active segment, so all that it has now can be replaced.

        Raises:
            OSError: a file cannot be created or removed.
        """
        self._fs = fs
        self._log = log
        log.roll()
        self._old: Final = tuple(log.segments[:-1])
        self._end_offset: Final = log.log_end_offset
        self._base_offset: Final = self._old[0].base_offset
        remove_segment_files(fs, log.folder, self._base_offset, CLEANED_SUFFIX)
        self._new = Segment(fs, log.folder, self._base_offset, log.config, CLEANED_SUFFIX)
        self._new.hold()

    @property
    def old_bytes(self) -> int:
        """The size of what is to be replaced."""
        return sum(segment.size_bytes for segment in self._old)

    @property
    def has_room(self) -> bool:
        """Whether the offsets of a segment can be as far apart as those of the old ones."""
        return self._end_offset - self._base_offset <= INT32_MAX

    def write(self, values: Sequence[bytes], timestamp_ms: int) -> None:
        """Write records with these values and no keys, one to as many as were there, and make them durable.

        Raises:
            OSError: a file cannot be written.
        """
        first_offset = self._end_offset - len(values)
        assert values, "a log without records cannot say where it ends"
        assert first_offset >= self._base_offset, (first_offset, self._base_offset)
        position, offset = 0, first_offset
        entries: list[tuple[int, int, int, int]] = []
        for batch in batches_of(values):
            built = bytearray(build_batch([(None, value, ()) for value in batch], timestamp_ms=timestamp_ms))
            (header,) = place_batches(built, offset, 0, False)
            self._new.write_cleaned(memoryview(built), position)
            entries.append((header.last_offset, position, timestamp_ms, header.last_offset))
            position, offset = position + len(built), header.next_offset
        timestamps_ms = timestamp_ms, timestamp_ms, entries[0][0]
        complete_cleaned(self._new, position, self._end_offset, timestamps_ms, entries[1:])
        self._new.change_suffix(SWAP_SUFFIX)
        self._fs.flush_directory(self._log.folder)

    def finish(self) -> Generator[None, None, None]:
        """Let the log have what was written, then remove the old files in steps.

        Raises:
            OSError: a file cannot be renamed or removed; the next start does it.
        """
        self._log.replace_segments(self._old, self._new)
        self._new.release()
        yield
        yield from self._log.segments.remove_deleted_files(len(self._old))

    def abort(self) -> None:
        """Leave the log as it is.

        Raises:
            OSError: a file cannot be removed; the next start does it.
        """
        self._new.release()
        self._new.close()
        for suffix in (CLEANED_SUFFIX, SWAP_SUFFIX):
            remove_segment_files(self._fs, self._log.folder, self._base_offset, suffix)


def batches_of(values: Sequence[bytes]) -> Iterator[list[bytes]]:
    """Split values into those of batches of BATCH_BYTES, or of one value that is larger."""
    batch: list[bytes] = []
    size_bytes = 0
    for value in values:
        if batch and size_bytes + len(value) > BATCH_BYTES:
            yield batch
            batch, size_bytes = [], 0
        batch.append(value)
        size_bytes += len(value)
    yield batch
