"""One directory of `log.dirs`: its lock, its logs and its checkpoint files (LogManager.java)."""

import errno
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import (
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    UNRECOVERED,
    CheckpointFile,
    CheckpointWriter,
    TopicPartition,
    read_checkpoint,
)
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, load_properties
from coordinator.log.data_dirs.partition_metadata import belongs_to, write_topic_id
from coordinator.log.data_dirs.source_metadata import write_source
from coordinator.log.disk_threads import Run, run_in_turn
from coordinator.log.errors import DataDirectoryError, OfflineDirectory, UnusableDirectory
from coordinator.log.files import DiskFileSystem, FileLock, FileSystem
from coordinator.log.names import (
    DELETED_SUFFIX,
    FUTURE_SUFFIX,
    METADATA_LOG,
    STRAY_SUFFIX,
    check_topic_name,
    folder_name,
    future_folder_name,
    parse_folder_name,
    parse_future_folder_name,
    renamed_folder,
)
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.clean_stop import finish_logs
from coordinator.log.recovery.last_stop import KILLED, POWER_LOST, consume_note, mark_clean, read_boot_id
from coordinator.log.recovery.load import Recovery
from coordinator.log.segments.stored_segments import StoredSegments, stored_bytes_from, stored_segments
from coordinator.logger import logger

LOCK = ".lock"


