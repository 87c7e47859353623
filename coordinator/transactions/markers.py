"""Writes the markers of prepared transactions to all of their partitions, until each one has its marker.

Counterpart in Kafka: `TransactionMarkerChannelManager`.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple, Protocol

from _wire.errors import ErrorCode
from coordinator.broker.producers import Marker
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.states import PREPARE_COMMIT
from coordinator.core.transactions.transaction import Transaction
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.logger import logger
from coordinator.runtime.slices import Slices, Steps

RETRY_MS_AT_FIRST: Final = 100
RETRY_MS_AT_MOST: Final = 10_000

SETTLED: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # it was deleted
        ErrorCode.INVALID_PRODUCER_EPOCH,  # a later transaction is open there, so that this one has its marker
    }
)
"""The results after which a partition needs no marker any more."""
TRANSIENT: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,  # its cause is in the log already
    }
)


class Timers(Protocol):
    """Timers of the event loop."""

    def start(self, key: object, deadline_ms: int) -> int: ...


WriteMarker = Callable[[str, int, Marker], Steps[ErrorCode]]
"""(topic, partition, marker) → NONE, or why it could not be written (`MarkerWriter.write_own`)."""

CompleteOffsets = Callable[[int, TransactionMarker, Callable[[ErrorCode], None]], None]
"""(partition of `__consumer_offsets`, marker, reply): ends the transaction in the groups of the partition."""


class Sending:
    """The markers of one transaction."""

    __slots__ = ("failures", "is_writing", "marker", "remaining", "retry_ms", "transaction", "waiting")

    def __init__(self, transaction: Transaction, coordinator_epoch: int) -> None:
        self.transaction = transaction
        self.marker = Marker(
            transaction.producer_id,
            transaction.epoch,
            transaction.state is PREPARE_COMMIT,
            coordinator_epoch,
            transaction.client_version,
        )
        self.remaining = set(transaction.partitions)
        self.is_writing = False
        self.waiting: set[TopicPartition] = set()
        """Partitions of `__consumer_offsets` whose reply is awaited."""
        self.retry_ms = RETRY_MS_AT_FIRST
        self.failures: dict[TopicPartition, ErrorCode] = {}
        """Partition → why its marker could not be written in the last try."""


class MarkerRetryKey(NamedTuple):
    """The key of the timer at which markers that could not be written are written again."""

    sending: Sending


class MarkerSender:
    """Sends the markers of one transaction per transactional id: a newer one takes the place of the one before."""

    def __init__(
        self,
        write: WriteMarker,
        complete_offsets: CompleteOffsets,
        slices: Slices,
        timers: Timers,
        now_ms: Callable[[], int],
        coordinator_epoch: int,
        when_durable: Callable[[Callable[[None], None]], None] | None = None,
        leads: Callable[[str, int], bool] = lambda topic, partition: True,
    ) -> None:
        """With `when_durable`, a transaction is complete when that calls back after its last marker.

        Not if one of its partitions is then not led (`leads`) any more, because its log directory has failed.
        """
        self._leads = leads
        self._when_durable = when_durable
        self.on_complete: Callable[[Transaction], None] = lambda transaction: None
        """Called when all markers of a transaction are written."""
        self._write = write
        self._complete_offsets = complete_offsets
        self._slices = slices
        self._timers = timers
        self._now_ms = now_ms
        self._coordinator_epoch = coordinator_epoch
        self._sending: dict[str, Sending] = {}

    @property
    def count(self) -> int:
        """How many transactions have markers to be written."""
        return len(self._sending)

    def send(self, transaction: Transaction) -> None:
        """Write the markers of a prepared transaction that is stored."""
        sending = self._sending[transaction.transactional_id] = Sending(transaction, self._coordinator_epoch)
        self._send(sending)

    def due(self, key: object, now_ms: int) -> None:
        if isinstance(key, MarkerRetryKey):
            sending = self._sending.get(key.sending.transaction.transactional_id)
            if sending is key.sending:
                self._send(sending)

    def clear(self, transactional_ids: Iterable[str]) -> None:
        """Another node sends them, or they will be sent again from the beginning."""
        for transactional_id in transactional_ids:
            self._sending.pop(transactional_id, None)

    def _send(self, sending: Sending) -> None:
        if sending.is_writing or sending.waiting:
            return
        data = sorted(tp for tp in sending.remaining if tp.topic != OFFSETS_TOPIC)
        sending.waiting = {tp for tp in sending.remaining if tp.topic == OFFSETS_TOPIC}
        # Until all are begun, so that one that fails at once does not begin the next try.
        sending.is_writing = True
        marker = TransactionMarker(
            Producer(sending.marker.producer_id, sending.marker.producer_epoch),
            sending.marker.committed,
            sending.marker.coordinator_epoch,
        )
        for tp in sorted(sending.waiting):
            self._complete_offsets(tp.partition, marker, partial(self._offsets_completed, sending, tp))
        self._slices.start(self._write_all(sending, data), lambda _: self._written(sending), self._failed(sending))

    def _write_all(self, sending: Sending, partitions: list[TopicPartition]) -> Steps[None]:
        for tp in partitions:
            error = yield from self._write(tp.topic, tp.partition, sending.marker)
            self._settle(sending, tp, error)
            yield

    def _written(self, sending: Sending) -> None:
        sending.is_writing = False
        self._check(sending)

    def _failed(self, sending: Sending) -> Callable[[Exception], None]:
        def failed(problem: Exception) -> None:
            logger.error(
                "unhandled exception while writing markers",
                transactional_id=sending.transaction.transactional_id,
                problem=repr(problem),
            )
            self._written(sending)

        return failed

    def _offsets_completed(self, sending: Sending, tp: TopicPartition, error: ErrorCode) -> None:
        sending.waiting.discard(tp)
        self._settle(sending, tp, error)
        self._check(sending)

    def _settle(self, sending: Sending, tp: TopicPartition, error: ErrorCode) -> None:
        if error in SETTLED:
            sending.remaining.discard(tp)
        else:
            sending.failures[tp] = error

    def _check(self, sending: Sending) -> None:
        """Complete the transaction when there is nothing left to write; else try again later."""
        transactional_id = sending.transaction.transactional_id
        if sending.is_writing or sending.waiting or self._sending.get(transactional_id) is not sending:
            return
        if sending.remaining:
            self._log_failures(sending)
            self._timers.start(MarkerRetryKey(sending), self._now_ms() + sending.retry_ms)
            sending.retry_ms = min(sending.retry_ms * 2, RETRY_MS_AT_MOST)
            return
        if self._when_durable is None:
            self._complete(sending)
        else:
            self._when_durable(lambda _: self._durable(sending))

    def _log_failures(self, sending: Sending) -> None:
        """Report partitions whose marker cannot be written, at once or, if that often passes, after some seconds."""
        failures, sending.failures = sending.failures, {}
        is_late, is_first = sending.retry_ms == RETRY_MS_AT_MOST, sending.retry_ms == RETRY_MS_AT_FIRST
        if not is_late:
            failures = {tp: error for tp, error in failures.items() if is_first and error not in TRANSIENT}
        if not failures:
            return
        (topic, partition), error = next(iter(failures.items()))
        logger.error(
            "cannot write the markers of a transaction, which does not end until then",
            transactional_id=sending.transaction.transactional_id,
            partitions=len(failures),
            first=f"{topic}-{partition}",
            error=error.name,
            retry_ms=sending.retry_ms,
        )

    def _durable(self, sending: Sending) -> None:
        """Complete the transaction. A marker in a log directory that has failed meanwhile is written again later."""
        sending.remaining = {tp for tp in sending.transaction.partitions if not self._leads(tp.topic, tp.partition)}
        if sending.remaining:
            self._check(sending)
        else:
            self._complete(sending)

    def _complete(self, sending: Sending) -> None:
        transactional_id = sending.transaction.transactional_id
        if self._sending.get(transactional_id) is sending:
            del self._sending[transactional_id]
            self.on_complete(sending.transaction)
