"""The producer states of all partitions: read from a log when they are first needed, and expired from time to time."""

from collections import deque
from collections.abc import Iterator
from typing import Final, Protocol
from weakref import WeakKeyDictionary, ref

from _wire.records import BatchHeader, CorruptBatch, batch_headers
from coordinator.broker.producers import ProducerLimits, ProducerStates
from coordinator.config import PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS, Config
from coordinator.log.partition_log import PartitionLog
from coordinator.logger import logger

PRODUCERS_PER_TURN: Final = 20_000
"""So many are looked at in a few ms."""
NEXT_TURN_MS: Final = 1
ONE_BATCH: Final = 0
"""As the number of bytes to read: the next batch, whatever its size."""


class ExpirationKey:
    """The key of the timer at which expired producers are forgotten."""


class Timers(Protocol):
    """A timing wheel, or what wakes up the event loop for one."""

    def start(self, key: object, deadline_ms: int) -> int: ...


class ProducerDirectory:
    """Log → producer states. The states of a deleted log go with it."""

    def __init__(self, config: Config, timers: Timers) -> None:
        self._limits = ProducerLimits.of(config)
        self._interval_ms = config[PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS]
        self._timers = timers
        self._states: WeakKeyDictionary[PartitionLog, ProducerStates] = WeakKeyDictionary()
        self._timer_runs = False
        self._to_check: deque[ref[PartitionLog]] = deque()

    def states_of(self, log: PartitionLog, now_ms: int) -> ProducerStates:
        """The producer states of a log.

        Raises:
            OSError: the log cannot be read.
        """
        states = self._states.get(log)
        if states is None:
            states = self._states[log] = ProducerStates(self._limits, readable_batches(log))
            if not self._timer_runs:
                self._start_timer(now_ms + self._interval_ms)
        return states

    def due(self, key: object, now_ms: int) -> None:
        """Forget expired producers if this is the timer for it. Many are done in several turns of the event loop."""
        if not isinstance(key, ExpirationKey):
            return
        self._timer_runs = False
        if not self._to_check:
            self._to_check.extend(ref(log) for log in self._states)
        checked = 0
        while self._to_check and checked < PRODUCERS_PER_TURN:
            log = self._to_check.popleft()()
            if log is not None and (states := self._states.get(log)) is not None:
                checked += 1 + len(states)
                states.remove_expired(now_ms)
        if self._states:
            self._start_timer(now_ms + (NEXT_TURN_MS if self._to_check else self._interval_ms))

    def _start_timer(self, deadline_ms: int) -> None:
        self._timer_runs = True
        self._timers.start(ExpirationKey(), deadline_ms)


def readable_batches(log: PartitionLog) -> Iterator[BatchHeader]:
    """The headers of the batches of a log. What is damaged is left out, with one log line for each place.

    If a damaged batch still says where it ends, the next one follows; otherwise the next segment.

    Raises:
        OSError: the log cannot be read.
    """
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            for header, _ in log.batches(offset):
                yield header
                offset = header.next_offset
            return
        except CorruptBatch as problem:
            # The damage may lie after batches that were read together with it.
            for header in _batches_before_damage(log, offset):
                yield header
                offset = header.next_offset
            after = log.offset_after_damage(offset)
            logger.warning(
                "a batch is damaged: what its producer wrote is not known",
                log=log.name,
                offset=offset,
                continued_at=after,
                problem=str(problem),
            )
            offset = after


def _batches_before_damage(log: PartitionLog, offset: int) -> Iterator[BatchHeader]:
    while offset < log.log_end_offset:
        try:
            (header,) = batch_headers(log.read(offset, ONE_BATCH))
        except CorruptBatch:
            return
        yield header
        offset = header.next_offset
