"""Moves partitions to other log directories while they are served (AlterReplicaLogDirs, KIP-113).

A move copies the log in portions, in a thread, to a folder `<topic>-<partition>.<id>-future` of the target. When little
is missing, the log is not flushed for a moment: the copy is made safe, and the metadata gets the new directory. Then
what was appended meanwhile is copied and the folders are renamed, in one step of the event loop. At last the renaming
is made safe, and the old folder removed. What a crash leaves in between:
docs/decisions/024-moves-between-log-directories.md.

Counterparts in Kafka: `ReplicaManager.alterReplicaLogDirs`, `ReplicaAlterLogDirsThread`.
"""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from _wire.errors import ErrorCode
from coordinator.broker.cleaner_thread import Pace
from coordinator.broker.directories.directory_assignment import DirectoryAssignment
from coordinator.broker.directories.joint_assignment import JointAssignment
from coordinator.broker.directories.replica_move import REST_BYTES, FutureReplica, Move, MoveKey
from coordinator.broker.log_flusher import LogFlusher
from coordinator.broker.partitions import Partitions
from coordinator.deadlines import deadline_after
from coordinator.log.data_dirs.checkpoints import TopicPartition
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.partition_metadata import PARTITION_METADATA
from coordinator.log.data_dirs.source_metadata import SOURCE_METADATA
from coordinator.log.disk_threads import DiskThreads, InLine
from coordinator.log.errors import LogAppendError
from coordinator.log.names import FILE_NAME_LENGTH_MAX, future_folder_name
from coordinator.log.partition.future_log import CopyFailed, FutureLog, Portion
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.logger import logger
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.runtime.slices import Slices
from coordinator.timers.timers import Timers

PORTION_BYTES: Final = 4 << 20
"""How much is copied before others have their turn."""
REST_BYTES_MAX: Final = 64 << 20
FINAL_PORTIONS: Final = 8
"""How often a portion is copied while the log is not flushed. Then it is flushed again first."""
RETRY_MS: Final = 50
ANY_ID: Final = "0" * 32


