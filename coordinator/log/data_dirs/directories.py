"""The directories of `log.dirs` together (LogManager.java): which log lies where, and what is done with all of them."""

import errno
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Self

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import CheckpointFile, TopicPartition
from coordinator.log.data_dirs.coordinator_epoch import next_coordinator_epoch
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.disk_failure import is_disk_failure
from coordinator.log.data_dirs.log_homes import NONE_ASSIGNED, AssignedDirectories, find_log_homes
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES
from coordinator.log.data_dirs.offline_files import OfflineFiles
from coordinator.log.data_dirs.source_metadata import remove_source
from coordinator.log.data_dirs.split_checkpoint import SplitCheckpoint
from coordinator.log.data_dirs.works import all_of, naming
from coordinator.log.disk_threads import Run, run_in_turn
from coordinator.log.errors import DataDirectoryError, OfflineDirectory, UnusableDirectory
from coordinator.log.files import DiskFileSystem, FileSystem, OpenFile
from coordinator.log.names import METADATA_LOG, folder_name
from coordinator.log.partition.future_log import FutureLog
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.stored_segments import StoredSegments
from coordinator.logger import logger


class LogDirectories:
    """The directories of one server. Each log lies in one of them; that with the metadata log may be none of them."""

    def __init__(
        self, fs: FileSystem, metadata: LogDirectory, online: Sequence[LogDirectory], paths: list[Path]
    ) -> None:
        """Use `open`."""
        self.metadata = metadata
        """The directory that has the metadata log (metadata.log.dir)."""
        self.online = list(online)
        """Those of `log.dirs` that can be used, in this order."""
        self.paths = paths
        """All of `log.dirs`."""
        self._fs = fs
        self._by_id = {directory.directory_id: directory for directory in self.online}
        self._homes: dict[TopicPartition, LogDirectory] = {}
        """The logs that are on disk or open."""
        self.interrupted_moves: dict[TopicPartition, tuple[LogDirectory, Path]] = {}
        """Logs of which the start found a copy that was to replace them: in which directory, and in which folder."""
        self._away: dict[TopicPartition, str] = {}
        """Logs that are in a directory that is offline, with its id, as far as they were seen since the start."""
        self._offline: dict[LogDirectory, Iterator[None]] = {}
        """Those that failed since the start, with what closes them."""

    @classmethod
    def open(
        cls,
        paths: Sequence[Path],
        metadata_path: Path | None = None,
        *,
        node_id: int = 1,
        fs: FileSystem | None = None,
        boot_id: str | None = None,
    ) -> Self:
        """Open the directories at the same time. A new one gets the cluster id of the others.

        The metadata log is in the first one, or in `metadata_path` (metadata.log.dir). Another one whose disk fails is
        left out, with a line; so do all Kafkas (LogDirFailureChannel).

        Raises:
            DataDirectoryError: the directory of the metadata log cannot be used; or another one is in use by another
                process, or belongs to another node or cluster, or has another format or a metadata log.
        """
        files = fs or DiskFileSystem()
        metadata_path = _as_named_in(paths, metadata_path or paths[0])
        _check_metadata_path(files, paths, metadata_path)
        open_one = partial(LogDirectory.open, node_id=node_id, fs=files, boot_id=boot_id)
        metadata = open_one(metadata_path)
        others = [path for path in paths if path != metadata_path]
        opened = _at_the_same_time(
            [partial(open_one, path, cluster_id=metadata.cluster_id) for path in others],
            isinstance(files, DiskFileSystem),
        )
        usable = [directory for directory in (metadata, *opened) if isinstance(directory, LogDirectory)]
        try:
            for problem in opened:
                if isinstance(problem, UnusableDirectory):
                    logger.error("a log directory is offline; the others are served", problem=str(problem))
                elif isinstance(problem, Exception):
                    raise problem
            if metadata_path not in paths and len(usable) == 1:
                raise DataDirectoryError(f"none of the log directories {', '.join(map(str, paths))} can be used")
            if len({directory.directory_id for directory in usable}) < len(usable):
                named = " and ".join(str(directory.root) for directory in usable)
                raise DataDirectoryError(
                    f"two of the log directories {named} are copies: they have the same directory.id"
                )
        except Exception:
            for directory in usable:
                directory.close(clean=directory.had_clean_shutdown)
            raise
        by_path = {directory.root: directory for directory in usable}
        return cls(files, metadata, [by_path[path] for path in paths if path in by_path], list(paths))

    # ------------------------------------------------------------------------------------------------- which log where

    def offline_paths(self) -> list[Path]:
        """The directories of `log.dirs` that cannot be used."""
        online = {directory.root for directory in self.online}
        return [path for path in self.paths if path not in online]

    def root_of(self, path: Path) -> Path | None:
        """The path of the directory, offline or not, that has a file; None if none has."""
        roots = {self.metadata.root, *self.paths}
        return next((parent for parent in (path, *path.parents) if parent in roots), None)

    def is_gone(self, root: Path) -> bool:
        """Whether a directory that was opened is there no more, as when its disk was unmounted."""
        try:
            return not self._fs.exists(root / META_PROPERTIES)
        except OSError as problem:
            return is_disk_failure(problem)

    def set_offline(self, directory: LogDirectory) -> list[PartitionLog]:
        """A directory of `online` has failed: use it no more. Return its logs that are open, for `close_offline`."""
        self.online.remove(directory)
        del self._by_id[directory.directory_id]
        lost = [key for key, home in self._homes.items() if home is directory]
        for key in lost:
            # Whatever the metadata says by now: none of them is to begin again elsewhere, empty.
            self._away[key] = self._homes.pop(key).directory_id
        self._offline[directory] = directory.abandon()
        return directory.logs()

    def close_offline(self, directory: LogDirectory) -> Generator[None, None, None]:
        """Close the files of a directory that was taken offline, a log in each step, and release its lock."""
        yield from self._offline.get(directory, ())
        self._offline.pop(directory, None)

    def find_homes(
        self, set_aside: Callable[[LogDirectory, str, int], bool], assigned: AssignedDirectories = NONE_ASSIGNED
    ) -> None:
        """Find out where each log is, and complete moves to another directory (`log_homes.py`).

        Logs for which `set_aside` returns True do not count.

        Raises:
            DataDirectoryError: two directories have a log of the same partition.
            OSError: a directory cannot be read or changed.
        """
        found = find_log_homes(self._fs, self.online, set_aside, assigned)
        self._homes, self._away, self.interrupted_moves = found.homes, found.away, found.interrupted_moves

    def stored_id(self, topic: str, partition: int) -> str | None:
        """The id of the directory in which the log of a partition is; None if it is not on disk."""
        home = self._homes.get((topic, partition))
        return self._away.get((topic, partition)) if home is None else home.directory_id

    def home(self, topic: str, partition: int, directory_id: str = "") -> LogDirectory | None:
        """The directory of a log: the one that has it, or else the one with this id; without an id the first one.

        None if the directory with this id is offline.
        """
        home = self._homes.get((topic, partition))
        if home is not None or (topic, partition) in self._away:
            return home
        return self._by_id.get(directory_id) if directory_id else self.online[0]

    # -------------------------------------------------------------------------------------------------------- one log

    def open_log(
        self,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        lazy: bool = False,
        topic_id: bytes | None = None,
        directory_id: str = "",
    ) -> PartitionLog:
        """Return the log of a partition; open it, and create it in the directory with this id if it does not exist.

        A `lazy` log of an offline directory can be opened, but not be written.

        Raises:
            InvalidTopicName: no topic may have this name, or it is the name of the metadata log.
            OfflineDirectory: the directory is offline, or the folder of the log, which was there, is gone.
            OSError: the log cannot be created or read.
        """
        is_stored = (topic, partition) in self._homes
        home = self.home(topic, partition, directory_id)
        if home is None:
            if lazy:
                offline = OfflineFiles()
                return PartitionLog.open(offline, self.paths[0], topic, partition, config, lazy=True)
            raise OfflineDirectory(errno.EIO, f"the log directory with id {directory_id} is offline")
        log = home.open_log(topic, partition, config, lazy=lazy, topic_id=topic_id, is_stored=is_stored)
        self._homes[topic, partition] = home
        return log

    def open_metadata_log(self, config: LogConfig) -> PartitionLog:
        """Call LogDirectory.open_metadata_log."""
        return self.metadata.open_metadata_log(config)

    def stored_segments(self, topic: str, partition: int) -> StoredSegments:
        """Call LogDirectory.stored_segments of the directory that has the log; nothing if none has."""
        home = self._homes.get((topic, partition))
        return StoredSegments() if home is None else home.stored_segments(topic, partition)

    def rename_log(self, topic: str, partition: int) -> list[Path]:
        """Call LogDirectory.rename_log, if the log exists."""
        self._away.pop((topic, partition), None)
        home = self._homes.get((topic, partition))
        if home is None:
            return []
        renamed = home.rename_log(topic, partition)
        del self._homes[topic, partition]
        return renamed

    def move_log(
        self, log: PartitionLog, target: LogDirectory, future: FutureLog | None
    ) -> tuple[list[Path], list[OpenFile]]:
        """Let a log that is open go on in another directory, where `future` is a complete copy of it.

        Without a `future`, nothing of the log is on disk. Return the folder that is not needed any more, for
        `remove_renamed`, and the files that were used before, for closing.

        Raises:
            OSError: a folder cannot be renamed. If the log was closed, nothing can be done with it before the next
                start, which completes the move.
        """
        key = (log.topic, log.partition)
        source = self._homes[key]
        discarded = []
        if future is not None:
            discarded.append(source.discard(log.folder))
            # From here on to the end of the next renaming, a crash leaves the copy alone: a start completes the move.
            try:
                self._fs.rename(future.folder, target.root / log.name)
            except OSError:
                self._rename_back(discarded[0], log, source)
                raise
        former = log.moved_to(target.root, [] if future is None else future.copies())
        source.release(*key)
        target.adopt(log)
        self._homes[key] = target
        return discarded, former

    def _rename_back(self, discarded: Path, log: PartitionLog, source: LogDirectory) -> None:
        try:
            self._fs.rename(discarded, log.folder)
        except OSError:
            # What would be appended to these files, nobody would find again.
            log.close()
            source.release(log.topic, log.partition)
            raise

    def move_ended(self, log: PartitionLog, source: LogDirectory) -> Callable[[], None]:
        """Return what makes a move safe: not even a power loss takes it back then. For another thread.

        The returned function raises OSError if that cannot be said.
        """
        roots = [source.root, log.folder.parent]
        folder = log.folder

        def run() -> None:
            for root in roots:
                self._fs.flush_directory(root)
            try:
                remove_source(self._fs, folder)
            except FileNotFoundError:
                if not log.is_closed:  # its topic was deleted
                    raise

        return run

    def remove_renamed(self, folders: Sequence[Path]) -> Generator[None, None, None]:
        """Call LogDirectory.remove_renamed."""
        for directory in self.online:
            yield from directory.remove_renamed([folder for folder in folders if folder.parent == directory.root])

    # ----------------------------------------------------------------------------------------------------- all of them

    def _all(self) -> Iterator[LogDirectory]:
        if self.metadata not in self.online:
            yield self.metadata
        yield from self.online

    @property
    def cluster_id(self) -> str:
        return self.metadata.cluster_id

    @property
    def files(self) -> FileSystem:
        """Where the directories lie."""
        return self._fs

    def recoveries(
        self, logs: Iterable[tuple[str, int, LogConfig]], bytes_min: int, new_files: Callable[[], FileSystem]
    ) -> list[Callable[[], None]]:
        """Return what recovers those of the logs that have so many bytes to read: for each directory one function.

        Each may be called in a thread of its own (LogDirectory.recover) and uses the files that `new_files` makes.

        Raises:
            OSError: a directory or a file cannot be read.
        """
        by_directory: dict[LogDirectory, list[tuple[str, int, LogConfig]]] = {}
        for topic, index, config in logs:
            home = self._homes.get((topic, index))
            if home is not None and home.unrecovered_bytes(topic, index) >= bytes_min:
                by_directory.setdefault(home, []).append((topic, index, config))

        def recover(directory: LogDirectory, found: list[tuple[str, int, LogConfig]]) -> None:
            directory.recover(new_files(), found)

        return [partial(recover, directory, found) for directory, found in by_directory.items()]

    def log_recovery(self) -> None:
        """Log one line for each directory whose logs had to be recovered."""
        for directory in self._all():
            directory.log_recovery()

    def next_coordinator_epoch(self) -> int:
        """Return the number of this start (coordinator_epoch.py)."""
        return next_coordinator_epoch(self._fs, self.metadata.root)

    def metadata_checkpoint(self, name: str) -> CheckpointFile:
        """A checkpoint file beside the metadata log, for hints about all logs."""
        return self.metadata.checkpoint_file(name)

    def checkpoint(self, name: str) -> SplitCheckpoint:
        """A checkpoint of which each directory has a file for the logs in it, for hints."""
        return SplitCheckpoint(self, {directory: directory.checkpoint_file(name) for directory in self.online})

    def prepare_log_start_offsets(self) -> Callable[[], None]:
        """Call that of each LogDirectory; what is returned raises the first OSError when it has tried all."""
        return all_of([naming(directory.root, directory.prepare_log_start_offsets()) for directory in self._all()])

    def write_log_start_offsets(self) -> None:
        """Store the start offset of each log.

        Raises:
            OSError: a checkpoint file cannot be written.
        """
        self.prepare_log_start_offsets()()

    def prepare_checkpoints(self) -> Callable[[], None]:
        """Call that of each LogDirectory; what is returned raises the first OSError when it has tried all.

        A directory that is gone is such an error, also if there is nothing to write.
        """
        directories = list(self._all())
        checks = [partial(self._check, directory) for directory in directories]
        return all_of(
            [*checks, *(naming(directory.root, directory.prepare_checkpoints()) for directory in directories)]
        )

    def _check(self, directory: LogDirectory) -> None:
        if self.is_gone(directory.root):
            raise OfflineDirectory(errno.ENOENT, "the log directory is gone", str(directory.root))

    def close(self, *, clean: bool = True, run: Run = run_in_turn) -> None:
        """Close all logs and release the locks (LogDirectory.close).

        Raises:
            LogFlushError: an fsync failed; the next start recovers the logs of that directory.
            OSError: a file cannot be written; the next start recovers the logs of that directory.
        """
        offline: list[Callable[[], object]] = [
            partial(deque, self.close_offline(directory), 0) for directory in list(self._offline)
        ]
        all_of([*offline, *(partial(directory.close, clean=clean, run=run) for directory in self._all())])()

    def close_unused(self) -> None:
        """Close after a start that failed: a directory that needed no recovery then needs none the next time."""
        all_of([partial(directory.close, clean=directory.had_clean_shutdown) for directory in self._all()])()


