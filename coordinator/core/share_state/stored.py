"""Events → records of `__share_group_state`, and records → states. The records are Kafka's own.

A snapshot has all that is known of a share partition; the updates after it have what has changed.
"""

from collections.abc import Container, Iterable
from typing import Final, Protocol

from _wire.embedded import decode_versioned, encode_versioned, prefix_of
from _wire.messages.share_snapshot_record import ShareSnapshotKey, ShareSnapshotValue
from _wire.messages.share_snapshot_record import StateBatch as SnapshotBatch
from _wire.messages.share_update_record import ShareUpdateKey, ShareUpdateValue
from _wire.messages.share_update_record import StateBatch as UpdateBatch
from coordinator.core.event import Event
from coordinator.core.share_state.batches import merged, packed, unpacked
from coordinator.core.share_state.events import SnapshotTaken, StateForgotten, StateUpdated
from coordinator.core.share_state.state import NO_EPOCH, SharePartition, ShareState, with_snapshot
from coordinator.core.share_states import BY_STRATEGY, StateBatch
from coordinator.core.stored_batch import StoredBatch

SNAPSHOT: Final = 0
UPDATE: Final = 1
VALUE_VERSION: Final = 0


class KeyOfRecord(Protocol):
    """The key of a record of either type."""

    group_id: str
    topic_id: bytes
    partition: int


class BatchOfRecord(Protocol):
    """A batch of a record of either type."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


def records_of(events: Iterable[Event]) -> list[StoredBatch]:
    """What to store for the events of a decision."""
    return [StoredBatch(None, [_record(event)]) for event in events]


def _record(event: Event) -> tuple[bytes, bytes | None]:
    if isinstance(event, StateForgotten):
        return snapshot_key(event.of), None
    if isinstance(event, SnapshotTaken):
        return snapshot_key(event.after.of), _snapshot(event.after)
    assert isinstance(event, StateUpdated), event
    of = event.after.of
    key = ShareUpdateKey(group_id=of.group_id, topic_id=of.topic_id, partition=of.partition)
    return encode_versioned(key, UPDATE), _update(event)


def snapshot_key(of: SharePartition) -> bytes:
    key = ShareSnapshotKey(group_id=of.group_id, topic_id=of.topic_id, partition=of.partition)
    return encode_versioned(key, SNAPSHOT)


def _snapshot(state: ShareState) -> bytes:
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=[
            SnapshotBatch(first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count)
            for first, last, delivery_state, count in unpacked(state.batches)
        ],
    )
    return encode_versioned(value, VALUE_VERSION)


def _update(event: StateUpdated) -> bytes:
    value = ShareUpdateValue(
        snapshot_epoch=event.after.snapshot_epoch,
        leader_epoch=event.after.leader_epoch,
        start_offset=event.start_offset,
        delivery_complete_count=event.after.delivery_complete_count,
        state_batches=[
            UpdateBatch(first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count)
            for first, last, delivery_state, count in unpacked(event.batches)
        ],
    )
    return encode_versioned(value, VALUE_VERSION)


class StoredStates:
    """The states of one partition of `__share_group_state`, as its records describe them."""

    def __init__(self, updates_per_snapshot: int, only: Container[str] | None = None) -> None:
        """`only` are the keys of the share partitions whose records count; None: all."""
        self._updates_per_snapshot = updates_per_snapshot
        self._only = only
        self.states: dict[str, ShareState] = {}

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Apply what was appended next. Keys of other types are skipped, and tombstones of updates, as on Kafka.

        Raises:
            MalformedMessage: a record cannot be read.
        """
        match prefix_of(key):
            case 0:
                of = _share_partition(decode_versioned(ShareSnapshotKey, key))
                if self._only is None or of.key in self._only:
                    self._apply_snapshot(of, value)
            case 1 if value is not None:
                of = _share_partition(decode_versioned(ShareUpdateKey, key))
                if self._only is None or of.key in self._only:
                    self._apply_update(of, decode_versioned(ShareUpdateValue, value))

    def _apply_snapshot(self, of: SharePartition, value: bytes | None) -> None:
        if value is None:
            self.states.pop(of.key, None)
            return
        read = decode_versioned(ShareSnapshotValue, value)
        snapshot = ShareState(
            of,
            read.snapshot_epoch,
            read.state_epoch,
            read.leader_epoch,
            read.start_offset,
            read.delivery_complete_count,
            _batches(read.state_batches),
            read.create_timestamp,
            read.write_timestamp,
        )
        self.states[of.key] = with_snapshot(self.states.get(of.key), snapshot, self._updates_per_snapshot)

    def _apply_update(self, of: SharePartition, read: ShareUpdateValue) -> None:
        state = self.states.get(of.key)
        if state is None:
            state = ShareState(of, read.snapshot_epoch, 0, read.leader_epoch)
        self.states[of.key] = updated(
            state, read.leader_epoch, read.start_offset, read.delivery_complete_count, _batches(read.state_batches)
        )


def updated(
    state: ShareState,
    leader_epoch: int,
    start_offset: int,
    delivery_complete_count: int,
    batches: bytes,
) -> ShareState:
    """The state after an update of it; the batches are packed."""
    start_offset = state.start_offset if start_offset == BY_STRATEGY else start_offset
    leader_epoch = state.leader_epoch if leader_epoch == NO_EPOCH else leader_epoch
    highest = state.highest_leader_epoch
    return ShareState(
        state.of,
        state.snapshot_epoch,
        state.state_epoch,
        leader_epoch,
        start_offset,
        delivery_complete_count,
        merged(state.batches, batches, start_offset),
        state.created_ms,
        state.written_ms,
        state.updates + 1,
        state.highest_state_epoch,
        highest if highest > leader_epoch else leader_epoch,
    )


def _share_partition(key: KeyOfRecord) -> SharePartition:
    return SharePartition(key.group_id, key.topic_id, key.partition)


def _batches(read: Iterable[BatchOfRecord]) -> bytes:
    return packed(
        StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count) for batch in read
    )
