"""The producer states of all partitions: read from snapshots and logs when needed, and expired from time to time.

The states of a log describe it up to `ProducerStates.next_offset`. What was appended by others since (the coordinator's
own batches in `__consumer_offsets`) is read when somebody needs it.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary, ref

from _wire.control_records import read_end_txn_marker
from _wire.errors import MalformedMessage
from _wire.records import BatchHeader, CorruptBatch, batch_headers, parse_records
from coordinator.broker.data.producers import (
    Marker,
    OpenTransaction,
    ProducerLimits,
    ProducerStates,
    has_producer_id,
    snapshot_entries,
)
from coordinator.config.key import INT64_MAX
from coordinator.config.settings import Config
from coordinator.config.transaction_keys import PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS, PRODUCER_ID_EXPIRATION_MS
from coordinator.internal_topics import AUDIT_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from coordinator.log.disk_threads import Run, run_in_turn
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments import producer_snapshot
from coordinator.logger import logger
from coordinator.runtime.slices import Steps, at_once
from coordinator.timers.timers import Timers

PRODUCERS_PER_TURN: Final = 20_000
"""So many are looked at in a few ms."""
NEXT_TURN_MS: Final = 1
LAST_BATCHES_BYTES: Final = 1 << 20
"""How much of the end of a log is read beside a snapshot: a ms."""
READ_QUICKLY_BYTES: Final = 1 << 14
"""To read so much of a log takes less time than a file for its producers, of which there may be thousands."""
ONE_BATCH: Final = 0
"""As the number of bytes to read: the next batch, whatever its size."""


TOPICS_WITHOUT_PRODUCERS: Final = frozenset({AUDIT_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC})
"""The coordinator alone writes them, without transactions: nothing has to be read of them."""


class ExpirationKey:
    """The key of the timer at which expired producers are forgotten."""


class SnapshotKey:
    """The key of the timer at which a snapshot is encoded further."""


class ProducerDirectory:
    """Log → producer states. The states of a deleted log go with it."""

    def __init__(self, config: Config, timers: Timers, now_ms: Callable[[], int], wall_ms: Callable[[], int]) -> None:
        """`now_ms` is the time of the timers, `wall_ms` that of the records; the methods get the latter."""
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._limits = ProducerLimits.of(config)
        config.when_changed([PRODUCER_ID_EXPIRATION_MS], partial(self._change_expiration, config))
        self._interval_ms = config[PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS]
        self._timers = timers
        self._logs: WeakKeyDictionary[PartitionLog, None] = WeakKeyDictionary()
        """Those with states, which are their `open_transactions`, in the order in which they got them."""
        self._loads: WeakKeyDictionary[PartitionLog, Iterator[None]] = WeakKeyDictionary()
        """Reads that are under way: all requests that need the states take steps of the same one."""
        self._saved: WeakKeyDictionary[PartitionLog, int] = WeakKeyDictionary()
        """The offset of the newest snapshot."""
        self._timer_runs = False
        self._to_check: deque[ref[PartitionLog]] = deque()
        self._snapshots: deque[tuple[ref[PartitionLog], int, Iterator[bytes | None]]] = deque()
        """Snapshots that are being encoded, with their offsets."""

    def _change_expiration(self, config: Config) -> None:
        """Producers that are known already have the same limits."""
        self._limits.expiration_ms = config[PRODUCER_ID_EXPIRATION_MS]

    def current(self, log: PartitionLog) -> ProducerStates | None:
        """The producer states of a log, if they are known up to its end."""
        states = _states_of(log)
        return states if states is not None and states.next_offset >= log.log_end_offset else None

    def load(self, log: PartitionLog, now_ms: int) -> Steps[ProducerStates]:
        """The producer states of a log, known up to its end. What has to be read is read in steps.

        Raises:
            OSError: the log cannot be read.
        """
        while (states := self.current(log)) is None:
            reading = self._loads.get(log)
            if reading is None:
                reading = self._loads[log] = self._read(log, now_ms)
            try:
                next(reading)
            except StopIteration:
                self._loads.pop(log, None)
                continue
            except BaseException:
                self._loads.pop(log, None)
                raise
            yield
        return states

    def states_of(self, log: PartitionLog, now_ms: int) -> ProducerStates:
        """As `load`, at once. Only for logs of which little has to be read.

        Raises:
            OSError: the log cannot be read.
        """
        return at_once(self.load(log, now_ms))

    def _read(self, log: PartitionLog, now_ms: int) -> Iterator[None]:
        """Read what is not known yet: at first a snapshot and what follows it, later what was appended since."""
        states = _states_of(log)
        if log.topic in TOPICS_WITHOUT_PRODUCERS:
            states = ProducerStates(self._limits)
            states.next_offset = INT64_MAX
            self._follow(log, states)
            return
        if states is None:
            states = ProducerStates(self._limits)
            offset, entries = log.newest_producer_snapshot()
            self._saved[log] = offset
            states.restore(entries, offset, now_ms)
            for producer_id, transaction in states.open.items():
                first = max(transaction.first_offset, log.log_start_offset)
                states.open[producer_id] = OpenTransaction(transaction.first_offset, _appended_before(log, first))
            for segment in log.segments:
                segment.transaction_index.truncate(offset)
            for header in _last_batches(log, offset):
                states.remember(header)
        first_read = states.next_offset
        start = max(first_read, log.log_start_offset)
        position = _appended_before(log, start)
        # What is appended meanwhile is read too.
        for header, data in readable_batches(log, start):
            _replay(log, states, header, data, position)
            position += header.size_in_bytes
            yield
        states.next_offset = max(states.next_offset, log.log_end_offset)
        if log.open_transactions is None:
            self._follow(log, states)
            if log.segments and first_read < log.segments[-1].base_offset:
                self._save_snapshot(log, states)

    def _follow(self, log: PartitionLog, states: ProducerStates) -> None:
        log.open_transactions = states
        self._logs[log] = None
        self._expire_later(states)

    def oldest_transactions(self) -> Iterator[int | None]:
        """Of each log whose producers are known, the `oldest_transaction_ms`; logs that come meanwhile are left out."""
        for log_ref in [ref(log) for log in self._logs]:
            log = log_ref()
            states = None if log is None else _states_of(log)
            yield None if states is None else states.oldest_transaction_ms

    # --------------------------------------------------------------------------------------------------------- appends

    def appended(
        self, log: PartitionLog, header: BatchHeader, appended_bytes: int, now_ms: int, client_host: str = ""
    ) -> None:
        """A batch of data of a client was appended, before which `appended_bytes` had been appended to the log.

        The producers of a log are followed from its first batch on, so that it need not be read for them later.
        """
        base_offset = header.base_offset
        if log.open_transactions is None and base_offset == 0:
            self._follow(log, ProducerStates(self._limits))
        states = _states_of(log)
        if states is not None and states.next_offset == base_offset:
            self._save_if_rolled(log, states, base_offset)
            states.update(header, appended_bytes, client_host)
            if not self._timer_runs:
                self._expire_later(states)

    def marker_appended(self, log: PartitionLog, marker: Marker, offset: int, now_ms: int) -> None:
        """A marker was appended to a log, whose states had been loaded."""
        states = _states_of(log)
        assert states is not None, log.name
        self._save_if_rolled(log, states, offset)
        states.void_verification(marker)
        aborted = states.end_transaction(
            marker.producer_id, marker.producer_epoch, marker.committed, marker.coordinator_epoch, offset, now_ms
        )
        if aborted is not None:
            log.segments[-1].transaction_index.append(aborted)

    # -------------------------------------------------------------------------------------------------------- snapshots

    def _save_if_rolled(self, log: PartitionLog, states: ProducerStates, offset: int) -> None:
        """Save the states before the first offset of a new segment: a load then reads that segment alone."""
        if offset > 0 and log.segments.items[-1].base_offset == offset:
            self._save_snapshot(log, states)

    def _save_snapshot(self, log: PartitionLog, states: ProducerStates) -> None:
        """Save the states as they are now; many are encoded in several turns of the event loop."""
        encoding = producer_snapshot.encode(snapshot_entries(states.snapshot()))
        self._snapshots.append((ref(log), states.next_offset, encoding))
        self._encode_next()

    def _encode_next(self) -> None:
        log_ref, offset, encoding = self._snapshots[0]
        data = next(encoding)
        if data is not None:
            self._snapshots.popleft()
            log = log_ref()
            if log is not None:
                self._store(log, offset, data)
        if self._snapshots:
            self._timers.start(SnapshotKey(), self._now_ms() + NEXT_TURN_MS)

    def _store(self, log: PartitionLog, offset: int, data: bytes, *, flush: bool = False) -> None:
        try:
            log.save_producer_snapshot(offset, data, flush=flush)
            self._saved[log] = offset
        except OSError as problem:
            # The next start reads the log instead.
            logger.error("cannot save a producer snapshot", log=log.name, offset=offset, problem=str(problem))

    def finish(self, run: Run = run_in_turn) -> None:
        """Before a clean stop: save the states, so that the next start need not read the logs. `run` does it."""
        self._snapshots.clear()
        work = []
        for log in list(self._logs):
            states, offset = _states_of(log), log.log_end_offset
            assert states is not None, log.name
            if states.next_offset == offset and self._saved.get(log) != offset and not _is_read_quickly(log):
                *_, data = producer_snapshot.encode(snapshot_entries(states.snapshot()))
                assert data is not None
                work.append(partial(self._store, log, offset, data, flush=True))
        run(work)

    # ------------------------------------------------------------------------------------------------------------- time

    timer_keys = (SnapshotKey, ExpirationKey)

    def due(self, key: object, now_ms: int) -> None:
        """Forget expired producers if this is the timer for it. Many are done in several turns of the event loop."""
        if isinstance(key, SnapshotKey) and self._snapshots:
            self._encode_next()
        if not isinstance(key, ExpirationKey):
            return
        self._timer_runs = False
        if not self._to_check:
            self._to_check.extend(ref(log) for log in self._logs)
        checked, wall_ms = 0, self._wall_ms()
        while self._to_check and checked < PRODUCERS_PER_TURN:
            log = self._to_check.popleft()()
            if log is not None and (states := _states_of(log)) is not None:
                checked += 1 + len(states)
                states.remove_expired(wall_ms)
        if any(_states_of(log) for log in self._logs):
            self._start_timer(now_ms + (NEXT_TURN_MS if self._to_check else self._interval_ms))

    def _expire_later(self, states: ProducerStates) -> None:
        if not self._timer_runs and len(states):
            self._start_timer(self._now_ms() + self._interval_ms)

    def _start_timer(self, deadline_ms: int) -> None:
        self._timer_runs = True
        self._timers.start(ExpirationKey(), deadline_ms)


def _states_of(log: PartitionLog) -> ProducerStates | None:
    """What is known of the producers of a log; nothing else is ever its `open_transactions`."""
    states = log.open_transactions
    assert states is None or isinstance(states, ProducerStates)
    return states


def _is_read_quickly(log: PartitionLog) -> bool:
    """Whether all that was ever appended to a log is there, and little to read: it says as much as a snapshot."""
    return (
        log.size_bytes <= READ_QUICKLY_BYTES
        and log.log_start_offset == 0
        and "compact" not in (log.config.cleanup_policy)
    )


def _last_batches(log: PartitionLog, end_offset: int) -> Iterator[BatchHeader]:
    """The batches at the end of the active segment, as far as a snapshot at `end_offset` describes them.

    A snapshot has only the last batch of each producer, but a producer may repeat the last five.
    """
    segment = log.segments.at(max(end_offset - 1, log.log_start_offset))
    if segment is None or end_offset <= max(segment.base_offset, log.log_start_offset):
        return
    index = segment.offset_index
    entry = bisect_left(index.positions, segment.size_bytes - LAST_BATCHES_BYTES)
    start = segment.base_offset + (index.offsets[entry] if entry < len(index.offsets) and entry else 0)
    with suppress(CorruptBatch):  # the states are complete without them
        for header, _ in log.batches(max(start, log.log_start_offset), LAST_BATCHES_BYTES):
            if header.base_offset >= end_offset:
                return
            yield header


def _appended_before(log: PartitionLog, offset: int) -> int:
    """How many bytes had been appended to a log before an offset; too many if the log is damaged there."""
    try:
        return log.appended_bytes - log.bytes_from(offset)
    except CorruptBatch:
        return log.appended_bytes


def _replay(log: PartitionLog, states: ProducerStates, header: BatchHeader, data: bytes, position: int) -> None:
    """Update the states with a batch of the log, before which `position` bytes had been appended."""
    if not header.is_control or not has_producer_id(header):
        states.update(header, position)
        return
    states.next_offset = header.next_offset
    try:
        records = parse_records(data)
        if not records:
            return  # compaction has removed the marker
        marker = read_end_txn_marker(records[0])
    except MalformedMessage as problem:
        logger.warning("a marker cannot be read", log=log.name, offset=header.base_offset, problem=str(problem))
        return
    aborted = states.end_transaction(
        header.producer_id,
        header.producer_epoch,
        marker.committed,
        marker.coordinator_epoch,
        header.last_offset,
        header.max_timestamp_ms,
    )
    segment = log.segments.at(header.base_offset)
    if aborted is not None and segment is not None:
        segment.transaction_index.append(aborted)


def readable_batches(log: PartitionLog, offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
    """The batches of a log from an offset on. What is damaged is left out, with one log line for each place.

    If a damaged batch still says where it ends, the next one follows; otherwise the next segment.

    Raises:
        OSError: the log cannot be read.
    """
    while offset < log.log_end_offset:
        try:
            for header, data in log.batches(offset):
                yield header, data
                offset = header.next_offset
            return
        except CorruptBatch as problem:
            # The damage may lie after batches that were read together with it.
            for header, data in _batches_before_damage(log, offset):
                yield header, data
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


def _batches_before_damage(log: PartitionLog, offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
    while offset < log.log_end_offset:
        try:
            data = log.read(offset, ONE_BATCH, before_offset=log.log_end_offset)
            (header,) = batch_headers(data)
        except CorruptBatch:
            return
        yield header, data
        offset = header.next_offset
