"""The log of the state of a shard of groups: a partition of `__consumer_offsets`."""

from collections.abc import Sequence
from typing import Final

from _wire.control_records import EndTxnMarker
from _wire.errors import MalformedMessage
from _wire.records import build_batch
from coordinator.core.kinds.batch_replay import BatchReplay
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored import Producer, Stored, StoredRecord, TransactionMarker
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.runtime.interfaces import ReplayedLog, StoreError
from coordinator.runtime.slices import Steps

NO_PRODUCER: Final = Producer(-1, -1)

REPLAYED_AT_ONCE: Final = 500
"""Records in one step of a replay: 0.2 ms if they are committed offsets."""


class OffsetsStream:
    """Makes batches of the records of groups and of the markers of transactions."""

    def __init__(self, log: PartitionLog, leader_epoch: int, compression: str = "none") -> None:
        """`compression` is the name of a codec in `_wire/compression.py`."""
        self.log = log
        self._leader_epoch = leader_epoch
        self._compression = compression

    def build(self, records: Sequence[Stored], at_ms: int) -> list[PrebuiltBatch]:
        """A batch for each of the stored; a transactional one has no sequence numbers, as on Kafka."""
        built: list[PrebuiltBatch] = []
        base_offset = self.log.log_end_offset
        batch_records: Sequence[StoredRecord]
        for record in records:
            is_marker, compression = False, self._compression
            if isinstance(record, TransactionMarker):
                is_marker = True
                batch_records, compression = (
                    [EndTxnMarker(record.committed, record.coordinator_epoch).as_record()[:2]],
                    "none",
                )
            else:
                batch_records = record.records
            producer = record.producer
            producer_id, producer_epoch = NO_PRODUCER if producer is None else producer
            data = build_batch(
                batch_records,
                base_offset=base_offset,
                timestamp_ms=at_ms,
                compression=compression,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                is_transactional=producer is not None,
                is_control=is_marker,
                partition_leader_epoch=self._leader_epoch,
            )
            base_offset += len(batch_records)
            built.append(PrebuiltBatch(data, base_offset - 1))
        return built


class GroupReplay:
    """Applies batches and markers to the groups that they are about."""

    def __init__(self, groups: StoredGroups) -> None:
        self._groups = groups

    def read(self, log: ReplayedLog, from_offset: int, load_bytes: int) -> Steps[None]:
        """A step is some hundred records, the read of `load_bytes`, or the metadata of a group.

        Raises:
            StoreError: the log cannot be read.
        """
        offset = from_offset
        replay = BatchReplay(self._groups)
        try:
            while offset < log.log_end_offset:
                data = yield from log.read_steps(offset, load_bytes)
                replay.open(data, log.log_end_offset)
                yield
                while replay.step(REPLAYED_AT_ONCE):
                    yield
                if replay.next_offset <= offset:
                    raise StoreError("there is no batch")
                offset = replay.next_offset
            yield from self._groups.decode_groups()
        except (OSError, MalformedMessage) as problem:
            raise StoreError(f"{log.name}, records from offset {replay.next_offset} on: {problem}") from problem
