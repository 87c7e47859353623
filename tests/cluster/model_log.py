"""Partitions of a cluster in memory, with the rules by which a Kafka broker refuses batches (`ProducerAppendInfo`)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from _wire.batches import batch_headers, set_batch_position
from _wire.errors import ErrorCode
from coordinator.cluster.log.access import (
    AppendAnswered,
    Appended,
    FetchAnswered,
    Fetched,
    IdentityGiven,
    ProducerIdentity,
    Refused,
    StartAnswered,
)

SEQUENCES: Final = 1 << 31


@dataclass(slots=True)
class Seen:
    """What a partition knows of a producer id."""

    epoch: int
    last_sequence: int
    last_offset: int


@dataclass
class ModelPartition:
    """One partition: its batches with their offsets, and the producers that it knows."""

    batches: list[tuple[int, bytes]] = field(default_factory=list)
    """Base offset and bytes."""
    producers: dict[int, Seen] = field(default_factory=dict)
    start_offset: int = 0
    end_offset: int = 0

    def append(self, batch: bytes) -> Appended | Refused:
        (header,) = batch_headers(batch)
        producer_id, epoch, sequence = header.producer_id, header.producer_epoch, header.base_sequence
        seen = self.producers.get(producer_id)
        if producer_id >= 0 and seen is not None:
            if epoch < seen.epoch:
                return Refused(ErrorCode.INVALID_PRODUCER_EPOCH, "INVALID_PRODUCER_EPOCH")
            if epoch == seen.epoch:
                if (sequence + header.record_count - 1) % SEQUENCES == seen.last_sequence:
                    return Appended(seen.last_offset - header.record_count + 1)
                if sequence != (seen.last_sequence + 1) % SEQUENCES:
                    return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "OUT_OF_ORDER_SEQUENCE_NUMBER")
            elif sequence != 0:
                return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "OUT_OF_ORDER_SEQUENCE_NUMBER")
        base_offset = self.end_offset
        placed = bytearray(batch)
        set_batch_position(placed, 0, base_offset, 0)
        self.batches.append((base_offset, bytes(placed)))
        self.end_offset += header.record_count
        if producer_id >= 0:
            last_sequence = (sequence + header.record_count - 1) % SEQUENCES
            self.producers[producer_id] = Seen(epoch, last_sequence, self.end_offset - 1)
        return Appended(base_offset)

    def read(self, offset: int, bytes_max: int) -> Fetched:
        data = b""
        for position, (_, batch) in enumerate(self.batches):
            is_last = position + 1 == len(self.batches)
            next_offset = self.end_offset if is_last else self.batches[position + 1][0]
            if next_offset <= offset or (data and len(data) + len(batch) > bytes_max):
                continue
            data += batch
        return Fetched(data, self.start_offset, self.end_offset)


class ModelCluster:
    """All partitions, and the epochs of transactional ids."""

    def __init__(self) -> None:
        self.partitions: dict[tuple[str, int], ModelPartition] = {}
        self._identities: dict[str, ProducerIdentity] = {}
        self._next_producer_id = 100

    def partition(self, topic: str, index: int) -> ModelPartition:
        return self.partitions.setdefault((topic, index), ModelPartition())

    def init_producer_id(self, transactional_id: str) -> ProducerIdentity:
        known = self._identities.get(transactional_id)
        if known is None:
            known = ProducerIdentity(self._next_producer_id, -1)
            self._next_producer_id += 1
        identity = self._identities[transactional_id] = ProducerIdentity(known.producer_id, known.producer_epoch + 1)
        return identity

    def knows(self, transactional_id: str) -> bool:
        return transactional_id in self._identities

    def forget_transactional_id(self, transactional_id: str) -> None:
        """As after `transactional.id.expiration.ms`: the next one gets another producer id."""
        del self._identities[transactional_id]


class ModelAccess:
    """The access of one node. `deliver` gets each call; by default it is made at once.

    A test may hold calls back, drop them, or make their answers late.
    """

    def __init__(self, cluster: ModelCluster, deliver: Callable[[Callable[[], None]], None] | None = None) -> None:
        self._cluster = cluster
        self._deliver = deliver or (lambda call: call())
        self._asked: dict[tuple[str, int], int] = {}
        """Partition → number of the last append; an earlier one is abandoned."""

    def init_producer_id(self, transactional_id: str, answered: IdentityGiven) -> None:
        self._deliver(lambda: answered(self._cluster.init_producer_id(transactional_id)))

    def append(self, topic: str, partition: int, batch: bytes, answered: AppendAnswered) -> None:
        number = self._asked[topic, partition] = self._asked.get((topic, partition), 0) + 1

        def append() -> None:
            result = self._cluster.partition(topic, partition).append(batch)
            if self._asked[topic, partition] == number:
                answered(result)

        self._deliver(append)

    def fetch(self, topic: str, partition: int, offset: int, bytes_max: int, answered: FetchAnswered) -> None:
        self._deliver(lambda: answered(self._cluster.partition(topic, partition).read(offset, bytes_max)))

    def log_start_offset(self, topic: str, partition: int, answered: StartAnswered) -> None:
        self._deliver(lambda: answered(self._cluster.partition(topic, partition).start_offset))

    def abandon(self, topic: str, partition: int) -> None:
        self._asked[topic, partition] = self._asked.get((topic, partition), 0) + 1
