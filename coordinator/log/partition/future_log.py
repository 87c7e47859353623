"""A copy of a log that is made in another log directory, beside the log, which is appended to and read meanwhile.

The files are copied byte by byte, in portions that another thread may copy. What the log loses or replaces meanwhile,
by retention or compaction, is taken out of the copy again. When nothing is missing, the log goes on with the copies
(`PartitionLog.move_to`). Kafka calls it the future log (Partition.futureLog), and appends to it as a follower does.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from coordinator.log.data_dirs.partition_metadata import PARTITION_METADATA
from coordinator.log.data_dirs.source_metadata import SOURCE_METADATA
from coordinator.log.files import FileSystem, OpenFile, read_file, write_file
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments import producer_snapshot
from coordinator.log.segments.files import remove_segment_files
from coordinator.log.segments.segment import Segment

READ_BYTES: Final = 1 << 20
"""How much is read at a time."""
PORTIONS_AT_ONCE: Final = 3
"""More than one, as a segment may have been replaced."""
SEGMENTS_PER_PORTION: Final = 64
"""A portion has no more segments, however small they are."""


class CopyFailed(Exception):
    """A file could not be copied, for the OSError that is the cause. The message is one line."""

    def __init__(self, problem: OSError, *, is_read: bool) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.is_read = is_read
        """Whether the log could not be read; otherwise the copy could not be written."""


class SegmentCopy:
    """The copy of one segment, as far as it has come."""

    def __init__(self, segment: Segment, file: OpenFile) -> None:
        self.segment = segment
        self.file = file
        """The log file of the copy."""
        self.copied_bytes = 0
        """Of the log file."""
        self.is_flushed = False
        """Whether what was copied is on stable storage."""
        self.index_bytes: tuple[int, ...] | None = None
        """The sizes of the indexes that were copied, when the segment was finished; None: not yet."""

    def end_offset(self) -> int:
        """The offset before which all is copied; a lower one where only the batches would say it."""
        segment = self.segment
        if self.copied_bytes >= segment.size_bytes:
            return segment.next_offset
        entry = segment.offset_index.entry_at(self.copied_bytes)
        return segment.base_offset if entry is None else segment.base_offset + entry


class _Part:
    """What of one segment is copied in a portion."""

    def __init__(self, copy: SegmentCopy, end: int, is_finished: bool) -> None:
        self.copy = copy
        self.start = copy.copied_bytes
        self.end = end
        self.indexes = copy.segment.index_paths
        self.is_finished = is_finished
        """Whether the segment is finished, and this is the rest of it."""
        self.index_bytes: tuple[int, ...] | None = None
        copy.segment.hold()
        copy.file.pin()

    def release(self) -> None:
        self.copy.segment.release()
        self.copy.file.unpin()


class Portion:
    """Bytes that are copied together. `run` may be called in another thread."""

    def __init__(
        self, fs: FileSystem, folder: Path, removed: Sequence[int], parts: Sequence[_Part], is_last: bool
    ) -> None:
        self._fs = fs
        self._folder = folder
        self._removed = removed
        self.parts = parts
        self.is_last = is_last
        """Whether nothing was missing besides when this was planned."""
        self.has_flushed = False

    @property
    def size_bytes(self) -> int:
        """How much of log files is copied."""
        return sum(part.end - part.start for part in self.parts)

    def run(self, *, flush: bool = True) -> None:
        """Copy, and flush what is finished or large.

        Raises:
            CopyFailed: a file cannot be read or written.
        """
        try:
            for base_offset in self._removed:
                remove_segment_files(self._fs, self._folder, base_offset)
        except OSError as problem:
            raise CopyFailed(problem, is_read=False) from problem
        for part in self.parts:
            _copy_bytes(part.copy, part.start, part.end)
            if part.start == 0 or part.is_finished:
                part.index_bytes = tuple([_copy_file(self._fs, path, self._folder) for path in part.indexes])
            # A flush of a whole segment would let the flushes of other logs wait for it.
            if flush and (part.is_finished or part.end - part.start >= READ_BYTES):
                _written(part.copy.file.flush)
        self.has_flushed = flush


def _copy_bytes(copy: SegmentCopy, start: int, end: int) -> None:
    while start < end:
        size = min(READ_BYTES, end - start)
        try:
            data = copy.segment.read_exactly(start, size)
        except OSError as problem:
            raise CopyFailed(problem, is_read=True) from problem
        _written(partial(copy.file.write_at, data, start))
        start += size


def _written(write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as problem:
        raise CopyFailed(problem, is_read=False) from problem


def _copy_file(fs: FileSystem, path: Path, folder: Path, *, flush: bool = False) -> int:
    """Copy a small file into a folder; return its size. One that does not exist, or no more, counts as empty."""
    try:
        if not fs.exists(path):
            return 0
        data = read_file(fs, path)
    except FileNotFoundError:
        return 0
    except OSError as problem:
        raise CopyFailed(problem, is_read=True) from problem
    _written(lambda: write_file(fs, folder / path.name, data, flush=flush))
    return len(data)


def _flush_file(fs: FileSystem, path: Path) -> None:
    file = fs.open(path)
    try:
        file.flush()
    finally:
        file.close()


class FutureLog:
    """The copy of a log in a folder that exists and has nothing of a log. It belongs to the event loop."""

    def __init__(self, fs: FileSystem, log: PartitionLog, folder: Path) -> None:
        self.log = log
        self.folder = folder
        self._fs = fs
        self._copies: dict[Segment, SegmentCopy] = {}
        self._unflushed: list[SegmentCopy] = []
        self._snapshots_saved = -1
        """`log.snapshots_saved` when the snapshots were copied."""

    @property
    def size_bytes(self) -> int:
        """The size of what is copied."""
        return sum(copy.copied_bytes for copy in self._copies.values())

    @property
    def lag_bytes(self) -> int:
        """What of the log is not copied yet."""
        return sum(max(segment.size_bytes - self._copied_bytes(segment), 0) for segment in self.log.segments)

    @property
    def end_offset(self) -> int:
        """The offset before which all is copied."""
        for segment in self.log.segments:
            copy = self._copies.get(segment)
            if copy is None:
                return segment.base_offset
            if copy.copied_bytes < segment.size_bytes:
                return copy.end_offset()
        return self.log.log_end_offset

    def _copied_bytes(self, segment: Segment) -> int:
        copy = self._copies.get(segment)
        return 0 if copy is None else copy.copied_bytes

    def next_portion(self, bytes_max: int) -> Portion | None:
        """What is copied next, about `bytes_max`; None if nothing is left. Call `copied` then, also if it failed.

        Raises:
            OSError: a file cannot be opened.
        """
        segments = self.log.segments.items
        source_segments = set(segments)
        removed = [self._copies.pop(segment) for segment in list(self._copies) if segment not in source_segments]
        for segment_copy in removed:
            segment_copy.file.close()
        parts: list[_Part] = []
        left, is_last = bytes_max, True
        for segment in segments:
            is_finished = segment is not segments[-1]
            if self._is_copied(segment, is_finished):
                continue
            # The file of a segment that was replaced may have the same name. It is removed before this one is made.
            is_blocked = segment not in self._copies and any(
                segment_copy.segment.base_offset == segment.base_offset for segment_copy in removed
            )
            if left <= 0 or len(parts) == SEGMENTS_PER_PORTION or is_blocked:
                is_last = False
                break
            copy = self._copies.get(segment)
            if copy is None:
                copy = self._copies[segment] = SegmentCopy(segment, self._fs.open(self.folder / segment.log_path.name))
            end = min(segment.size_bytes, copy.copied_bytes + left)
            left -= end - copy.copied_bytes
            is_last = end == segment.size_bytes
            parts.append(_Part(copy, end, is_finished and is_last))
        if not parts and not removed:
            return None
        return Portion(
            self._fs, self.folder, [segment_copy.segment.base_offset for segment_copy in removed], parts, is_last
        )

    def _is_copied(self, segment: Segment, is_finished: bool) -> bool:
        copy = self._copies.get(segment)
        if copy is None or copy.copied_bytes < segment.size_bytes:
            return False
        return copy.index_bytes is not None or not is_finished

    def copied(self, portion: Portion, problem: Exception | None) -> None:
        """A portion was copied, or failed."""
        for part in portion.parts:
            part.release()
            if problem is None:
                part.copy.copied_bytes = part.end
                part.copy.is_flushed = part.is_finished and portion.has_flushed
                if part.is_finished:
                    part.copy.index_bytes = part.index_bytes

    def flush(self) -> Callable[[], None]:
        """Return what makes the copy safe, producer snapshots and the rest of its folder too. For another thread.

        Call `flushed` then. The returned function raises CopyFailed.
        """
        self._snapshots_saved = self.log.snapshots_saved
        unflushed = [copy for copy in self._copies.values() if not copy.is_flushed]
        for copy in unflushed:
            copy.file.pin()
        self._unflushed = unflushed
        log_folder = self.log.folder

        def run() -> None:
            self._copy_snapshots(log_folder)
            for copy in unflushed:
                _written(copy.file.flush)
            for name in (PARTITION_METADATA, SOURCE_METADATA):
                _written(partial(_flush_file, self._fs, self.folder / name))
            _written(lambda: self._fs.flush_directory(self.folder))
            _written(lambda: self._fs.flush_directory(self.folder.parent))

        return run

    def flushed(self) -> None:
        """What `flush` returned has ended, however."""
        for copy in self._unflushed:
            copy.file.unpin()

    def _copy_snapshots(self, log_folder: Path) -> None:
        try:
            stored = set(producer_snapshot.stored_offsets(self._fs, log_folder))
        except OSError as problem:
            raise CopyFailed(problem, is_read=True) from problem
        try:
            present = set(producer_snapshot.stored_offsets(self._fs, self.folder))
            producer_snapshot.remove_snapshots(self._fs, self.folder, sorted(present - stored))
        except OSError as problem:
            raise CopyFailed(problem, is_read=False) from problem
        for offset in sorted(stored - present):
            _copy_file(self._fs, producer_snapshot.snapshot_path(log_folder, offset), self.folder, flush=True)

    def copy_rest(self, bytes_max: int) -> bool:
        """Copy at once what was appended since the flush. False: it is too much, or more has changed than that.

        Raises:
            CopyFailed: a file cannot be read or written.
            OSError: a file cannot be opened.
        """
        if self.log.snapshots_saved != self._snapshots_saved or self.lag_bytes > bytes_max:
            return False
        for _ in range(PORTIONS_AT_ONCE):
            portion = self.next_portion(bytes_max)
            if portion is None:
                return True
            problem: CopyFailed | None = None
            try:
                portion.run(flush=False)
            except CopyFailed as failed:
                problem = failed
                raise
            finally:
                self.copied(portion, problem)
        return False

    def copies(self) -> list[SegmentCopy]:
        """The copies of all segments of the log, in order, when nothing is missing. They are the log's from then on."""
        copies = [self._copies[segment] for segment in self.log.segments]
        self._copies = {}
        return copies

    def close(self) -> None:
        """Close the files."""
        for copy in self._copies.values():
            copy.file.close()
        self._copies = {}
