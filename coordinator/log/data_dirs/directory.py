"""One directory of `log.dirs`: its lock, its logs and its checkpoint files (LogManager.java)."""

import errno
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import CheckpointFile, TopicPartition
from coordinator.log.data_dirs.log_checkpoints import LogCheckpoints
from coordinator.log.data_dirs.log_folders import LogFolders
from coordinator.log.data_dirs.meta_properties import load_properties
from coordinator.log.disk_threads import Run, run_in_turn
from coordinator.log.errors import DataDirectoryError, OfflineDirectory, UnusableDirectory
from coordinator.log.files import DiskFileSystem, FileLock, FileSystem
from coordinator.log.names import METADATA_LOG, STRAY_SUFFIX, check_topic_name
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.clean_stop import finish_logs
from coordinator.log.recovery.last_stop import mark_clean, read_boot_id
from coordinator.log.recovery.load import Recovery
from coordinator.log.segments.stored_segments import stored_bytes_from
from coordinator.logger import logger

LOCK = ".lock"


class LogDirectory(LogFolders):
    """The directory in which one server stores its logs. It is locked against other processes while it is open."""

    def __init__(self, fs: FileSystem, root: Path, lock: FileLock, properties: Mapping[str, str], boot_id: str) -> None:
        """Use `open`."""
        super().__init__(fs, root)
        self.cluster_id = properties["cluster.id"]
        self.node_id = int(properties["node.id"])
        self.directory_id = properties["directory.id"]
        self._lock = lock
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._checkpoints = LogCheckpoints(fs, root, boot_id, self.stored_partitions())
        self._recovered: dict[TopicPartition, Recovery] = {}
        """What `recover` did to logs that were not opened since."""
        self._remove_deleted()

    @property
    def had_clean_shutdown(self) -> bool:
        """Whether the last stop was a clean one."""
        return self._checkpoints.had_clean_shutdown

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
            folder = self.folder_of(topic, partition)
            if not self._fs.is_directory(folder):
                if is_stored:
                    raise OfflineDirectory(errno.ENOENT, "the folder of the log is gone", str(folder))
                self.check_is_there()
                # What the checkpoint files say was true of an earlier log of this name, which was deleted.
                self._forget(key)
                if self._checkpoints.are_of(key):
                    self.write_checkpoints()
            self._logs[key] = self._load_log(self._fs, key, config, lazy, topic_id)
            self._checkpoints.recovered(key)
        return self._logs[key]

    def _load_log(
        self, fs: FileSystem, key: TopicPartition, config: LogConfig, lazy: bool, topic_id: bytes | None
    ) -> PartitionLog:
        checkpoints = self._checkpoints
        recovery_point, log_start_offset = checkpoints.offsets_of(key)
        is_clean = checkpoints.had_clean_shutdown and not checkpoints.needs_recovery(key)
        return PartitionLog.open(
            fs,
            self.root,
            *key,
            config,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
            clean=is_clean or key in self._recovered,
            # The metadata log is flushed after each append, so only the last one can be incomplete.
            killed=key[0] == METADATA_LOG or checkpoints.was_killed(key),
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
                logger.error("cannot recover a log", log=str(self.folder_of(*key)), problem=str(problem))
                continue
            self._recovered[key] = log.recovery
            self._checkpoints.set_recovery_point(key, log.recovery_point)
            self._checkpoints.recovered(key)

    def logs(self) -> list[PartitionLog]:
        """Return the logs that are open, sorted by topic and partition."""
        return [self._logs[key] for key in sorted(self._logs)]

    def checkpoint_file(self, name: str) -> CheckpointFile:
        """Return a checkpoint file of this directory, for hints (CheckpointFile)."""
        return CheckpointFile(self._fs, self.root / name)

    def needs_recovery(self, topic: str, partition: int) -> bool:
        """Whether a log was not opened since the last stop that was not clean."""
        key = (topic, partition)
        return key not in self._logs and self._checkpoints.needs_recovery(key)

    def unrecovered_bytes(self, topic: str, partition: int) -> int:
        """Return how many bytes the recovery of a log will read when it is opened; 0 if it needs none.

        Raises:
            OSError: the directory or a file cannot be read.
        """
        if not self.needs_recovery(topic, partition):
            return 0
        recovery_point, _ = self._checkpoints.offsets_of((topic, partition))
        return stored_bytes_from(self._fs, self.folder_of(topic, partition), recovery_point)

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
        folder = self.folder_of(topic, partition)
        return [self.discard(folder)] if self._fs.is_directory(folder) else []

    def set_aside(self, topic: str, partition: int) -> Path:
        """Rename the directory of a log that belongs to no topic, as Kafka does with stray partitions.

        Raises:
            OSError: the directory cannot be renamed.
        """
        self._forget((topic, partition))
        folder = self.folder_of(topic, partition)
        aside = self._rename(folder, folder.name, STRAY_SUFFIX)
        self._fs.flush_directory(self.root)
        return aside

    # ---------------------------------------------------------------------------------- logs that change the directory

    def promote(self, topic: str, partition: int, folder: Path) -> None:
        """Let a copy, which has all of a log, be the log. It is recovered when it is opened.

        Raises:
            OSError: the folder cannot be renamed.
        """
        self._fs.rename(folder, self.folder_of(topic, partition))
        self._fs.flush_directory(self.root)
        self._checkpoints.note_lost((topic, partition))

    def note(self, topic: str, partition: int, recovery_point: int, log_start_offset: int) -> None:
        """Let the next checkpoints have these offsets of a log that will be in this directory."""
        self._checkpoints.note((topic, partition), recovery_point, log_start_offset)

    def adopt(self, log: PartitionLog) -> None:
        """The files of an open log are in this directory now."""
        key = (log.topic, log.partition)
        self._logs[key] = log
        self.note(*key, log.recovery_point, log.log_start_offset)

    def release(self, topic: str, partition: int) -> None:
        """Nothing of a log is in this directory any more, nor will be."""
        self._logs.pop((topic, partition), None)
        self._forget((topic, partition))

    def note_repaired(self, topic: str, partition: int, offset: int) -> None:
        """Treat the records of a log before an offset as flushed: what is missing there cannot come back."""
        self._checkpoints.note_repaired((topic, partition), offset)

    def _forget(self, key: TopicPartition) -> None:
        """Forget a log whose folder is renamed."""
        self._checkpoints.forget(key)
        self._recovered.pop(key, None)

    def prepare_log_start_offsets(self) -> Callable[[], None]:
        """As `LogCheckpoints.prepare_log_start_offsets`."""
        return self._checkpoints.prepare_log_start_offsets(self._logs.values())

    def write_log_start_offsets(self) -> None:
        """Store the start offset of each log (`prepare_log_start_offsets`).

        Raises:
            OSError: the checkpoint file cannot be written.
        """
        self.prepare_log_start_offsets()()

    def prepare_checkpoints(self) -> Callable[[], None]:
        """Return what stores the recovery point and the start offset of each log (`prepare_log_start_offsets`)."""
        return self._checkpoints.prepare(self._logs.values())

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
