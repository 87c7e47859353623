"""How far the logs of a directory are on stable storage, and where they begin: what its checkpoint files say."""

from collections.abc import Callable, Collection
from pathlib import Path

from coordinator.log.data_dirs.checkpoints import (
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    UNRECOVERED,
    CheckpointWriter,
    TopicPartition,
    read_checkpoint,
)
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import FileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.last_stop import KILLED, POWER_LOST, consume_note
from coordinator.logger import logger


class LogCheckpoints:
    """What the files say of all logs of a directory, and will say of those that are open when they are written next."""

    def __init__(self, fs: FileSystem, root: Path, boot_id: str, stored: list[TopicPartition]) -> None:
        self._fs = fs
        self._root = root
        self._writer = CheckpointWriter(fs, root)
        self._recovery_points = self._read(RECOVERY_POINTS) or {}
        started = self._read(LOG_START_OFFSETS)
        if started is not None and fs.exists(root / LOG_START_OFFSETS):
            self._writer.found(LOG_START_OFFSETS, started)
        self._log_start_offsets = started or {}
        self._named = {*self._recovery_points, *self._log_start_offsets}
        stop = consume_note(fs, root, boot_id, self._read(UNRECOVERED), stored)
        self.had_clean_shutdown = stop.was_clean
        self._unrecovered = stop.unrecovered

    def _read(self, name: str) -> dict[TopicPartition, int] | None:
        """Read a checkpoint file; None, with a line in the log, if it is damaged."""
        try:
            return read_checkpoint(self._fs, self._root / name)
        except DataDirectoryError as problem:
            logger.error("a checkpoint file is damaged and not used", file=str(self._root / name), problem=str(problem))
            return None

    def offsets_of(self, key: TopicPartition) -> tuple[int, int]:
        """The recovery point and the start offset of a log."""
        return self._recovery_points.get(key, 0), self._log_start_offsets.get(key, 0)

    def are_of(self, key: TopicPartition) -> bool:
        """Whether the files, as they are now, name a log."""
        return key in self._named

    def needs_recovery(self, key: TopicPartition) -> bool:
        """Whether a log was not recovered since the last stop that was not clean."""
        return key in self._unrecovered

    def was_killed(self, key: TopicPartition) -> bool:
        """Whether the process ended without a stop, but the system kept what it had written to a log."""
        return self._unrecovered.get(key) == KILLED

    def recovered(self, key: TopicPartition) -> None:
        """A log needs no recovery any more."""
        self._unrecovered.pop(key, None)

    def set_recovery_point(self, key: TopicPartition, offset: int) -> None:
        """The records of a log before an offset are on stable storage."""
        self._recovery_points[key] = offset

    def note(self, key: TopicPartition, recovery_point: int, log_start_offset: int) -> None:
        """Let the next checkpoints have these offsets of a log that will be in this directory."""
        self._recovery_points[key] = recovery_point
        self._log_start_offsets[key] = log_start_offset

    def note_lost(self, key: TopicPartition) -> None:
        """Let a log be recovered from its recovery point on when it is opened."""
        self._unrecovered[key] = POWER_LOST

    def note_repaired(self, key: TopicPartition, offset: int) -> None:
        """Treat the records of a log before an offset as flushed: what is missing there cannot come back."""
        self._recovery_points[key] = max(self._recovery_points.get(key, 0), offset)

    def forget(self, key: TopicPartition) -> None:
        """Forget a log whose folder is renamed."""
        self._recovery_points.pop(key, None)
        self._log_start_offsets.pop(key, None)
        self._unrecovered.pop(key, None)

    def prepare_log_start_offsets(self, logs: Collection[PartitionLog]) -> Callable[[], None]:
        """Return what stores the start offset of each log. It is to be stored before the records before it are removed.

        The returned function may be called in another thread, and raises OSError if the file cannot be written.
        """
        for log in logs:
            if log.segments:
                self._log_start_offsets[log.topic, log.partition] = log.log_start_offset
        started = {key: offset for key, offset in self._log_start_offsets.items() if offset > 0}
        return self._writer.prepare(LOG_START_OFFSETS, started)

    def prepare(self, logs: Collection[PartitionLog]) -> Callable[[], None]:
        """Return what stores the recovery point and the start offset of each log (`prepare_log_start_offsets`)."""
        for log in logs:
            if log.segments:
                self._recovery_points[log.topic, log.partition] = log.recovery_point
        writes = (
            self._writer.prepare(RECOVERY_POINTS, dict(self._recovery_points)),
            self.prepare_log_start_offsets(logs),
            self._writer.prepare(UNRECOVERED, dict(self._unrecovered)),
        )
        self._named = {*self._recovery_points, *self._log_start_offsets}

        def write() -> None:
            for write in writes:
                write()

        return write
