"""The state of idempotent producers: each batch is appended once and in order (KIP-98, ProducerStateManager)."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from _wire.errors import ErrorCode
from _wire.records import BatchHeader
from coordinator.log.partition_log import PartitionLog

NO_PRODUCER_ID: Final = -1
BATCHES_REMEMBERED: Final = 5
"""A producer has at most five requests in flight, so it never retries an older batch (KIP-98)."""


@dataclass(frozen=True, slots=True)
class AppendedBatch:
    """A batch that is in the log."""

    base_sequence: int
    last_sequence: int
    base_offset: int


@dataclass(slots=True)
class ProducerState:
    """The epoch of one producer and the last batches that it wrote to one partition."""

    epoch: int
    batches: deque[AppendedBatch] = field(default_factory=lambda: deque(maxlen=BATCHES_REMEMBERED))


class ProducerStates:
    """The states of the producers of one partition."""

    def __init__(self, log: PartitionLog) -> None:
        """Restore the states from the log, which is the only record of what was appended before a restart.

        Raises:
            CorruptBatch: a batch of the log is damaged.
            OSError: the log cannot be read.
        """
        self._producers: dict[int, ProducerState] = {}
        for header, _ in log.batches(log.log_start_offset):
            self.update(header, header.base_offset)

    def check(self, batch: BatchHeader) -> ErrorCode | AppendedBatch:
        """Check the producer epoch and the sequence numbers of a batch before it is appended.

        Returns:
            NONE if the batch may be appended; the appended batch if this one is a duplicate of it;
            INVALID_PRODUCER_EPOCH for a fenced producer; OUT_OF_ORDER_SEQUENCE_NUMBER if a batch is missing before it.
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
        """Update the state of the producer after its batch was appended at `base_offset`."""
        if batch.producer_id == NO_PRODUCER_ID or batch.is_control:
            return
        producer = self._producers.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            producer = self._producers[batch.producer_id] = ProducerState(batch.producer_epoch)
        producer.batches.append(AppendedBatch(batch.base_sequence, batch.last_sequence, base_offset))
