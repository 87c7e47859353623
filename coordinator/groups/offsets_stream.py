"""The log of the state of a shard of groups: a partition of `__consumer_offsets`."""

from collections.abc import Sequence
from typing import Final

from _wire.control_records import EndTxnMarker
from _wire.errors import MalformedMessage
from _wire.records import build_batch
from coordinator.core.kinds.batch_replay import BatchReplay
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.stored import Producer, Stored, StoredRecord, TransactionMarker
from coordinator.groups.offsets_batches import build_batches
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

    def build(self, records: list[Stored], at_ms: int) -> list[PrebuiltBatch]:
        """A batch for each of the stored; a transactional one has no sequence numbers, as on Kafka."""
        if self._compression == "none":
            return build_batches(records, self.log.log_end_offset, at_ms, self._leader_epoch, self._build_any)
        built: list[PrebuiltBatch] = []
        base_offset = self.log.log_end_offset
        for record in records:
            data = self._build_any(record, base_offset, at_ms)
            base_offset += 1 if isinstance(record, TransactionMarker) else len(record.records)
            built.append(PrebuiltBatch(data, base_offset - 1))
        return built

    def _build_any(self, stored: Stored, base_offset: int, at_ms: int) -> bytes:
        is_marker = isinstance(stored, TransactionMarker)
        records: Sequence[StoredRecord]
        if isinstance(stored, TransactionMarker):
            records = [EndTxnMarker(stored.committed, stored.coordinator_epoch).as_record()[:2]]
        else:
            records = stored.records
        producer = stored.producer
        producer_id, producer_epoch = NO_PRODUCER if producer is None else producer
        return build_batch(
            records,
            base_offset=base_offset,
            timestamp_ms=at_ms,
            compression="none" if is_marker else self._compression,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=producer is not None,
            is_control=is_marker,
            partition_leader_epoch=self._leader_epoch,
        )


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
