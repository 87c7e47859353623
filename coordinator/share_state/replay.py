"""Reads the log of a shard of the share coordinator: a partition of `__share_group_state`.

Counterpart in Kafka: the loading of `CoordinatorRuntime`.
"""

from typing import Final

from _wire.records import parse_records
from coordinator.core.share_state.stored import StoredStates
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.slices import Steps
from coordinator.share_state.snapshot_offsets import SnapshotOffsets

REPLAYED_AT_ONCE: Final = 100
"""Records in one step of a load."""


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
