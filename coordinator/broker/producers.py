"""The state of idempotent producers: each batch is appended once and in order (KIP-98, ProducerStateManager)."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from _wire.errors import ErrorCode
from _wire.records import BatchHeader
from coordinator.config import PRODUCER_ID_EXPIRATION_MS, PRODUCER_IDS_PER_PARTITION_MAX, Config

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
BATCHES_REMEMBERED: Final = 5
"""A producer has at most five requests in flight, so it never retries an older batch (KIP-98)."""


def has_producer_id(batch: BatchHeader) -> bool:
    """Whether an idempotent producer wrote the batch. As in Kafka, no negative id is one."""
    return batch.producer_id > NO_PRODUCER_ID


@dataclass(frozen=True, slots=True)
class ProducerLimits:
    """How many producers one partition remembers, and how long in ms after the last timestamp of their batches."""

    expiration_ms: int
    producers_max: int

    @classmethod
    def of(cls, config: Config) -> "ProducerLimits":
        return cls(config[PRODUCER_ID_EXPIRATION_MS], config[PRODUCER_IDS_PER_PARTITION_MAX])


@dataclass(frozen=True, slots=True)
class AppendedBatch:
    """A batch that is in the log."""

    base_sequence: int
    last_sequence: int
    base_offset: int


@dataclass(slots=True)
class ProducerState:
    """The epoch of one producer, the greatest timestamp of its last batch, and its last batches, oldest first."""

    epoch: int
    last_timestamp_ms: int
    batches: tuple[AppendedBatch, ...]


class ProducerStates:
    """The states of the producers of one partition."""

    def __init__(self, limits: ProducerLimits, appended: Iterable[BatchHeader]) -> None:
        """Restore the states from the batches of a log, which hold all that was appended before a restart.

        Expired producers are among them, until the next `remove_expired`, as when Kafka replays a log.
        """
        self._limits = limits
        # In the order in which they last wrote.
        self._producers: OrderedDict[int, ProducerState] = OrderedDict()
        for header in appended:
            self.update(header, header.base_offset)

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, batch: BatchHeader) -> ErrorCode | AppendedBatch:
        """Check the producer epoch and the sequence numbers of a batch before it is appended.

        Of a producer that is not known any sequence is accepted: its state may have expired.

        Returns:
            NONE if the batch may be appended; the appended batch if this one is a duplicate of it;
            INVALID_PRODUCER_EPOCH for a fenced producer; OUT_OF_ORDER_SEQUENCE_NUMBER if a batch is missing before it.
        """
        producer = self._producers.get(batch.producer_id)
        epoch = NO_PRODUCER_EPOCH if producer is None else producer.epoch
        if batch.producer_epoch < epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if producer is None:
            return ErrorCode.NONE
        if batch.producer_epoch > epoch:
            is_first = batch.base_sequence == 0 or epoch == NO_PRODUCER_EPOCH
            return ErrorCode.NONE if is_first else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        for appended in producer.batches:
            if (appended.base_sequence, appended.last_sequence) == (batch.base_sequence, batch.last_sequence):
                return appended
        last = producer.batches[-1].last_sequence
        in_order = batch.base_sequence == (last + 1) & 0x7FFFFFFF
        return ErrorCode.NONE if in_order else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def update(self, batch: BatchHeader, base_offset: int) -> None:
        """Update the state of the producer after its batch was appended at `base_offset`.

        If there are more producers than are allowed, forget the one that has not written for the longest time.
        """
        if not has_producer_id(batch) or batch.is_control:
            return
        appended = AppendedBatch(batch.base_sequence, batch.last_sequence, base_offset)
        producer = self._producers.get(batch.producer_id)
        if producer is None or producer.epoch != batch.producer_epoch:
            self._producers[batch.producer_id] = ProducerState(
                batch.producer_epoch, batch.max_timestamp_ms, (appended,)
            )
        else:
            producer.last_timestamp_ms = batch.max_timestamp_ms
            producer.batches = (*producer.batches[1 - BATCHES_REMEMBERED :], appended)
        self._producers.move_to_end(batch.producer_id)
        if len(self._producers) > self._limits.producers_max:
            self._producers.popitem(last=False)

    def remove_expired(self, now_ms: int) -> None:
        """Forget the producers whose last batch has a timestamp of `expiration_ms` ago or earlier."""
        latest_ms = now_ms - self._limits.expiration_ms
        for producer_id in [
            producer_id for producer_id, state in self._producers.items() if state.last_timestamp_ms <= latest_ms
        ]:
            del self._producers[producer_id]
