"""The log of a shard of the share coordinator: a partition of `__share_group_state`.

Counterpart in Kafka: `ShareCoordinatorOffsetsManager`, and the appends and the loading of `CoordinatorRuntime`.
"""

from collections.abc import Sequence
from typing import Final

from _wire.embedded import prefix_of
from _wire.records import build_batch, parse_records
from coordinator.core.share_state.stored import SNAPSHOT, StoredStates
from coordinator.core.stored import Stored
from coordinator.core.stored_batch import StoredBatch
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.runtime.slices import Steps

REPLAYED_AT_ONCE: Final = 100
"""Records in one step of a load."""


class SnapshotOffsets:
    """Where the last snapshot of each share partition lies: the records before the first of them are not needed."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, int] = {}
        self._last_tombstone = 0

    def add(self, offset: int, key: bytes, value: bytes | None) -> None:
        """A record was appended next, or read."""
        if prefix_of(key) != SNAPSHOT:
            return
        if value is None:
            self._by_key.pop(key, None)
            self._last_tombstone = offset
        else:
            self._by_key[key] = offset

    @property
    def oldest_needed(self) -> int:
        """The offset before which nothing is needed; without a share partition, that of the last tombstone."""
        return min(self._by_key.values(), default=self._last_tombstone)

    def clear(self) -> None:
        self._by_key.clear()
        self._last_tombstone = 0


class ShareStateStream:
    """Makes batches of the records of states, and knows where the snapshots lie."""

    def __init__(self, log: PartitionLog, leader_epoch: int) -> None:
        self.log = log
        self.snapshots = SnapshotOffsets()
        self._leader_epoch = leader_epoch

    def build(self, records: Sequence[Stored], at_ms: int) -> list[PrebuiltBatch]:
        """A batch for each of the stored."""
        built: list[PrebuiltBatch] = []
        offset = self.log.log_end_offset
        for stored in records:
            assert isinstance(stored, StoredBatch), stored
            data = build_batch(
                stored.records, base_offset=offset, timestamp_ms=at_ms, partition_leader_epoch=self._leader_epoch
            )
            for key, value in stored.records:
                self.snapshots.add(offset, key, value)
                offset += 1
            built.append(PrebuiltBatch(data, offset - 1))
        return built


class ShareStateReplay:
    """Applies batches to the states that they are about."""

    def __init__(self, states: StoredStates, snapshots: SnapshotOffsets | None = None) -> None:
        """`snapshots` gets to know where the snapshots lie, if all is read."""
        self._states = states
        self._snapshots = snapshots

    def read(self, log: PartitionLog, from_offset: int, load_bytes: int) -> Steps[None]:
        for header, data in log.batches(from_offset, load_bytes):
            if header.is_control:
                continue
            for number, record in enumerate(parse_records(data)):
                key = record.key or b""
                self._states.apply(key, record.value)
                if self._snapshots is not None:
                    self._snapshots.add(record.offset, key, record.value)
                if number % REPLAYED_AT_ONCE == REPLAYED_AT_ONCE - 1:
                    yield
            yield
