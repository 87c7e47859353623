"""The partition logs that this node leads."""

import errno
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import msgspec

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.broker.configs.topic_configs import log_config
from coordinator.broker.directories.disk_errors import DiskErrors
from coordinator.broker.directories.storage_errors import StorageErrors
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.errors import OUT_OF_DESCRIPTORS, LogFlushError, OfflineDirectory
from coordinator.log.files import FileSystem
from coordinator.log.names import folder_name
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.damage import DamagedOffsets
from coordinator.log.segments.markers import data_end_offset
from coordinator.log.segments.stored_segments import StoredSegments
from coordinator.log.segments.timestamps import timestamp_at
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.leadership import NO_LEADER, Leadership
from coordinator.runtime.slices import Slices, Steps

"""Says nothing of the log, and is handled where connections are accepted."""
RECOVERED_WHEN_USED_BYTES_MAX: Final = 4 << 20
"""Below it, a log is recovered in a few ms, and so when it is first used."""
LEADER_EPOCH = 0
"""That of the metadata log, which never changes its leader."""


class Deletion(msgspec.Struct, frozen=True):
    """What is left of a deleted topic."""

    waiting: dict[int, PartitionLog | None]
    """Partitions whose directories have their names yet, with their logs if those are open."""
    renamed: list[Path]
    """Directories that are to be removed."""


