"""A partition on its way to another log directory: how far its copy is."""

from typing import Final, NamedTuple

import msgspec

from coordinator.broker.log_flusher import LogFlusher
from coordinator.log.data_dirs.checkpoints import TopicPartition
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.files import FileSystem
from coordinator.log.partition.future_log import FutureLog
from coordinator.log.partition.partition_log import PartitionLog

REST_BYTES: Final = 1 << 20
"""How much is copied in the event loop at most, at the first try; each further try allows twice as much."""


class Move:
    """A partition on its way to another directory."""

    def __init__(
        self,
        log: PartitionLog,
        topic_id: bytes,
        source: LogDirectory,
        target: LogDirectory,
        began_ms: int,
    ) -> None:
        self.log = log
        self.topic_id = topic_id
        self.source = source
        self.target = target
        self.began_ms = began_ms
        self.future: FutureLog | None = None
        """The copy; None: nothing of the log is on disk."""
        self.is_over = False
        self.is_suspended = False
        """Whether the log is not flushed, or that was asked for."""
        self.is_busy = False
        """Whether a thread works for it, or its directory is being stored."""
        self.final_portions = 0
        self.rest_bytes = REST_BYTES
        self.noted = (0, 0)
        """The end and the start of the log in the checkpoints of the target: so much of the copy is safe."""

    @property
    def key(self) -> TopicPartition:
        return self.log.topic, self.log.partition

    def make_future(self, files: FileSystem) -> None:
        """Make the folder of the copy, if the log has one.

        Raises:
            OSError: it cannot be made.
        """
        log = self.log
        if files.is_directory(log.folder):
            source_id = self.source.directory_id
            folder = self.target.make_future_folder(log.topic, log.partition, self.topic_id, source_id)
            self.future = FutureLog(files, log, folder)

    def is_as_noted(self, files: FileSystem) -> bool:
        """Whether the log has its first offset still, and no files since if it had none."""
        if self.future is None:
            return not files.is_directory(self.log.folder)
        return self.log.log_start_offset == self.noted[1]

    def resume(self, flusher: LogFlusher) -> None:
        """Let the log be flushed again."""
        if self.is_suspended:
            self.is_suspended = False
            flusher.resume(self.log)

    def release(self, flusher: LogFlusher) -> None:
        """Nobody works for the move any more, and it is over."""
        if self.future is not None:
            self.future.close()
        self.resume(flusher)


class MoveKey(msgspec.Struct, frozen=True):
    """The timer key of a move that goes on later."""

    move: Move


class FutureReplica(NamedTuple):
    """The copy of a partition, for DescribeLogDirs."""

    topic: str
    partition: int
    size_bytes: int
    offset_lag: int
    """How many offsets it is behind."""
