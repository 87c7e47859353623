"""Decisions → records of `__consumer_offsets`, and records → groups. The records are Kafka's own.

Records are made before the events of a decision are applied, so that a decision that cannot be stored changes
nothing. A restart replays them. Compaction may have removed any record that a later one with the same key replaces, so
each record is applied independently of those before it.

Counterpart in Kafka: `GroupCoordinatorRecordHelpers` and the `replay` methods of `GroupMetadataManager` and
`OffsetMetadataManager`.
"""

from collections.abc import Container, Iterator
from typing import Any, Final

from _wire.embedded import prefix_of
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupCreated, GroupRemoved
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import EventRecords, RecordMaker, RecordType
from coordinator.core.kinds.table import KINDS, new_group
from coordinator.core.offsets.events import (
    OffsetsCommitted,
    OffsetsDeleted,
    TransactionalOffsetsCommitted,
)
from coordinator.core.offsets.records import (
    CommittedOffset,
    is_offset_key,
    offset_records,
    offset_tombstones,
    read_offset_record,
)
from coordinator.core.stored import Producer, Stored, StoredRecord, TransactionMarker
from coordinator.core.stored_batch import StoredBatch, batches_of
from coordinator.core.topic_partition import TopicPartition

OFFSETS_PER_STEP: Final = 500
"""Pending offsets that the replay of a marker completes in one step: 0.5 ms."""


def records_of(events: tuple[Event, ...], group: Group[Any] | None) -> list[StoredBatch]:
    """What to store for the events of a decision over `group`, which they have not been applied to yet.

    Raises:
        ValueError, OverflowError: a field that the record formats cannot hold.
    """
    return batches_of(events, RECORD_MAKERS, group, TransactionalOffsetsCommitted)


def _committed_offsets(
    event: OffsetsCommitted | TransactionalOffsetsCommitted, group: Group[Any] | None, events: tuple[Event, ...]
) -> list[StoredRecord]:
    return offset_records(event.group_id, event.offsets)


def _deleted_offsets(event: OffsetsDeleted, group: Group[Any], events: tuple[Event, ...]) -> list[StoredRecord]:
    return offset_tombstones(event.group_id, event.partitions)


def _created_group(event: GroupCreated, group: None, events: tuple[Event, ...]) -> list[StoredRecord]:
    return KINDS[event.kind].records.of_creation(event)


def _removed_group(event: GroupRemoved, group: Group[Any], events: tuple[Event, ...]) -> list[StoredRecord]:
    return group.kind.records.of_removal(group.membership)


EVENT_RECORDS: Final[dict[type, EventRecords]] = {
    OffsetsCommitted: EventRecords(_committed_offsets, stores_group=False),
    TransactionalOffsetsCommitted: EventRecords(_committed_offsets, stores_group=False),
    OffsetsDeleted: EventRecords(_deleted_offsets, stores_group=False),
    GroupCreated: EventRecords(_created_group, lambda event: KINDS[event.kind].records.stores_creation),
    GroupRemoved: EventRecords(_removed_group, stores_group=False),
} | {event: records for kind in KINDS.values() for event, records in kind.records.of_events.items()}
"""Class of event → its records; other events are not stored. This table alone says what is stored."""

RECORD_MAKERS: Final[dict[type, RecordMaker]] = {
    event: event_record.make for event, event_record in EVENT_RECORDS.items()
}

RECORD_TYPES: Final[dict[int, tuple[str, RecordType]]] = {
    type_.key_type: (kind.name, type_) for kind in KINDS.values() for type_ in kind.records.types
}
"""Type of key → the kind of group that is stored in such records, and how they are replayed."""


def stores_group(event: Event) -> bool:
    """Whether the records of an event describe the whole group as the event leaves it."""
    row = EVENT_RECORDS.get(type(event))
    if row is None:
        return False
    return row.stores_group(event) if callable(row.stores_group) else row.stores_group


def is_group_key(key: bytes) -> bool:
    """Whether it is the key of a record of a group itself, not of an offset."""
    return prefix_of(key) in RECORD_TYPES


