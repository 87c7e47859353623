"""Idempotent producers: each batch once and in order (KIP-98)."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from _wire.errors import ErrorCode
from _wire.records import BatchHeader
from coordinator.log.partition_log import PartitionLog

NO_PRODUCER_ID: Final = -1
BATCHES_REMEMBERED: Final = 5
"""A producer has at most five requests in flight, so an older batch cannot come again (KIP-98)."""


@dataclass(frozen=True, slots=True)
class AppendedBatch:
    """A batch that is in the log already."""

    base_sequence: int
    last_sequence: int
    base_offset: int


@dataclass(slots=True)
class ProducerState:
    """What one producer wrote last to one partition."""

    epoch: int
    batches: deque[AppendedBatch] = field(default_factory=lambda: deque(maxlen=BATCHES_REMEMBERED))


class ProducerStates:
    """The producers of one partition."""

    def __init__(self, log: PartitionLog) -> None:
        """Read what is in the log: it alone says what was taken before a restart.

        Raises:
            CorruptBatch, OSError: as PartitionLog.batches.
        """
        self._producers: dict[int, ProducerState] = {}
        for header, _ in log.batches(log.log_start_offset):
            self.update(header, header.base_offset)

    def check(self, batch: BatchHeader) -> ErrorCode | AppendedBatch:
        """NONE to append it, the batch in the log when it is there already, or the error that keeps it out.

        INVALID_PRODUCER_EPOCH for a fenced producer, OUT_OF_ORDER_SEQUENCE_NUMBER when a batch is missing before it.
        """
        producer = self._producers.get(batch.producer_id)
        if batch.producer_id == NO_PRODUCER_ID or producer is None:
            return ErrorCode.NONE
        if batch.producer_epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if batch.producer_epoch > producer.epoch:
            return ErrorCode.NONE if batch.base_sequence == 0 else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        for appended in producer.batches:
            if (appended.base_sequence, appended.last_sequence) == (batch.base_sequence, batch.last_sequence):
                return appended
        last = producer.batches[-1].last_sequence
        in_order = batch.base_sequence == (last + 1) & 0x7FFFFFFF
        return ErrorCode.NONE if in_order else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def update(self, batch: BatchHeader, base_offset: int) -> None:
        """The batch was appended at `base_offset`."""
        if batch.producer_id == NO_PRODUCER_ID or batch.is_control:
            return
        producer = self._producers.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            producer = self._producers[batch.producer_id] = ProducerState(batch.producer_epoch)
        producer.batches.append(AppendedBatch(batch.base_sequence, batch.last_sequence, base_offset))
