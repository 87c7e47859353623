"""The logs of a shard: that of the state, and that of its projection.

Counterpart in Kafka: `PartitionWriter` and `CoordinatorLoaderImpl`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from _wire.errors import MalformedMessage
from coordinator.core.stored import Stored
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.partition.readable_log import REPLAY_BYTES
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.runtime.interfaces import AppendMeter, Replay, StoreError
from coordinator.runtime.slices import Steps
from coordinator.runtime.store_writes import StoreWrites
from coordinator.wall_time import ONE_CLOCK, WallTime

HELD_MAX: Final = 100
"""Fewer records of a projection than this may be held back. As many compress well without others."""

WhenDurable = Callable[[Callable[[None], None]], None]
"""Calls back when all that is appended so far is on stable storage (`LogFlusher.when_durable`)."""


class Stream(Protocol):
    """A log of a shard, and how records become batches of it."""

    @property
    def log(self) -> PartitionLog: ...

    def build(self, records: Any, at_ms: int) -> list[PrebuiltBatch]:
        """The batches that these records make at the end of the log. `at_ms` is the time of their records.

        Raises:
            RecordListTooLarge: the records cannot be encoded.
        """


class ProjectionStream(Stream, Protocol):
    """The log of a projection."""

    @property
    def is_lingering(self) -> bool:
        """Whether records that come with nothing to store are held back."""

    def append_failed(self) -> None:
        """What was built last is not in the log."""


class LogStore(StoreWrites):
    """Appends each batch to its logs, and reads that of the state."""

    def __init__(
        self,
        state: Stream,
        projection: ProjectionStream | None = None,
        *,
        appended: Callable[[PartitionLog], None],
        load_bytes: int = REPLAY_BYTES,
        meter: AppendMeter | None = None,
        when_durable: WhenDurable | None = None,
        is_disk_failure: Callable[[PartitionLog, Exception], bool] = lambda log, problem: False,
        wall: WallTime = ONE_CLOCK,
    ) -> None:
        """A replay reads `load_bytes` at a time. A `meter` measures the appends.

        With `when_durable`, a batch counts when that calls back (`log.flush.policy`), else as soon as it is written.

        `is_disk_failure` gets each append that failed, and says whether the log directory has failed.
        """
        super().__init__(
            state,
            projection,
            appended=appended,
            meter=meter,
            when_durable=when_durable,
            is_disk_failure=is_disk_failure,
            wall=wall,
            held_max=HELD_MAX,
        )
        self._log = state.log
        self._load_bytes = load_bytes

    @property
    def end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def has_files(self) -> bool:
        return self._log.log_end_offset > 0 and (self._projection is None or self._projection.log.log_end_offset > 0)

    def makes_files(self, projected: Sequence[Any], stored: Sequence[Stored]) -> bool:
        if stored and self._log.log_end_offset == 0:
            return True
        return bool(projected) and self._projection is not None and self._projection.log.log_end_offset == 0

    def write_held(self, now_ms: int) -> None:
        held, self.held = self.held, []
        if held and (problem := self._append(held, (), now_ms)) is not None:
            raise problem

    def drop_held(self) -> None:
        self.held = []

    def prepare(self) -> Steps[None]:
        """The log directories of a node are locked: nobody else appends to its logs."""
        yield from ()

    def replay(self, replay: Replay[PartitionLog], from_offset: int = 0) -> Steps[None]:
        """Apply the batches and markers of the log of the state from an offset on, in order.

        Raises:
            StoreError: the log cannot be read.
        """
        log = self._log
        try:
            yield from replay.read(log, max(from_offset, log.log_start_offset), self._load_bytes)
        except StoreError:
            raise
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{log.name}: {problem}") from problem