class LogDirectory:
    """The directory in which one server stores its logs. It is locked against other processes while it is open."""

    def __init__(self, fs: FileSystem, root: Path, lock: FileLock, properties: Mapping[str, str], boot_id: str) -> None:
        """Use `open`."""
        self.root = root
        self.cluster_id = properties["cluster.id"]
        self.node_id = int(properties["node.id"])
        self.directory_id = properties["directory.id"]
        self._fs = fs
        self._lock = lock
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._checkpoints = CheckpointWriter(fs, root)
        self._recovery_points = self._read_checkpoint(RECOVERY_POINTS) or {}
        started = self._read_checkpoint(LOG_START_OFFSETS)
        if started is not None and fs.exists(root / LOG_START_OFFSETS):
            self._checkpoints.found(LOG_START_OFFSETS, started)
        self._log_start_offsets = started or {}
        self._stored_keys = {*self._recovery_points, *self._log_start_offsets}
        """The logs that the checkpoint files name."""
        stop = consume_note(fs, root, boot_id, self._read_checkpoint(UNRECOVERED), self.stored_partitions())
        self.had_clean_shutdown = stop.was_clean
        self._unrecovered = stop.unrecovered
        self._recovered: dict[TopicPartition, Recovery] = {}
        """What `recover` did to logs that were not opened since."""
        self._remove_deleted()

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int] | None:
        """Read a checkpoint file; None, with a line in the log, if it is damaged."""
        try:
            return read_checkpoint(self._fs, self.root / name)
        except DataDirectoryError as problem:
            logger.error("a checkpoint file is damaged and not used", file=str(self.root / name), problem=str(problem))
            return None

    @classmethod
    def open(
        cls,
        root: Path,
        *,
        node_id: int = 1,
        cluster_id: str | None = None,
        fs: FileSystem | None = None,
        boot_id: str | None = None,
    ) -> Self:
        """Lock the directory and read its properties and checkpoints; create it if it does not exist.

        The logs are opened later, one by one. A new directory gets `cluster_id` (default: a random one); an existing
        one must belong to that cluster, if it is given. `boot_id` names the boot of the system (default: that of this
        machine; none for other files than those of the system): if it is still the one of the last process, what that
        has written is still in the page cache.

        Raises:
            UnusableDirectory: the path is not a directory, not writable, or its disk fails.
            DataDirectoryError: the directory is in use by another process, belongs to another node or cluster, has
                another format, or is damaged.
        """
        if boot_id is None:
            boot_id = read_boot_id() if fs is None or isinstance(fs, DiskFileSystem) else ""
        fs = fs or DiskFileSystem()
        lock = _lock(fs, root)
        try:
            return cls(fs, root, lock, load_properties(fs, root, node_id, cluster_id), boot_id)
        except OSError as error:
            lock.release()
            raise UnusableDirectory(f"data directory {root} cannot be used: {error}") from error
        except DataDirectoryError:
            lock.release()
            raise

    def open_log(
        self,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        lazy: bool = False,
        topic_id: bytes | None = None,
        is_stored: bool = False,
    ) -> PartitionLog:
        """Return the log of a topic's partition; open it, and create it if it does not exist (`lazy`: PartitionLog).

        A directory that is created gets the `topic_id` (`partition.metadata`). None is created for a log that
        `is_stored`, nor if this directory is gone, as when its disk was unmounted: all records would seem to be gone.

        Raises:
            InvalidTopicName: no topic may have this name, or it is the name of the metadata log.
            OfflineDirectory: this directory, or the folder of a log that was there, is gone.
            OSError: the log cannot be created or read.
        """
        check_topic_name(topic)
        return self._open_log(topic, partition, config, lazy, topic_id, is_stored)

    def open_metadata_log(self, config: LogConfig) -> PartitionLog:
        """Return the metadata log, which `open_log` and `delete_log` do not accept.

        Raises:
            OSError: the log cannot be created or read.
        """
        return self._open_log(METADATA_LOG, 0, config, lazy=False)

    def _open_log(
        self,
        topic: str,
        partition: int,
        config: LogConfig,
        lazy: bool,
        topic_id: bytes | None = None,
        is_stored: bool = False,
    ) -> PartitionLog:
        key = (topic, partition)
        if key not in self._logs:
            folder = self.root / folder_name(topic, partition)
            if not self._fs.is_directory(folder):
                if is_stored:
                    raise OfflineDirectory(errno.ENOENT, "the folder of the log is gone", str(folder))
                if not self._fs.exists(self.root / META_PROPERTIES):
                    raise OfflineDirectory(errno.ENOENT, "the log directory is gone", str(self.root))
                # What the checkpoint files say was true of an earlier log of this name, which was deleted.
                self._forget(key)
                if key in self._stored_keys:
                    self.write_checkpoints()
            self._logs[key] = self._load_log(self._fs, key, config, lazy, topic_id)
            self._unrecovered.pop(key, None)
        return self._logs[key]

    def _load_log(
        self, fs: FileSystem, key: TopicPartition, config: LogConfig, lazy: bool, topic_id: bytes | None
    ) -> PartitionLog:
        is_clean = self.had_clean_shutdown and key not in self._unrecovered
        return PartitionLog.open(
            fs,
            self.root,
            *key,
            config,
            recovery_point=self._recovery_points.get(key, 0),
            log_start_offset=self._log_start_offsets.get(key, 0),
            clean=is_clean or key in self._recovered,
            # The metadata log is flushed after each append, so only the last one can be incomplete.
            killed=key[0] == METADATA_LOG or self._unrecovered.get(key) == KILLED,
            lazy=lazy,
            topic_id=topic_id,
        )

    def recover(self, fs: FileSystem, logs: Sequence[tuple[str, int, LogConfig]]) -> None:
        """Recover logs and flush them, so that `open_log` need not. May be called in another thread, with files of its
        own, as long as nothing else is done with this directory.

        A log that cannot be read gets a line, and is tried again when it is opened.

        Raises:
            LogFlushError: an fsync failed.
        """
        for topic, partition, config in logs:
            key = (topic, partition)
            try:
                log = self._load_log(fs, key, config, False, None)
                try:
                    log.finish()
                finally:
                    log.close()
            except OSError as problem:
                logger.error("cannot recover a log", log=str(self.root / folder_name(*key)), problem=str(problem))
                continue
            self._recovered[key] = log.recovery
            self._recovery_points[key] = log.recovery_point
            self._unrecovered.pop(key, None)

    @property
    def files(self) -> FileSystem:
        """Where the directory lies."""
        return self._fs

    def logs(self) -> list[PartitionLog]:
        """Return the logs that are open, sorted by topic and partition."""
        return [self._logs[key] for key in sorted(self._logs)]

    def checkpoint_file(self, name: str) -> CheckpointFile:
        """Return a checkpoint file of this directory, for hints (CheckpointFile)."""
        return CheckpointFile(self._fs, self.root / name)

    def stored_partitions(self) -> list[TopicPartition]:
        """Return topic and partition of each log on disk, open or not.

        Raises:
            OSError: the directory cannot be read.
        """
        parsed = map(parse_folder_name, self._fs.names(self.root))
        return sorted(key for key in parsed if key and self._fs.is_directory(self.root / folder_name(*key)))

    def stored_segments(self, topic: str, partition: int) -> StoredSegments:
        """Return what can be said of the segments of a log without opening it.

        Raises:
            OSError: the directory or a file cannot be read.
        """
        return stored_segments(self._fs, self.root / folder_name(topic, partition))

    def needs_recovery(self, topic: str, partition: int) -> bool:
        """Whether a log was not opened since the last stop that was not clean."""
        key = (topic, partition)
        return key not in self._logs and key in self._unrecovered

    def unrecovered_bytes(self, topic: str, partition: int) -> int:
        """Return how many bytes the recovery of a log will read when it is opened; 0 if it needs none.

        Raises:
            OSError: the directory or a file cannot be read.
        """
        if not self.needs_recovery(topic, partition):
            return 0
        key = (topic, partition)
        return stored_bytes_from(self._fs, self.root / folder_name(topic, partition), self._recovery_points.get(key, 0))

    def volume_bytes(self) -> tuple[int, int]:
        """The size of the volume in bytes, and what may still be written to it.

        Raises:
            OSError: it cannot be asked.
        """
        return self._fs.volume_bytes(self.root)

    def delete_log(self, topic: str, partition: int) -> None:
        """Close and delete a log, if it exists.

        Raises:
            InvalidTopicName: no topic may have this name, or it is the name of the metadata log.
            OSError: the directory cannot be renamed or removed.
        """
        for _ in self.remove_renamed(self.rename_log(topic, partition)):
            continue

    def rename_log(self, topic: str, partition: int) -> list[Path]:
        """Close a log and rename its directory, if there is one; return the new name for `remove_renamed`.

        A renamed directory that is left over is removed by the next `open`.

        Raises:
            InvalidTopicName: no topic may have this name, or it is the name of the metadata log.
            OSError: the directory cannot be renamed.
        """
        check_topic_name(topic)
        key = (topic, partition)
        if log := self._logs.pop(key, None):
            log.close()
        self._forget(key)
        folder = self.root / folder_name(topic, partition)
        if not self._fs.is_directory(folder):
            return []
        deleted = self.root / renamed_folder(folder.name, uuid.uuid4().hex, DELETED_SUFFIX)
        self._fs.rename(folder, deleted)
        return [deleted]

    def remove_renamed(self, folders: Sequence[Path]) -> Generator[None, None, None]:
        """Remove directories that `rename_log` has renamed, one in each step.

        Raises:
            OSError: a directory cannot be removed.
        """
        if folders:
            self._fs.flush_directory(self.root)
        for folder in folders:
            yield
            self._fs.remove_tree(folder)

    def set_aside(self, topic: str, partition: int) -> Path:
        """Rename the directory of a log that belongs to no topic, as Kafka does with stray partitions.

        Raises:
            OSError: the directory cannot be renamed.
        """
        self._forget((topic, partition))
        folder = self.root / folder_name(topic, partition)
        aside = self.root / renamed_folder(folder.name, uuid.uuid4().hex, STRAY_SUFFIX)
        self._fs.rename(folder, aside)
        self._fs.flush_directory(self.root)
        return aside

    # ---------------------------------------------------------------------------------- logs that change the directory

    def future_folders(self) -> list[tuple[TopicPartition, Path]]:
        """Return the folders of copies that were to replace a log in another directory, with topic and partition.

        Raises:
            OSError: the directory cannot be read.
        """
        found = [(parse_future_folder_name(name), self.root / name) for name in self._fs.names(self.root)]
        return [(key, folder) for key, folder in found if key is not None and self._fs.is_directory(folder)]

    def make_future_folder(self, topic: str, partition: int, topic_id: bytes, source_id: str) -> Path:
        """Create the folder for the copy of a log that is in the directory with the id `source_id`.

        Raises:
            OSError: it cannot be created.
        """
        folder = self.root / future_folder_name(topic, partition, uuid.uuid4().hex)
        if not self._fs.exists(self.root / META_PROPERTIES):
            raise OfflineDirectory(errno.ENOENT, "the log directory is gone", str(self.root))
        self._fs.make_directory(folder)
        write_topic_id(self._fs, folder, topic_id)
        write_source(self._fs, folder, source_id)
        return folder

    def discard(self, folder: Path) -> Path:
        """Rename a folder of a log that nobody needs any more; return the new name for `remove_renamed`.

        Raises:
            OSError: the folder cannot be renamed.
        """
        name = folder.name.rpartition(".")[0] if folder.name.endswith(FUTURE_SUFFIX) else folder.name
        deleted = self.root / renamed_folder(name, uuid.uuid4().hex, DELETED_SUFFIX)
        self._fs.rename(folder, deleted)
        return deleted

    def promote(self, topic: str, partition: int, folder: Path) -> None:
        """Let a copy, which has all of a log, be the log. It is recovered when it is opened.

        Raises:
            OSError: the folder cannot be renamed.
        """
        self._fs.rename(folder, self.root / folder_name(topic, partition))
        self._fs.flush_directory(self.root)
        self._unrecovered[topic, partition] = POWER_LOST

    def note(self, topic: str, partition: int, recovery_point: int, log_start_offset: int) -> None:
        """Let the next checkpoints have these offsets of a log that will be in this directory."""
        self._recovery_points[topic, partition] = recovery_point
        self._log_start_offsets[topic, partition] = log_start_offset

    def adopt(self, log: PartitionLog) -> None:
        """The files of an open log are in this directory now."""
        key = (log.topic, log.partition)
        self._logs[key] = log
        self.note(*key, log.recovery_point, log.log_start_offset)

    def release(self, topic: str, partition: int) -> None:
        """Nothing of a log is in this directory any more, nor will be."""
        self._logs.pop((topic, partition), None)
        self._forget((topic, partition))

    def belongs_to(self, topic: str, partition: int, topic_id: bytes) -> bool:
        """Whether the directory of a log belongs to the topic with this id; without an id it gets this one.

        Raises:
            OSError: the file cannot be read or written.
        """
        return belongs_to(self._fs, self.root / folder_name(topic, partition), topic_id)

    def note_repaired(self, topic: str, partition: int, offset: int) -> None:
        """Treat the records of a log before an offset as flushed: what is missing there cannot come back."""
        key = (topic, partition)
        self._recovery_points[key] = max(self._recovery_points.get(key, 0), offset)

    def _forget(self, key: TopicPartition) -> None:
        """Forget a log whose directory is renamed."""
        self._recovery_points.pop(key, None)
        self._log_start_offsets.pop(key, None)
        self._unrecovered.pop(key, None)
        self._recovered.pop(key, None)

    def prepare_log_start_offsets(self) -> Callable[[], None]:
        """Return what stores the start offset of each log. It is to be stored before the records before it are removed.

        The returned function may be called in another thread, and raises OSError if the file cannot be written.
        """
        for key, log in self._logs.items():
            if log.segments:
                self._log_start_offsets[key] = log.log_start_offset
        started = {key: offset for key, offset in self._log_start_offsets.items() if offset > 0}
        return self._checkpoints.prepare(LOG_START_OFFSETS, started)

    def write_log_start_offsets(self) -> None:
        """Store the start offset of each log (`prepare_log_start_offsets`).

        Raises:
            OSError: the checkpoint file cannot be written.
        """
        self.prepare_log_start_offsets()()

    def prepare_checkpoints(self) -> Callable[[], None]:
        """Return what stores the recovery point and the start offset of each log (`prepare_log_start_offsets`)."""
        for key, log in self._logs.items():
            if log.segments:
                self._recovery_points[key] = log.recovery_point
        writes = (
            self._checkpoints.prepare(RECOVERY_POINTS, dict(self._recovery_points)),
            self.prepare_log_start_offsets(),
            self._checkpoints.prepare(UNRECOVERED, dict(self._unrecovered)),
        )
        self._stored_keys = {*self._recovery_points, *self._log_start_offsets}

        def write() -> None:
            for write in writes:
                write()

        return write

    def write_checkpoints(self) -> None:
        """Store the recovery point and the start offset of each log.

        Raises:
            OSError: a checkpoint file cannot be written.
        """
        self.prepare_checkpoints()()

    def close(self, *, clean: bool = True, run: Run = run_in_turn) -> None:
        """Close all logs and release the lock. With `clean`, flush them first: the next start then needs no recovery.

        `run` waits for the disk.

        Raises:
            LogFlushError: an fsync failed; the next start recovers the logs.
            OSError: a file cannot be written; the next start recovers the logs.
        """
        try:
            if clean:
                finish_logs(self._logs.values(), run)
                self.write_checkpoints()
                mark_clean(self._fs, self.root)
        finally:
            for log in self._logs.values():
                log.close()
            self._lock.release()

    def abandon(self) -> Generator[None, None, None]:
        """Close the logs of a directory that has failed, one in each step, and release the lock."""
        try:
            for log in list(self._logs.values()):
                with suppress(OSError):  # nothing of this directory is trusted any more
                    log.close()
                yield
        finally:
            with suppress(OSError):
                self._lock.release()

    def _remove_deleted(self) -> None:
        for name in self._fs.names(self.root):
            if name.endswith(DELETED_SUFFIX) and self._fs.is_directory(self.root / name):
                self._fs.remove_tree(self.root / name)

    def log_recovery(self) -> None:
        """Log one line on the recovery of the logs so far, if any of them had to be recovered."""
        opened = (log.recovery for log in self._logs.values())
        recoveries = [recovery for recovery in (*opened, *self._recovered.values()) if recovery.scanned_bytes]
        if recoveries:
            logger.info(
                "recovered logs",
                directory=str(self.root),
                clean_shutdown=self.had_clean_shutdown,
                logs=len(recoveries),
                scanned_bytes=sum(recovery.scanned_bytes for recovery in recoveries),
                truncated_bytes=sum(recovery.truncated_bytes for recovery in recoveries),
                removed_segments=sum(recovery.removed_segments for recovery in recoveries),
            )


def _lock(fs: FileSystem, root: Path) -> FileLock:
    if fs.exists(root) and not fs.is_directory(root):
        raise UnusableDirectory(f"data directory {root} is not a directory")
    try:
        fs.make_directory(root)
        return fs.lock(root / LOCK)
    except BlockingIOError:
        raise DataDirectoryError(f"data directory {root} is in use by another process") from None
    except OSError as error:
        reason = "is not writable" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else "cannot be used"
        raise UnusableDirectory(f"data directory {root} {reason}: {error.strerror}") from error
