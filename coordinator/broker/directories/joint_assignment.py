"""Stores the directories of many partitions together: those of one iteration of the event loop go into one batch."""

from collections.abc import Callable, Sequence
from functools import partial

from coordinator.broker.directories.directory_assignment import DirectoryAssignment
from coordinator.log.data_dirs.checkpoints import TopicPartition
from coordinator.log.errors import LogAppendError
from coordinator.logger import logger
from coordinator.runtime.slices import Slices, Steps


class JointAssignment:
    """Collects the directories that partitions get, until the next iteration of the event loop."""

    def __init__(
        self,
        assignment: DirectoryAssignment,
        slices: Slices,
        call_soon: Callable[[Callable[[], None]], object],
        now_ms: Callable[[], int],
        failed: Callable[[TopicPartition, LogAppendError], None],
    ) -> None:
        """`failed` is called for each partition whose directory could not be stored."""
        self._assignment = assignment
        self._slices = slices
        self._call_soon = call_soon
        self._now_ms = now_ms
        self._failed = failed
        self._waiting: dict[TopicPartition, tuple[str, Callable[[], None]]] = {}
        """What the metadata gets next: the id of the directory, and who is called then."""
        self._is_stopped = False

    @property
    def is_waiting(self) -> bool:
        """Whether a directory is still to be stored."""
        return bool(self._waiting)

    def stop(self) -> None:
        """Store nothing any more."""
        self._is_stopped = True

    def assign(self, key: TopicPartition, directory_id: str, done: Callable[[], None]) -> None:
        """Let the metadata have the directory of a partition; then call `done`."""
        if not self._waiting:
            self._call_soon(self._assign_all)
        self._waiting[key] = directory_id, done

    def _assign_all(self) -> None:
        assigned, self._waiting = self._waiting, {}
        if self._is_stopped:
            return
        try:
            self._assignment.assign(
                {key: directory_id for key, (directory_id, _) in assigned.items()},
                self._now_ms(),
                partial(self._call_in_slices, [done for _, done in assigned.values()]),
            )
        except LogAppendError as problem:
            for key in assigned:
                self._failed(key, problem)

    def _call_in_slices(self, calls: Sequence[Callable[[], None]]) -> None:
        def failed(problem: Exception) -> None:
            logger.error("cannot end the moves of partitions", problem=repr(problem))

        self._slices.start(_call_in_steps(calls), lambda _: None, failed)


def _call_in_steps(calls: Sequence[Callable[[], None]]) -> Steps[None]:
    for call in calls:
        call()
        yield