class StoredGroups:
    """The groups of one partition of `__consumer_offsets`, as its records describe them."""

    def __init__(self, only: Container[str] | None = None) -> None:
        """`only` are the groups whose records count; None: those of all."""
        self.groups: dict[str, Group[Any]] = {}
        self._only = only
        self._undecoded: dict[str, tuple[bytes, bytes]] = {}
        """Group id → the last record that `replay_record` got and that describes the whole group."""
        self._in_transaction: dict[int, dict[str, None]] = {}
        """Producer id → ids of the groups that had offsets pending in its transaction."""

    def apply(self, stored: Stored) -> None:
        """Apply what was appended next; see `apply_record` and `end_transaction`."""
        if isinstance(stored, TransactionMarker):
            for _ in self.end_transaction(stored.producer, stored.committed):
                continue
            return
        for key, value in stored.records:
            self.apply_record(key, value, stored.producer)

    def apply_record(self, key: bytes, value: bytes | None, producer: Producer | None) -> bool:
        """Apply the record that was appended next; those of types that this coordinator does not know are skipped.

        What a transaction wrote, which has a `producer`, is pending until the transaction ends.

        Returns whether a dict that `offsets_of_topic` returned before may not be used any more.

        Raises:
            MalformedMessage: a record of a known type cannot be read.
        """
        if is_offset_key(key):
            return self._apply_offset(key, value, producer)
        if is_group_key(key):
            self._apply_group_record(key, value)
        return False

    def replay_record(self, key: bytes, value: bytes | None, producer: Producer | None) -> bool:
        """As `apply_record`, but a value that describes a whole group is only kept: `decode_groups` decodes the last.

        A log has the metadata of all generations until it is compacted, and those of a large group are large. That of
        an earlier generation is neither decoded nor checked.
        """
        if value is None or not is_group_key(key):
            return self.apply_record(key, value, producer)
        _, record_type = RECORD_TYPES[prefix_of(key)]
        if not record_type.is_whole:
            return self.apply_record(key, value, producer)
        group_id = record_type.group_id_of(key)
        if self._only is None or group_id in self._only:
            self._group(group_id)
            self._undecoded[group_id] = key, value
        return False

    def decode_groups(self) -> Iterator[None]:
        """Decode what `replay_record` has kept, a group in each step.

        Raises:
            MalformedMessage: the metadata of a group cannot be read.
        """
        while self._undecoded:
            _, (key, value) = self._undecoded.popitem()
            self._apply_group_record(key, value)
            yield

    def end_transaction(self, producer: Producer, committed: bool) -> Iterator[int]:
        """Apply the marker of a transaction, in steps; each yields how many offsets it completed.

        Nothing else may be applied before the last one.
        """
        producer_id = producer.producer_id
        for group_id in self._in_transaction.pop(producer_id, ()):
            # A group that was removed meanwhile, and perhaps made again, has none of them.
            while (group := self.groups.get(group_id)) is not None and (count := group.offsets.pending_of(producer_id)):
                group.offsets.complete_transaction(producer_id, committed, OFFSETS_PER_STEP)
                yield min(count, OFFSETS_PER_STEP)

    def offsets_of_topic(self, key: bytes) -> tuple[dict[int, CommittedOffset] | None, bool]:
        """The committed offsets, by partition, of the group and topic in the key of an offset; made if necessary.

        None if the group does not count. The second is False if a new offset changes more than this dict: while a
        transaction has offsets pending, it also changes those.
        """
        group_id, topic, _, _ = read_offset_record(key, None)
        if self._only is not None and group_id not in self._only:
            return None, True
        offsets = self._group(group_id).offsets
        return offsets.by_topic.setdefault(topic, {}), offsets.pending is None

    def _apply_offset(self, key: bytes, value: bytes | None, producer: Producer | None) -> bool:
        group_id, topic, partition, offset = read_offset_record(key, value)
        if self._only is not None and group_id not in self._only:
            return False
        if offset is None:
            if group_id in self.groups:
                self.groups[group_id].offsets.remove(TopicPartition(topic, partition))
        elif producer is None:
            self._group(group_id).offsets.put(topic, {partition: offset})
        else:
            offsets = self._group(group_id).offsets
            offsets.put_pending(producer.producer_id, topic, {partition: offset})
            self._in_transaction.setdefault(producer.producer_id, {})[group_id] = None
        return offset is None or producer is not None

    def _apply_group_record(self, key: bytes, value: bytes | None) -> None:
        kind_name, record_type = RECORD_TYPES[prefix_of(key)]
        group_id = record_type.group_id_of(key)
        if self._only is not None and group_id not in self._only:
            return
        if record_type.is_whole:
            self._undecoded.pop(group_id, None)
        group = self.groups.get(group_id)
        membership = record_type.replay(None if group is None else group.membership, key, value)
        if membership is None:
            self._remove_group(group_id)
            return
        if group is None:
            group = self._group(group_id)
        if membership is not group.membership:
            group.kind, group.membership = KINDS[kind_name], membership

    def _remove_group(self, group_id: str) -> None:
        """Offsets have tombstones of their own: what is left belongs to the group of another kind that follows."""
        group = self.groups.pop(group_id, None)
        if group is not None and (group.offsets.by_topic or group.offsets.pending is not None):
            self._group(group_id).offsets = group.offsets

    def _group(self, group_id: str) -> Group[Any]:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = new_group(group_id)
        return group
