"""A data directory: whose it is, which logs lie in it, and how it was left (LogManager.java, MetaProperties.java)."""

import base64
import errno
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from coordinator.log.checkpoints import (
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    CheckpointFile,
    TopicPartition,
    read_checkpoint,
    write_checkpoint,
)
from coordinator.log.config import LogConfig
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import DiskFileSystem, FileLock, FileSystem, read_file, write_file_atomically
from coordinator.log.names import (
    DELETED_SUFFIX,
    METADATA_LOG,
    check_topic_name,
    folder_name,
    parse_folder_name,
)
from coordinator.log.partition_log import PartitionLog

LOCK = ".lock"
META_PROPERTIES = "meta.properties"
META_VERSION = "1"
FORMAT_PROPERTY = "coordinator.format.version"
FORMAT_VERSION = "2"
"""What only this server can say about the contents of a directory; META_VERSION is Kafka's own and read by its tools.

Version 2: groups lie in the same partitions as on Kafka. Before it there was no such property.
"""
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
CLEAN_SHUTDOWN_CONTENT = b'{"version":0,"brokerEpoch":-1}'


def random_id() -> str:
    """A new id in Kafka's form: a random UUID in URL-safe base64, without padding."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode("ascii")


class LogDirectory:
    """The folder that one server keeps its logs in. No other process opens it while this one has it open."""

    def __init__(self, fs: FileSystem, root: Path, lock: FileLock, properties: Mapping[str, str]) -> None:
        """Use `open`."""
        self.root = root
        self.cluster_id = properties["cluster.id"]
        self.node_id = int(properties["node.id"])
        self.directory_id = properties["directory.id"]
        self._fs = fs
        self._lock = lock
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._recovery_points = read_checkpoint(fs, root / RECOVERY_POINTS)
        self._log_start_offsets = read_checkpoint(fs, root / LOG_START_OFFSETS)
        self.had_clean_shutdown = self._remove_clean_shutdown_marker()
        self._remove_deleted()

    @classmethod
    def open(cls, root: Path, *, node_id: int = 1, cluster_id: str | None = None, fs: FileSystem | None = None) -> Self:
        """Lock the folder, made if it is not there, and read what is known of it; the logs are opened one by one.

        `cluster_id` is for a new folder (default: a random one); one that exists must be of the same cluster, if given.

        Raises:
            DataDirectoryError: not a folder, not writable, in use by another process, of another node, cluster or
                format, or broken.
        """
        fs = fs or DiskFileSystem()
        lock = _lock(fs, root)
        try:
            return cls(fs, root, lock, _load_properties(fs, root, node_id, cluster_id))
        except OSError as error:
            lock.release()
            raise DataDirectoryError(f"data directory {root} cannot be used: {error}") from error
        except DataDirectoryError:
            lock.release()
            raise

    def open_log(self, topic: str, partition: int, config: LogConfig, *, lazy: bool = False) -> PartitionLog:
        """The log of a topic's partition, made if it is not there; the same one when it is open already.

        Raises:
            InvalidTopicName: no topic may have that name, which is so of the metadata log's too.
            OSError: the disk refused.
        """
        check_topic_name(topic)
        return self._open_log(topic, partition, config, lazy)

    def open_metadata_log(self, config: LogConfig) -> PartitionLog:
        """The log of the metadata store, which `open_log` and `delete_log` do not reach. Raises OSError."""
        return self._open_log(METADATA_LOG, 0, config, lazy=False)

    def _open_log(self, topic: str, partition: int, config: LogConfig, lazy: bool) -> PartitionLog:
        key = (topic, partition)
        if key not in self._logs:
            self._logs[key] = PartitionLog.open(
                self._fs,
                self.root,
                topic,
                partition,
                config,
                recovery_point=self._recovery_points.get(key, 0),
                log_start_offset=self._log_start_offsets.get(key, 0),
                clean=self.had_clean_shutdown,
                lazy=lazy,
            )
        return self._logs[key]

    def logs(self) -> list[PartitionLog]:
        """The logs that are open, by topic and partition."""
        return [self._logs[key] for key in sorted(self._logs)]

    def checkpoint_file(self, name: str) -> CheckpointFile:
        """A checkpoint file of this folder, for hints."""
        return CheckpointFile(self._fs, self.root / name)

    def stored_partitions(self) -> list[TopicPartition]:
        """Topic and partition of every folder, open or not. Raises OSError."""
        parsed = map(parse_folder_name, self._fs.names(self.root))
        return sorted(key for key in parsed if key and self._fs.is_directory(self.root / folder_name(*key)))

    def delete_log(self, topic: str, partition: int) -> None:
        """Remove a log for good; nothing happens when there is none.

        The folder is renamed first: after a crash in between, the next `open` removes the rest.

        Raises:
            InvalidTopicName: as `open_log`.
            OSError: the disk refused.
        """
        check_topic_name(topic)
        key = (topic, partition)
        if log := self._logs.pop(key, None):
            log.close()
        self._recovery_points.pop(key, None)
        self._log_start_offsets.pop(key, None)
        folder = self.root / folder_name(topic, partition)
        if self._fs.is_directory(folder):
            deleted = self.root / f"{folder.name}.{uuid.uuid4().hex}{DELETED_SUFFIX}"
            self._fs.rename(folder, deleted)
            self._fs.flush_directory(self.root)
            self._fs.remove_tree(deleted)

    def write_checkpoints(self) -> None:
        """Store from where a recovery has to read each log, and where each begins. Raises OSError."""
        for key, log in self._logs.items():
            if log.segments:
                self._recovery_points[key] = log.recovery_point
                self._log_start_offsets[key] = log.log_start_offset
        write_checkpoint(self._fs, self.root / RECOVERY_POINTS, self._recovery_points)
        started = {key: offset for key, offset in self._log_start_offsets.items() if offset > 0}
        write_checkpoint(self._fs, self.root / LOG_START_OFFSETS, started)

    def close(self, *, clean: bool = True) -> None:
        """Close every log and give the folder back; `clean` spares the next start its recovery.

        Raises:
            LogFlushError, OSError: what was not flushed is recovered at the next start.
        """
        try:
            if clean:
                for log in self._logs.values():
                    log.finish()
                self.write_checkpoints()
                write_file_atomically(self._fs, self.root / CLEAN_SHUTDOWN, CLEAN_SHUTDOWN_CONTENT)
        finally:
            for log in self._logs.values():
                log.close()
            self._lock.release()

    def _remove_clean_shutdown_marker(self) -> bool:
        """Whether the marker was there; it must not outlive what it says."""
        marker = self.root / CLEAN_SHUTDOWN
        if not self._fs.exists(marker):
            return False
        self._fs.remove(marker)
        self._fs.flush_directory(self.root)
        return True

    def _remove_deleted(self) -> None:
        for name in self._fs.names(self.root):
            if name.endswith(DELETED_SUFFIX) and self._fs.is_directory(self.root / name):
                self._fs.remove_tree(self.root / name)


def _lock(fs: FileSystem, root: Path) -> FileLock:
    if fs.exists(root) and not fs.is_directory(root):
        raise DataDirectoryError(f"data directory {root} is not a folder")
    try:
        fs.make_directory(root)
        return fs.lock(root / LOCK)
    except BlockingIOError:
        raise DataDirectoryError(f"data directory {root} is in use by another process") from None
    except OSError as error:
        reason = "is not writable" if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else "cannot be used"
        raise DataDirectoryError(f"data directory {root} {reason}: {error.strerror}") from error


def _load_properties(fs: FileSystem, root: Path, node_id: int, cluster_id: str | None) -> dict[str, str]:
    path = root / META_PROPERTIES
    if not fs.exists(path):
        properties = {
            "cluster.id": cluster_id or random_id(),
            "directory.id": random_id(),
            "node.id": str(node_id),
            "version": META_VERSION,
            FORMAT_PROPERTY: FORMAT_VERSION,
        }
        text = "#\n" + "".join(f"{name}={value}\n" for name, value in properties.items())
        write_file_atomically(fs, path, text.encode("utf-8"))
        return properties
    properties = _parse_properties(path, read_file(fs, path))
    if properties["node.id"] != str(node_id):
        raise DataDirectoryError(
            f"data directory {root} belongs to node {properties['node.id']}, not to node {node_id}"
        )
    if cluster_id is not None and properties["cluster.id"] != cluster_id:
        raise DataDirectoryError(
            f"data directory {root} belongs to cluster {properties['cluster.id']}, not to {cluster_id}"
        )
    if properties.get(FORMAT_PROPERTY) != FORMAT_VERSION:
        raise DataDirectoryError(
            f"data directory {root} was written by another version of this server or by Kafka ({FORMAT_PROPERTY} is"
            f" {properties.get(FORMAT_PROPERTY, 'missing')}, not {FORMAT_VERSION}): use an empty data directory"
        )
    return properties


def _parse_properties(path: Path, data: bytes) -> dict[str, str]:
    """The lines of a Java properties file, as far as Kafka writes them here."""
    lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
    pairs = (line.partition("=") for line in lines if line and line[0] not in "#!")
    properties = {name.strip(): value.strip() for name, _, value in pairs}
    for name in ("version", "cluster.id", "node.id"):
        if not properties.get(name):
            raise DataDirectoryError(f"{path} is broken: it has no {name}")
    if properties["version"] != META_VERSION:
        raise DataDirectoryError(f"{path} is of version {properties['version']}, only {META_VERSION} is known")
    properties.setdefault("directory.id", random_id())
    return properties