def _as_named_in(paths: Sequence[Path], metadata_path: Path) -> Path:
    """The one of the paths that is the same directory, perhaps through a link; else the path itself."""
    resolved = metadata_path.resolve()
    return next((path for path in paths if path.resolve() == resolved), metadata_path)


def _check_metadata_path(fs: FileSystem, paths: Sequence[Path], metadata_path: Path) -> None:
    """Check that the metadata log is where it is looked for, before anything is created.

    Raises:
        DataDirectoryError: it is, or was, in another directory.
    """
    used_before = [path for path in paths if path != metadata_path and _exists(fs, path / META_PROPERTIES)]
    elsewhere = [path for path in used_before if _exists(fs, path / folder_name(METADATA_LOG, 0))]
    if elsewhere:
        raise DataDirectoryError(
            f"the metadata log is in {elsewhere[0]}, not in {metadata_path}: list {elsewhere[0]} first in log.dirs, or"
            " name it in metadata.log.dir"
        )
    if used_before and not _exists(fs, metadata_path / META_PROPERTIES):
        raise DataDirectoryError(
            f"{metadata_path}, which should have the metadata log, is new, but {used_before[0]} is not: is a disk not"
            " mounted, or the first directory missing in log.dirs?"
        )


def _exists(fs: FileSystem, path: Path) -> bool:
    try:
        return fs.exists(path)
    except OSError:
        return False  # opening the directory says why


def _at_the_same_time(
    opens: Sequence[Callable[[], LogDirectory]], in_threads: bool
) -> list[LogDirectory | DataDirectoryError]:
    """Open directories, each in a thread if it is a disk; what fails is returned in its place."""

    def result_of(open_one: Callable[[], LogDirectory]) -> LogDirectory | DataDirectoryError:
        try:
            return open_one()
        except DataDirectoryError as problem:
            return problem

    if not in_threads or len(opens) < 2:
        return [result_of(task) for task in opens]
    with ThreadPoolExecutor(len(opens), thread_name_prefix="log-dir") as threads:
        return list(threads.map(result_of, opens))
