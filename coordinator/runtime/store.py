"""The logs of a shard: that of the state, and that of its projection.

Counterpart in Kafka: `PartitionWriter` and `CoordinatorLoaderImpl`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

from _wire.errors import MalformedMessage
from coordinator.core.stored import Stored
from coordinator.log.errors import LogAppendError, RecordListTooLarge
from coordinator.log.partition.partition_log import REPLAY_BYTES, PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.runtime.interfaces import AppendMeter, Replay, StoreError
from coordinator.runtime.slices import Steps
from coordinator.wall_time import ONE_CLOCK, WallTime

HELD_MAX: Final = 100
"""Fewer records of a projection than this may be held back. As many compress well without others."""

WhenDurable = Callable[[Callable[[None], None]], None]
"""Calls back when all that is appended so far is on stable storage (`LogFlusher.when_durable`)."""


class Stream(Protocol):
    """A log of a shard, and how records become batches of it."""

    @property
    def log(self) -> PartitionLog: ...

    def build(self, records: Sequence[Any], at_ms: int) -> list[PrebuiltBatch]:
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


class LogStore:
    """Appends each batch to its logs, and calls `appended` with each log that it appended to."""

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
        self._state = state
        self._log = state.log
        self._projection = projection
        self._is_lingering = projection is not None and projection.is_lingering
        self._appended = appended
        self._load_bytes = load_bytes
        self._meter = meter
        self._when_durable = when_durable
        self._is_disk_failure = is_disk_failure
        self._wall = wall
        self.held: list[Any] = []
        """Records of the projection that are not appended yet. A kill loses them, and what they report with them."""
        self._writing = state.log
        """The log that was written last, or could not be."""

    @property
    def batch_bytes_max(self) -> int:
        """`max.message.bytes` of the topic, or the size of a segment if that is smaller."""
        config = self._log.config
        message, segment = config.max_message_bytes, config.segment_bytes
        return message if message < segment else segment

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

    def append(
        self,
        projected: Sequence[Any],
        stored: Sequence[Stored],
        now_ms: int,
        completed: Callable[[StoreError | None], None],
    ) -> None:
        """Append at once: the logs are on this node. With `when_durable` it completes later.

        The projection comes first. So it may have events of a batch that then fails (a load voids them), but it never
        lacks events that are stored.
        """
        if self.held or (self._is_lingering and not stored):
            self.held += projected
            if not stored and len(self.held) < HELD_MAX:
                completed(None)
                return
            projected, self.held = self.held, []
        problem = self._append(projected, stored, now_ms)
        if self._when_durable is None or problem is not None:
            completed(problem)
        else:
            self._when_durable(completed)

    @property
    def appends_at_once(self) -> bool:
        return self._when_durable is None and not self.held

    def append_at_once(self, stored: Sequence[Stored], now_ms: int) -> StoreError | None:
        return self._append((), stored, now_ms)

    def write_held(self, now_ms: int) -> None:
        held, self.held = self.held, []
        if held and (problem := self._append(held, (), now_ms)) is not None:
            raise problem

    def drop_held(self) -> None:
        self.held = []

    def _append(self, projected: Sequence[Any], stored: Sequence[Stored], now_ms: int) -> StoreError | None:
        """Write to the logs; return what failed."""
        problem: StoreError | None = None
        at_ms = now_ms + self._wall.step_ms
        if self._meter is not None:
            self._meter.begin()
        try:
            if projected and self._projection is not None:
                self._write(self._projection, projected, at_ms)
            if stored:
                self._write(self._state, stored, at_ms)
        except (LogAppendError, RecordListTooLarge) as error:
            problem = StoreError(str(error), is_logged=self._is_disk_failure(self._writing, error))
            if self._projection is not None:
                self._projection.append_failed()
        if self._meter is not None:
            self._meter.end(len(projected), problem is not None)
        return problem

    def _write(self, stream: Stream, records: Sequence[Any], at_ms: int) -> None:
        self._writing = log = stream.log
        batches = stream.build(records, at_ms)
        if len(batches) == 1:
            log.append_prebuilt(batches, at_ms)
        else:
            # In one piece as far as it fits into a segment: a disk that fails leaves all of a piece or nothing.
            for piece in _pieces(batches, log.config.segment_bytes):
                log.append_prebuilt(piece, at_ms)
        self._appended(log)

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


def _pieces(batches: list[PrebuiltBatch], bytes_max: int) -> Iterator[list[PrebuiltBatch]]:
    """Split batches, in their order, into as few pieces as fit."""
    piece: list[PrebuiltBatch] = []
    piece_bytes = 0
    for batch in batches:
        if piece and piece_bytes + len(batch.data) > bytes_max:
            yield piece
            piece, piece_bytes = [], 0
        piece.append(batch)
        piece_bytes += len(batch.data)
    yield piece
