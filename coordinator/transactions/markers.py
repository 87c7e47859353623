"""Writes the markers of prepared transactions to all of their partitions, until each one has its marker.

Counterpart in Kafka: `TransactionMarkerChannelManager`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from _wire.errors import ErrorCode
from coordinator.broker.data.producers import Marker
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.states import PREPARE_COMMIT
from coordinator.core.transactions.transaction import Transaction
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.logger import logger
from coordinator.runtime.delays import Delays
from coordinator.runtime.slices import SlicedWork, Slices, Steps, awaited, awaited_all
from coordinator.runtime.store import WhenDurable

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


WriteMarker = Callable[[str, int, Marker], Steps[ErrorCode]]
"""(topic, partition, marker) → NONE, or why it could not be written (`MarkerWriter.write_own`)."""

CompleteOffsets = Callable[[int, TransactionMarker, Callable[[ErrorCode], None]], None]
"""(partition of `__consumer_offsets`, marker, reply): ends the transaction in the groups of the partition."""


class MarkerSender:
    """Sends the markers of one transaction per transactional id: a newer one takes the place of the one before."""

    def __init__(
        self,
        write: WriteMarker,
        complete_offsets: CompleteOffsets,
        slices: Slices,
        delays: Delays,
        now_ms: Callable[[], int],
        *,
        coordinator_epoch: int,
        when_durable: WhenDurable | None = None,
        leads: Callable[[str, int], bool] = lambda topic, partition: True,
    ) -> None:
        """With `when_durable`, a transaction is complete when that calls back after its last marker.

        Not if one of its partitions is then not led (`leads`) any more, because its log directory has failed.
        """
        self._write = write
        self._complete_offsets = complete_offsets
        self._slices = slices
        self._delays = delays
        self._now_ms = now_ms
        self._coordinator_epoch = coordinator_epoch
        self._when_durable = when_durable
        self._leads = leads
        self._sending: dict[str, SlicedWork] = {}

    @property
    def count(self) -> int:
        """How many transactions have markers to be written."""
        return len(self._sending)

    def send(self, transaction: Transaction, completed: Callable[[Transaction], None]) -> None:
        """Write the markers of a prepared transaction that is stored, then call `completed`."""
        transactional_id = transaction.transactional_id
        self.clear([transactional_id])

        def sent(result: None) -> None:
            self._sending.pop(transactional_id, None)
            completed(transaction)

        work = self._slices.start(self._send(transaction), sent, self._failed)
        if work is not None:
            self._sending[transactional_id] = work

    def clear(self, transactional_ids: Iterable[str]) -> None:
        """Another node sends them, or they will be sent again from the beginning."""
        for transactional_id in transactional_ids:
            work = self._sending.pop(transactional_id, None)
            if work is not None:
                work.cancel()

    def _failed(self, problem: Exception) -> None:
        """A defect that is caught nowhere below; the log of the event loop has it."""
        raise problem

    def _send(self, transaction: Transaction) -> Steps[None]:
        """Write all markers, and try again those that cannot be written, until there is none left."""
        remaining = set(transaction.partitions)
        retry_ms = RETRY_MS_AT_FIRST
        while True:
            failures = yield from self._write_all(transaction, remaining)
            remaining = set(failures)
            if not remaining and self._when_durable is not None:
                yield from awaited(self._when_durable)
                # A marker in a log directory that has failed meanwhile is written again.
                remaining = {tp for tp in transaction.partitions if not self._leads(tp.topic, tp.partition)}
            if not remaining:
                return
            _log_failures(transaction, failures, retry_ms)
            yield from self._delays.until(self._now_ms() + retry_ms)
            retry_ms = min(retry_ms * 2, RETRY_MS_AT_MOST)

    def _write_all(
        self, transaction: Transaction, partitions: Iterable[TopicPartition]
    ) -> Steps[dict[TopicPartition, ErrorCode]]:
        """Write the marker to these partitions; returns those that still need it, and why."""
        marker = Marker(
            transaction.producer_id,
            transaction.epoch,
            transaction.state is PREPARE_COMMIT,
            self._coordinator_epoch,
            transaction.client_version,
        )
        of_groups = sorted(tp for tp in partitions if tp.topic == OFFSETS_TOPIC)
        group_marker = TransactionMarker(
            Producer(marker.producer_id, marker.producer_epoch), marker.committed, marker.coordinator_epoch
        )
        completed = awaited_all([partial(self._complete_offsets, tp.partition, group_marker) for tp in of_groups])
        errors: dict[TopicPartition, ErrorCode] = {}
        for tp in sorted(tp for tp in partitions if tp.topic != OFFSETS_TOPIC):
            errors[tp] = yield from self._write_one(tp, marker)
            yield
        errors.update(zip(of_groups, (yield from completed), strict=True))
        return {tp: error for tp, error in errors.items() if error not in SETTLED}

    def _write_one(self, tp: TopicPartition, marker: Marker) -> Steps[ErrorCode]:
        try:
            return (yield from self._write(tp.topic, tp.partition, marker))
        except Exception:
            logger.exception("unhandled exception while writing a marker", partition=f"{tp.topic}-{tp.partition}")
            return ErrorCode.UNKNOWN_SERVER_ERROR


def _log_failures(transaction: Transaction, failures: Mapping[TopicPartition, ErrorCode], retry_ms: int) -> None:
    """Report partitions whose marker cannot be written, at once or, if that often passes, after some seconds."""
    is_late, is_first = retry_ms == RETRY_MS_AT_MOST, retry_ms == RETRY_MS_AT_FIRST
    reported = {tp: error for tp, error in failures.items() if is_late or (is_first and error not in TRANSIENT)}
    if not reported:
        return
    (topic, partition), error = next(iter(reported.items()))
    logger.error(
        "cannot write the markers of a transaction, which does not end until then",
        transactional_id=transaction.transactional_id,
        partitions=len(reported),
        first=f"{topic}-{partition}",
        error=error.name,
        retry_ms=retry_ms,
    )
