"""Flushes: fsyncs of logs, one by one or many together, in any thread."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from coordinator.log.errors import LogFlushError
from coordinator.log.files import FileSystem
from coordinator.log.segments.segment import Segment


class FlushedLog(Protocol):
    """The log of a flush."""

    name: str
    is_closed: bool


class Flush(msgspec.Struct, frozen=True):
    """An fsync of all records before `end_offset`."""

    log: FlushedLog
    end_offset: int
    appended_bytes: int
    fs: FileSystem
    finished: Sequence[Segment]
    active: Segment | None
    directories_to_fsync: Sequence[Path]

    def __post_init__(self) -> None:
        for segment in self.segments:
            segment.hold_for_flush()

    @property
    def segments(self) -> Sequence[Segment]:
        """All that is flushed."""
        return (*self.finished, self.active) if self.active is not None else self.finished

    def release(self) -> None:
        """The flush has ended, however."""
        for segment in self.segments:
            segment.release()

    def run(self, without: Collection[Path] = ()) -> None:
        """Return when the records are on stable storage. The directories `without` are flushed by somebody else.

        This may run on another thread while the log is appended to and read. An index is not flushed: it is built
        again if it does not fit its log file. Nothing is wrong if the log is closed meanwhile, as its topic is deleted.

        Raises:
            LogFlushError: an fsync failed; a later flush cannot repair this.
        """
        try:
            for segment in self.segments:
                segment.flush_log()
            for folder in self.directories_to_fsync:
                if folder not in without:
                    self.fs.flush_directory(folder)
        except OSError as error:
            if not self.log.is_closed:
                raise LogFlushError(f"{self.log.name}: fsync failed: {error}") from error


class Unflushed(msgspec.Struct):
    """What of a log no flush has covered yet, besides its active segment."""

    segments: list[Segment] = msgspec.field(default_factory=list)
    """Those that were rolled."""
    directories: list[Path] = msgspec.field(default_factory=list)

    def fsync_later(self, folder: Path) -> None:
        """Remember to fsync a directory. Call this before an entry is created in it.

        If the creation fails half-way, the entry may survive, so the directory must be fsynced before a clean stop.
        """
        if folder not in self.directories:
            self.directories.append(folder)

    def forget(self, segments: Collection[Segment]) -> None:
        """The log does not have these segments any more."""
        self.segments = [segment for segment in self.segments if segment not in segments]

    def drain(self) -> tuple[tuple[Segment, ...], tuple[Path, ...]]:
        """Segments and directories for a flush that begins."""
        segments, directories = tuple(self.segments), tuple(self.directories)
        self.segments.clear()
        self.directories.clear()
        return segments, directories


class Finish(msgspec.Struct, frozen=True):
    """What a clean stop still has to make safe of a log: records, and indexes that no flush has covered."""

    flush: Flush | None
    unsaved: Sequence[Segment]

    def run(self, without: Collection[Path] = ()) -> None:
        """As `Flush.run`; the indexes too.

        Raises:
            LogFlushError: an fsync failed.
            OSError: an index cannot be written.
        """
        if self.flush is not None:
            self.flush.run(without)
        for segment in self.unsaved:
            segment.save_indexes(flush=True)


def work_of(flushes: Iterable[tuple[Callable[[Collection[Path]], None], Flush | None]]) -> list[Callable[[], None]]:
    """The work of many flushes, in parts that may run at the same time: a directory of several logs is flushed once.

    Each is given as the `run` of a Flush or Finish, and the Flush.
    """
    given = list(flushes)
    found = Counter((folder, flush.fs) for _, flush in given if flush for folder in flush.directories_to_fsync)
    shared = [(folder, fs) for (folder, fs), count in found.items() if count > 1]
    without = frozenset(folder for folder, _ in shared)
    work: list[Callable[[], None]] = [partial(_flush_directory, fs, folder) for folder, fs in shared]
    work += [partial(run, without) for run, _ in given]
    return work


def _flush_directory(fs: FileSystem, folder: Path) -> None:
    try:
        fs.flush_directory(folder)
    except OSError as error:
        raise LogFlushError(f"{folder}: fsync failed: {error}") from error
