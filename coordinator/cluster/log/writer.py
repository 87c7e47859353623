"""The batches that a node writes to a partition of its log: plain idempotent ones, of a producer epoch that fences.

A broker compares the epoch of each batch with the highest that the partition has seen of the producer id
(`ProducerAppendInfo` in Kafka). So a node that has written a batch with a new epoch is the only one from there on.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from _wire.batch_builder import build_batch
from coordinator.cluster.log.access import ProducerIdentity

SEQUENCE_MAX: Final = (1 << 31) - 1


class Built(msgspec.Struct, frozen=True):
    """A record batch, and the number of its records."""

    data: bytes
    record_count: int


class PartitionWriter:
    """Builds the batches of one partition, from sequence number 0 on."""

    def __init__(self, identity: ProducerIdentity) -> None:
        self.identity: Final = identity
        self._next_sequence = 0

    def build(self, records: Sequence[Any], at_ms: int, bytes_max: int, compression: str = "none") -> Iterator[Built]:
        """The records in as few batches as fit into `bytes_max` by halving; a single record may be larger.

        `at_ms` is the time of the records, in ms since the epoch. Each batch has to be appended before the next one is
        built.
        """
        batch = build_batch(
            records,
            base_offset=0,
            timestamp_ms=at_ms,
            compression=compression,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.producer_epoch,
            base_sequence=self._next_sequence,
        )
        if len(batch) > bytes_max and len(records) > 1:
            half = len(records) // 2
            yield from self.build(records[:half], at_ms, bytes_max, compression)
            yield from self.build(records[half:], at_ms, bytes_max, compression)
            return
        self._next_sequence = (self._next_sequence + len(records)) & SEQUENCE_MAX
        yield Built(batch, len(records))