class Partitions:
    """Topic and partition → log. A log is opened at its first use."""

    def __init__(
        self,
        directories: LogDirectories,
        image: MetadataImage,
        config: Config,
        leadership: Leadership,
        slices: Slices,
        *,
        disk_errors: DiskErrors | None = None,
        on_open: Callable[[PartitionLog], None] = lambda log: None,
    ) -> None:
        """`on_open` is called with each log that was opened; may raise LogFlushError."""
        self._directories = directories
        self._image = image
        self._config = config
        self._leadership = leadership
        self._node_id = config[NODE_ID]
        self._logs: dict[tuple[str, int], PartitionLog] = {}
        self._log_configs: dict[str, tuple[Topic, LogConfig]] = {}
        """By topic: what its logs were given last."""
        self._slices = slices
        self._storage_errors = StorageErrors("cannot open a log; the others are served")
        self._append_errors = StorageErrors("cannot append to a log; what is stored is still served")
        self._read_errors = StorageErrors("cannot read a log: look at its disk; what can be read is served")
        self._deleting: dict[str, Deletion] = {}
        """By the name of the deleted topic."""
        self._removal_listeners: list[Callable[[PartitionLog], None]] = []
        self._deletion_listeners: list[Callable[[Topic], None]] = []
        self._on_open = on_open
        self.disk_errors = disk_errors or DiskErrors()

    def add_deletion_listener(self, listener: Callable[[Topic], None]) -> None:
        """Call `listener` with each topic that was deleted, before its logs are."""
        self._deletion_listeners.append(listener)

    def add_removal_listener(self, listener: Callable[[PartitionLog], None]) -> None:
        """Call `listener` with each open log that is deleted with its topic, or whose log directory has failed."""
        self._removal_listeners.append(listener)

    def large_recoveries(self, new_files: Callable[[], FileSystem]) -> list[Callable[[], None]]:
        """Return what recovers the logs whose recovery takes long, before a request has to wait for it.

        It is a function for each log directory (LogDirectories.recoveries). After a stop that was not clean, the other
        logs are recovered when they are first used.

        Raises:
            OSError: a directory or a file cannot be read.
        """
        led = (
            (topic.name, index, self.log_config(topic))
            for topic in self._image.topics.values()
            for index in range(topic.partitions)
            if self.leads(topic.name, index)
        )
        return self._directories.recoveries(led, RECOVERED_WHEN_USED_BYTES_MAX, new_files)

    @property
    def leader_epoch(self) -> int:
        """That of all partitions (MetadataImage)."""
        return self._image.leader_epoch

    def leads(self, topic: str, partition: int) -> bool:
        """Whether this node leads a partition that exists."""
        return self._leadership.leader_of(topic, partition) == self._node_id

    def locate(self, topic: str, partition: int) -> PartitionLog | ErrorCode:
        """The log of a partition that this node leads.

        UNKNOWN_TOPIC_OR_PARTITION when there is no such partition, NOT_LEADER_OR_FOLLOWER when another node leads it,
        KAFKA_STORAGE_ERROR when its log directory is offline, or its log cannot be opened or created; that has a line.

        Raises:
            OSError: there is no file descriptor left.
        """
        log = self._logs.get((topic, partition))
        if log is None and not self._image.has_partition(topic, partition):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        leader = self._leadership.leader_of(topic, partition)
        if leader != self._node_id:
            return ErrorCode.KAFKA_STORAGE_ERROR if leader == NO_LEADER else ErrorCode.NOT_LEADER_OR_FOLLOWER
        if log is not None:
            return log
        try:
            return self._open(self._image.topics[topic], partition)
        except OSError as problem:
            if problem.errno in OUT_OF_DESCRIPTORS:
                raise
            home = self.directory_of(topic, partition)
            if home is None or not self.disk_errors.report(problem, home.root, True):
                self._storage_errors.report(folder_name(topic, partition), problem)
            return ErrorCode.KAFKA_STORAGE_ERROR

    def cannot_read(self, log: PartitionLog, problem: Exception) -> None:
        """A request could not read a log: say so, but not once for each."""
        if not self.is_disk_failure(log, problem, is_read=True):
            self._read_errors.report(log.name, problem)

    def cannot_append(self, log: PartitionLog, problem: Exception) -> None:
        """A request could not append to a log: say so, but not once for each."""
        if not self.is_disk_failure(log, problem):
            self._append_errors.report(log.name, problem)

    def is_disk_failure(self, log: PartitionLog, problem: Exception, *, is_read: bool = False) -> bool:
        """Whether an error means that the log directory has failed, which then has a line of its own."""
        return self.disk_errors.report(problem, log.folder, is_read)

    def set_offline(self, directory: LogDirectory) -> None:
        """Forget the logs of a log directory that has failed. Nobody leads their partitions any more."""
        for log in self._directories.set_offline(directory):
            self.forget(log)

    def forget(self, log: PartitionLog) -> None:
        """A log was closed, and cannot be opened again before the next start."""
        if self._logs.pop((log.topic, log.partition), None) is not None:
            for listener in self._removal_listeners:
                listener(log)

    def get(self, topic: str, partition: int) -> PartitionLog:
        """The log of a partition that is known to exist, whichever node leads it."""
        log = self._logs.get((topic, partition))
        return self._open(self._image.topics[topic], partition) if log is None else log

    @property
    def topics_version(self) -> int:
        """Rises when a topic is created, deleted or gets partitions."""
        return self._image.topics_version

    def partition_count(self, topic: str) -> int:
        """The number of partitions of a topic; 0 if it does not exist."""
        return self._image.partition_count(topic)

    def topic_id(self, topic: str) -> bytes:
        """16 bytes, all zero where there is no topic of that name."""
        return self._image.topic_id(topic)

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with that id (16 bytes), None where there is none."""
        return self._image.topic_name(topic_id)

    def has_metadata(self, topic: str) -> bool:
        """This node has the metadata of all topics."""
        return True

    def existing(self, names: Collection[str]) -> set[str]:
        """Those of the names that topics have."""
        return self._image.existing(names)

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        """The log end offset of a partition; None if its log is not open on this node: opening many takes long."""
        log = self._logs.get((topic, partition))
        return None if log is None else log.log_end_offset

    def data_end_offset(self, topic: str, partition: int) -> int | None:
        """As `log_end_offset`, without the markers of transactions at the end, as far as they are known."""
        log = self._logs.get((topic, partition))
        if log is None:
            return None
        try:
            return data_end_offset(log)
        except (OSError, MalformedMessage) as problem:
            if not isinstance(problem, DamagedOffsets):
                self.cannot_read(log, problem)
            return log.log_end_offset

    def timestamp_at(self, topic: str, partition: int, offset: int) -> int | None:
        """The timestamp (ms) of the first record from an offset on, by the header of its batch.

        None if the log is not open on this node, or cannot tell it by a few reads, or cannot be read; that has a line.
        """
        log = self._logs.get((topic, partition))
        if log is None:
            return None
        try:
            return timestamp_at(log, offset)
        except (OSError, MalformedMessage) as problem:
            if not isinstance(problem, DamagedOffsets):
                self.cannot_read(log, problem)
            return None

    def open_log(self, topic: str, partition: int) -> PartitionLog | None:
        """The log of a partition if it is open on this node."""
        return self._logs.get((topic, partition))

    def stored_segments(self, topic: str, partition: int) -> StoredSegments:
        """What can be said of the segments of a log without opening it.

        Raises:
            OSError: the directory or a file cannot be read.
        """
        return self._directories.stored_segments(topic, partition)

    def size_bytes(self, topic: str, partition: int) -> int:
        """The size of all batches of a log, open or not.

        Raises:
            OSError: the directory or a file cannot be read.
        """
        log = self._logs.get((topic, partition))
        return self.stored_segments(topic, partition).size_bytes if log is None else log.size_bytes

    @property
    def directory_paths(self) -> list[Path]:
        """The log directories (log.dirs), in this order, those that are offline among them."""
        return self._directories.paths

    @property
    def some_are_offline(self) -> bool:
        """Whether a log directory is offline."""
        return bool(self._directories.offline_paths())

    def directory(self, path: Path) -> LogDirectory | None:
        """The log directory with this path; None if it is offline."""
        return next((directory for directory in self._directories.online if directory.root == path), None)

    def directory_of(self, topic: str, partition: int) -> LogDirectory | None:
        """The log directory that has or gets the log of a partition that exists; None if it is offline."""
        return self._directories.home(topic, partition, self._image.topics[topic].directory_id(partition))

    def log_config(self, topic: Topic) -> LogConfig:
        """The settings of the logs of a topic."""
        kept = self._log_configs.get(topic.name)
        if kept is None or kept[0] is not topic:
            kept = self._log_configs[topic.name] = topic, log_config(topic.name, topic.configs, self._config)
        return kept[1]

    def configs_changed(self, name: str) -> None:
        """Give the open logs of a topic its configs, which have changed in the metadata."""
        topic = self._image.topics[name]
        config = self.log_config(topic)
        for partition in range(topic.partitions):
            if log := self._logs.get((name, partition)):
                log.configure(config)

    def settings_changed(self) -> None:
        """Give all open logs the settings that their topics fall back to, which have changed. It is done in slices."""
        self._log_configs.clear()
        self._slices.start(self._configure_all(), lambda _: None, _configuring_failed)

    def _configure_all(self) -> Steps[None]:
        for name in dict.fromkeys(name for name, _ in self._logs):
            if name in self._image.topics:
                self.configs_changed(name)
            yield

    def delete_logs(self, topic: Topic) -> None:
        """Close and delete the logs of a topic that has been deleted from the metadata, in slices."""
        for listener in self._deletion_listeners:
            listener(topic)
        self._log_configs.pop(topic.name, None)
        deletion = self._deleting.setdefault(topic.name, Deletion({}, []))
        for partition in range(topic.partitions):
            # At once, so that a topic of this name that is created meanwhile does not get it.
            deletion.waiting[partition] = self._logs.pop((topic.name, partition), None)
        self._slices.start(self._delete_next(topic.name, deletion), lambda _: None, self._deletion_failed)

    def _delete_next(self, topic: str, deletion: Deletion) -> Steps[None]:
        while deletion.waiting:
            self._rename_log(topic, next(iter(deletion.waiting)), deletion)
            yield
        if self._deleting.get(topic) is deletion:
            del self._deleting[topic]
        yield from self._directories.remove_renamed(deletion.renamed)

    def _deletion_failed(self, problem: Exception) -> None:
        if not self.disk_errors.report(problem, None, False):
            logger.error(
                "cannot delete the logs of a topic; what is left is set aside at the next start", problem=str(problem)
            )

    def _rename_log(self, topic: str, partition: int, deletion: Deletion) -> None:
        # If this fails, the partition goes on waiting: a later topic of this name must not get the log.
        deletion.renamed.extend(self._directories.rename_log(topic, partition))
        log = deletion.waiting.pop(partition)
        if log is not None:
            for listener in self._removal_listeners:
                listener(log)

    def _open(self, topic: Topic, partition: int) -> PartitionLog:
        deletion = self._deleting.get(topic.name)
        if deletion is not None and partition in deletion.waiting:
            # The directory is that of an earlier topic of this name.
            self._rename_log(topic.name, partition, deletion)
        config = self.log_config(topic)
        # Who reads a partition makes no files: there may be many that nobody ever writes.
        log = self._directories.open_log(
            topic.name,
            partition,
            config,
            lazy=True,
            topic_id=topic.topic_id,
            directory_id=topic.directory_id(partition),
        )
        self._logs[topic.name, partition] = log
        try:
            self._on_open(log)
        except LogFlushError as problem:
            if not self.is_disk_failure(log, problem):
                raise
            raise OfflineDirectory(errno.EIO, "an fsync failed", str(log.folder)) from problem
        return log


def _configuring_failed(problem: Exception) -> None:
    logger.error("changed log settings take effect in all logs after a restart", problem=str(problem))