class ReplicaMoves:
    """All moves. Of those to one directory, one is under way at a time. It belongs to the event loop."""

    def __init__(
        self,
        image: MetadataImage,
        directories: LogDirectories,
        partitions: Partitions,
        assignment: DirectoryAssignment,
        flusher: LogFlusher,
        *,
        is_cleaning: Callable[[PartitionLog], bool],
        threads: DiskThreads | InLine,
        slices: Slices,
        timers: Timers,
        call_soon: Callable[[Callable[[], None]], object],
        now_ms: Callable[[], int],
        bytes_per_second: int,
    ) -> None:
        """`is_cleaning` says of a log whether it is being compacted.

        `call_soon` calls back in the next iteration of the event loop. `bytes_per_second` bounds what all moves copy
        together (replica.alter.log.dirs.io.max.bytes.per.second).
        """
        self._image = image
        self._directories = directories
        self._partitions = partitions
        self._assignment = JointAssignment(assignment, slices, call_soon, now_ms, self._not_stored)
        self._flusher = flusher
        self._is_cleaning = is_cleaning
        self._threads = threads
        self._slices = slices
        self._timers = timers
        self._call_soon = call_soon
        self._now_ms = now_ms
        self._pace = Pace(bytes_per_second, lambda: now_ms() / 1000)
        self.change_pace(bytes_per_second)
        partitions.add_deletion_listener(self.topic_deleted)
        self._moves: dict[TopicPartition, Move] = {}
        self._queues: dict[LogDirectory, deque[Move]] = {}
        """By target, those with something to copy; the first one is under way, the others wait."""
        self._ending: dict[TopicPartition, Path] = {}
        """Partitions that were moved, as long as a power loss might take it back; with their former folders."""
        self._is_stopped = False

    def change_pace(self, bytes_per_second: int) -> None:
        """Copy so much from now on."""
        self._portion_bytes = max(min(PORTION_BYTES, bytes_per_second), 1)
        self._pace.change(bytes_per_second)

    # ------------------------------------------------------------------------------------------------------- requests

    def alter(self, topic: str, partition: int, path: str) -> ErrorCode:
        """Begin to move a partition to the log directory with this path (ReplicaManager.alterReplicaLogDirs).

        A move to another directory that is under way is given up. The errors are Kafka's, and so is their order.

        Raises:
            OSError: there is no file descriptor left.
        """
        if len(future_folder_name(topic, partition, ANY_ID)) > FILE_NAME_LENGTH_MAX:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if path not in map(str, self._directories.paths):
            return ErrorCode.LOG_DIR_NOT_FOUND
        target = self._partitions.directory(Path(path))
        if target is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        log = self._partitions.locate(topic, partition)
        if isinstance(log, ErrorCode):
            return log
        move = self._moves.get((topic, partition))
        if move is not None and move.target is target:
            return ErrorCode.NONE
        if move is not None:
            self._cancel(move)
        if self._directories.home(topic, partition) is target:
            return ErrorCode.NONE
        return ErrorCode.NONE if self._begin(log, target) else ErrorCode.KAFKA_STORAGE_ERROR

    def futures_in(self, directory: LogDirectory) -> Iterator[FutureReplica]:
        """The copies in a directory, those that were not begun yet among them."""
        for move in list(self._moves.values()):
            if move.target is directory and move.future is not None and not move.is_over:
                lag = max(move.log.log_end_offset - move.future.end_offset, 0)
                yield FutureReplica(*move.key, move.future.size_bytes, lag)

    @property
    def is_moving(self) -> bool:
        """Whether a move is under way, or may still be taken back by a power loss."""
        return bool(self._moves or self._ending or self._assignment.is_waiting)

    def resume_interrupted(self) -> None:
        """At a start: begin again with the moves that the last process did not end."""
        for (topic, partition), (target, folder) in self._directories.interrupted_moves.items():
            log = self._partitions.locate(topic, partition)
            if isinstance(log, PartitionLog) and self._begin(log, target):
                self._remove(target, folder)

    def topic_deleted(self, topic: Topic) -> None:
        """Give up the moves of a topic before its logs are deleted: a start must not find a copy alone."""
        for move in [move for move in self._moves.values() if move.log.topic == topic.name]:
            self._cancel(move)

    def stop(self) -> None:
        """Begin nothing any more: the threads are about to be stopped."""
        self._is_stopped = True
        self._assignment.stop()

    def close(self) -> None:
        """After `stop`, when the threads have ended: leave empty folders, with which the next start begins again."""
        for move in self._moves.values():
            if move.future is not None and move.target in self._directories.online:
                move.future.close()
                try:
                    self._empty(move.future.folder)
                except OSError as problem:
                    logger.warning("cannot remove a copy", folder=str(move.future.folder), problem=str(problem))

    def _empty(self, folder: Path) -> None:
        files = self._directories.files
        for name in files.names(folder):
            if name not in (PARTITION_METADATA, SOURCE_METADATA):
                files.remove(folder / name)

    # ---------------------------------------------------------------------------------------------------- begin and end

    def _begin(self, log: PartitionLog, target: LogDirectory) -> bool:
        source = self._directories.home(log.topic, log.partition)
        assert source is not None, log.name
        move = Move(log, self._image.topics[log.topic].topic_id, source, target, self._now_ms())
        try:
            move.make_future(self._directories.files)
        except OSError as problem:
            self._report(move, problem, target.root)
            return False
        self._moves[move.key] = move
        queue = self._queues.setdefault(target, deque())
        if move.future is not None:
            queue.append(move)
        # Those of which nothing is to be copied need not wait for the others.
        if move.future is None or len(queue) == 1:
            self._call_soon(partial(self._advance, move))
        return True

    def _cancel(self, move: Move) -> None:
        """End a move that is not wanted any more, or failed; the partition stays where it is."""
        self._end(move)
        if move.future is not None and move.target in self._directories.online:
            move.target.release(*move.key)  # its offsets in the checkpoints
            self._remove(move.target, move.future.folder)
        self._assign_home(move)

    def _end(self, move: Move) -> None:
        move.is_over = True
        if self._moves.get(move.key) is move:
            del self._moves[move.key]
        queue = self._queues[move.target]
        was_first = bool(queue) and queue[0] is move
        if move in queue:
            queue.remove(move)
        if not move.is_busy:
            move.release(self._flusher)
        if was_first and queue:
            self._call_soon(partial(self._advance, queue[0]))

    def _assign_home(self, move: Move) -> None:
        """After a move that did not come to its end: store where the partition is, if that was changed already."""
        topic = self._image.topics.get(move.log.topic)
        if topic is None or topic.topic_id != move.topic_id:
            return
        home = self._directories.home(*move.key) or move.source
        if topic.directory_id(move.log.partition) != home.directory_id:
            self._assignment.assign(move.key, home.directory_id, lambda: None)

    def _remove(self, directory: LogDirectory, folder: Path) -> None:
        """Remove a folder in slices."""
        try:
            renamed = directory.discard(folder)
        except OSError as problem:
            self._removal_failed(folder, problem)
        else:
            self._remove_renamed(renamed)

    def _remove_renamed(self, folder: Path) -> None:
        removal = self._directories.remove_renamed([folder])
        self._slices.start(removal, lambda _: None, partial(self._removal_failed, folder))

    def _removal_failed(self, folder: Path, problem: Exception) -> None:
        if not self._partitions.disk_errors.report(problem, folder, False):
            logger.error("cannot remove the former folder of a log", folder=str(folder), problem=str(problem))

    def _failed(self, move: Move, problem: Exception, *, is_read: bool = False) -> None:
        if self._ended_elsewhere(move):
            return
        self._report(move, problem, move.log.folder if is_read else move.target.root, is_read=is_read)
        if not self._ended_elsewhere(move):
            self._cancel(move)

    def _report(self, move: Move, problem: Exception, path: Path | None, *, is_read: bool = False) -> None:
        if not self._partitions.disk_errors.report(problem, path, is_read):
            logger.error(
                "cannot move a partition to another log directory; it stays where it is",
                log=move.log.name,
                directory=str(move.target.root),
                problem=str(problem),
            )

    def _ended_elsewhere(self, move: Move) -> bool:
        """Whether a move cannot go on. What a directory that is offline has of it, the next start finds."""
        if self._is_stopped:
            return True
        if not move.is_over and (move.log.is_closed or move.target not in self._directories.online):
            self._end(move)
            self._assign_home(move)
        if move.is_over:
            move.release(self._flusher)
        return move.is_over

    # ------------------------------------------------------------------------------------------------------------- copy

    timer_keys = (MoveKey,)

    def due(self, key: object, now_ms: int) -> None:
        """Go on with a move if this is its timer."""
        if isinstance(key, MoveKey):
            self._advance(key.move)

    def _later(self, move: Move, pause_ms: int) -> None:
        self._timers.start(MoveKey(move), deadline_after(self._now_ms(), pause_ms))

    def _advance(self, move: Move) -> None:
        """Copy the next portion, or begin with the end if little is missing."""
        if self._ended_elsewhere(move):
            return
        portion = None
        try:
            if move.future is None:
                move.make_future(self._directories.files)  # somebody may have written to it
            if move.future is not None and move.future.lag_bytes > min(REST_BYTES, self._portion_bytes):
                portion = move.future.next_portion(self._portion_bytes)
        except OSError as problem:
            self._failed(move, problem)
            return
        if portion is not None:
            self._copy(move, portion, self._copied)
        elif move.future is None:
            self._store_directory(move)
        elif self._is_cleaning(move.log) or move.key in self._ending or self._flusher.is_suspended(move.log):
            self._later(move, RETRY_MS)  # also when a move that was given up has not noticed yet
        else:
            move.is_suspended, move.final_portions = True, 0
            self._flusher.suspend(move.log, partial(self._finish, move))

    def _copy(self, move: Move, portion: Portion, done: Callable[[Move, Portion, Exception | None], None]) -> None:
        move.is_busy = True
        self._threads.run([portion.run], partial(done, move, portion))

    def _has_copied(self, move: Move, portion: Portion, problem: Exception | None) -> bool:
        """Take note of the end of a portion; return whether the move goes on."""
        assert move.future is not None
        move.is_busy = False
        move.future.copied(portion, problem)
        return self._has_worked(move, problem)

    def _has_worked(self, move: Move, problem: Exception | None) -> bool:
        if self._ended_elsewhere(move):
            return False
        if problem is None:
            return True
        is_read = isinstance(problem, CopyFailed) and problem.is_read
        self._failed(move, problem.problem if isinstance(problem, CopyFailed) else problem, is_read=is_read)
        return False

    def _copied(self, move: Move, portion: Portion, problem: Exception | None) -> None:
        if self._has_copied(move, portion, problem):
            pause_ms = int(self._pace.pause_seconds(portion.size_bytes) * 1000)
            if pause_ms > 0:
                self._later(move, pause_ms)
            else:
                self._call_soon(partial(self._advance, move))

    # -------------------------------------------------------------------------------------------------------------- end

    def _finish(self, move: Move) -> None:
        """No flush of the log is under way: copy what is missing, and make the copy safe."""
        if self._ended_elsewhere(move):
            return
        assert move.future is not None
        if move.final_portions == FINAL_PORTIONS:
            self._try_again(move)
            return
        move.final_portions += 1
        try:
            portion = move.future.next_portion(PORTION_BYTES)
        except OSError as problem:
            self._failed(move, problem)
            return
        if portion is None or portion.is_last:
            self._flush(move, move.future, portion)
        else:
            self._copy(move, portion, self._copied_more)

    def _copied_more(self, move: Move, portion: Portion, problem: Exception | None) -> None:
        if self._has_copied(move, portion, problem):
            self._finish(move)

    def _flush(self, move: Move, future: FutureLog, portion: Portion | None) -> None:
        """Copy the last portion, then make all of the copy safe."""
        log = move.log
        move.noted = log.log_end_offset, log.log_start_offset
        move.target.note(*move.key, *move.noted)
        make_safe, write_checkpoints = future.flush(), move.target.prepare_checkpoints()

        def run() -> None:
            if portion is not None:
                portion.run()
            make_safe()
            write_checkpoints()

        def done(problem: Exception | None) -> None:
            if portion is not None:
                future.copied(portion, problem)
            self._flushed(move, future, problem)

        move.is_busy = True
        self._threads.run([run], done)

    def _flushed(self, move: Move, future: FutureLog, problem: Exception | None) -> None:
        move.is_busy = False
        future.flushed()
        if self._has_worked(move, problem):
            self._store_directory(move)

    def _store_directory(self, move: Move) -> None:
        move.is_busy = True
        self._assignment.assign(move.key, move.target.directory_id, partial(self._directory_stored, move))

    def _not_stored(self, key: TopicPartition, problem: LogAppendError) -> None:
        """The partition stays where it is. What `_assign_home` was to store, the next start finds."""
        if (move := self._moves.get(key)) is not None:
            move.is_busy = False
            self._failed(move, problem)

    def _directory_stored(self, move: Move) -> None:
        move.is_busy = False
        if move.is_over:
            self._assign_home(move)
        if self._ended_elsewhere(move):
            return
        if self._is_cleaning(move.log) or move.log.is_held or not move.is_as_noted(self._directories.files):
            self._try_again(move)
            return
        try:
            is_complete = move.future is None or move.future.copy_rest(move.rest_bytes)
        except CopyFailed as problem:
            self._failed(move, problem.problem, is_read=problem.is_read)
            return
        except OSError as problem:
            self._failed(move, problem)
            return
        if is_complete:
            self._switch(move)
        else:
            move.rest_bytes = min(2 * move.rest_bytes, REST_BYTES_MAX)
            self._try_again(move)

    def _try_again(self, move: Move) -> None:
        """More has changed than can be copied at once."""
        move.resume(self._flusher)
        self._later(move, RETRY_MS)

    def _switch(self, move: Move) -> None:
        """Let the log go on with the copy. All of it is there."""
        log, future = move.log, move.future
        try:
            discarded, former = self._directories.move_log(log, move.target, future)
        except OSError as problem:
            if log.is_closed:
                self._partitions.forget(log)
            self._report(move, problem, None)
            if not self._ended_elsewhere(move):
                self._cancel(move)
            return
        for file in former:
            file.close()
        self._end(move)
        if not discarded:
            return  # nothing was copied
        logger.info(
            "moved a partition to another log directory",
            log=log.name,
            directory=str(move.target.root),
            size_bytes=log.size_bytes,
            ms=self._now_ms() - move.began_ms,
        )
        self._ending[move.key] = discarded[0]
        ended = self._directories.move_ended(log, move.source)
        self._threads.run([ended], partial(self._made_safe, move.key, discarded[0]))

    def _made_safe(self, key: TopicPartition, former_folder: Path, problem: Exception | None) -> None:
        if self._is_stopped:
            return
        del self._ending[key]
        if problem is None:
            self._remove_renamed(former_folder)
        else:
            # The next start ends the move.
            self._removal_failed(former_folder, problem)
