"""Events → records of `__consumer_offsets`, and back. The records are Kafka's own, so that its tools read them.

A restart replays them. Compaction may have taken any record that a later one with the same key replaces, so each
record is applied by itself and expects nothing before it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from _wire.embedded import decode_versioned, encode_versioned, prefix_of
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from coordinator.core.events import (
    Event,
    GenerationStable,
    GroupCreated,
    GroupEmptied,
    GroupRemoved,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsExpired,
    StaticMemberReplaced,
    TransactionalOffsetsCommitted,
)
from coordinator.core.group import Group, Member, Producer, Protocol, TopicPartition
from coordinator.core.offset_records import CommittedOffset, offset_records
from coordinator.core.states import EMPTY, STABLE

OFFSET_COMMIT_KEY_TYPE = 1
GROUP_METADATA_KEY_TYPE = 2
OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY = 1
"""The only version with an expire timestamp."""
GROUP_METADATA_VALUE_VERSION = 3
NO_TIMEOUT = -1
"""The rebalance timeout of members stored in version 0 of the value, which has no such field."""

StoredRecord = tuple[bytes, bytes | None]
"""Key and value; a null value is a tombstone."""


@dataclass(slots=True)
class StoredBatch:
    """Records that are appended together: a transaction's, or plain ones (`producer` is None)."""

    producer: Producer | None
    records: list[StoredRecord]


class TransactionMarker(NamedTuple):
    """The end of a transaction, told to every partition that it touched (KIP-98)."""

    producer: Producer
    committed: bool
    coordinator_epoch: int


Stored = StoredBatch | TransactionMarker


def records_of(event: Event, group: Group) -> list[StoredRecord]:
    """What to store for an event that was just applied to `group`."""
    make = RECORD_MAKERS.get(type(event))
    return [] if make is None else make(event, group)


def _positions(event: OffsetsCommitted | TransactionalOffsetsCommitted, group: Group) -> list[StoredRecord]:
    return offset_records(group.group_id, event.offsets)


def _forgotten_positions(event: OffsetsDeleted | OffsetsExpired, group: Group) -> list[StoredRecord]:
    return [(_offset_key(group, topic, partition), None) for topic, partition in event.partitions]


def _group_as_it_is(event: Event, group: Group) -> list[StoredRecord]:
    return [(_group_key(group), _group_value(group))]


def _group_with_replaced_member(event: StaticMemberReplaced, group: Group) -> list[StoredRecord]:
    """Where no generation follows that would be stored with the new member id."""
    return _group_as_it_is(event, group) if group.state is STABLE and group.trigger is None else []


def _group_tombstone(event: GroupRemoved, group: Group) -> list[StoredRecord]:
    return [(_group_key(group), None)]


RECORD_MAKERS: Final[dict[type, Callable[[Any, Group], list[StoredRecord]]]] = {
    OffsetsCommitted: _positions,
    TransactionalOffsetsCommitted: _positions,
    OffsetsDeleted: _forgotten_positions,
    OffsetsExpired: _forgotten_positions,
    GroupCreated: _group_as_it_is,
    GroupEmptied: _group_as_it_is,
    GenerationStable: _group_as_it_is,
    StaticMemberReplaced: _group_with_replaced_member,
    GroupRemoved: _group_tombstone,
}
"""By the class of the event; for the others there is nothing to store."""


def _group_key(group: Group) -> bytes:
    return encode_versioned(GroupMetadataKey(group=group.group_id), GROUP_METADATA_KEY_TYPE)


def _offset_key(group: Group, topic: str, partition: int) -> bytes:
    key = OffsetCommitKey(group=group.group_id, topic=topic, partition=partition)
    return encode_versioned(key, OFFSET_COMMIT_KEY_TYPE)


def _group_value(group: Group) -> bytes:
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader,
        current_state_timestamp=-1 if group.state_since_ms is None else group.state_since_ms,
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata_for(group.protocol_name),
                assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )
    return encode_versioned(value, GROUP_METADATA_VALUE_VERSION)


class StoredGroups:
    """The groups of one partition of `__consumer_offsets`, as its records tell them."""

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}

    def apply(self, stored: Stored) -> None:
        """Take what was appended next; record types this coordinator does not know are passed over, as on Kafka.

        What a transaction wrote is held back until its marker. Raises MalformedMessage when a known type cannot be
        read.
        """
        if isinstance(stored, TransactionMarker):
            self._end_transaction(stored.producer, stored.committed)
            return
        for key, value in stored.records:
            self._apply_record(key, value, stored.producer)

    def _apply_record(self, key: bytes, value: bytes | None, producer: Producer | None) -> None:
        key_type = prefix_of(key)
        if key_type in (0, OFFSET_COMMIT_KEY_TYPE):
            self._apply_offset(decode_versioned(OffsetCommitKey, key), value, producer)
        elif key_type == GROUP_METADATA_KEY_TYPE:
            self._apply_group(decode_versioned(GroupMetadataKey, key).group, value)

    def _end_transaction(self, producer: Producer, committed: bool) -> None:
        for group in self.groups.values():
            if group.pending_offsets:
                group.end_transaction(producer.producer_id, committed)

    def _apply_offset(self, key: OffsetCommitKey, value: bytes | None, producer: Producer | None) -> None:
        where = TopicPartition(key.topic, key.partition)
        if value is None:
            if key.group in self.groups:
                self.groups[key.group].remove_offset(where)
            return
        stored = decode_versioned(OffsetCommitValue, value)
        expires = prefix_of(value) == OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY and stored.expire_timestamp >= 0
        position = CommittedOffset(
            stored.offset,
            stored.leader_epoch,
            stored.metadata,
            stored.commit_timestamp,
            stored.expire_timestamp if expires else None,
        )
        group = self._group(key.group)
        if producer is None:
            group.put_offsets(where.topic, {where.partition: position})
        else:
            group.add_pending_offset(producer.producer_id, where, position)

    def _apply_group(self, group_id: str, value: bytes | None) -> None:
        if value is None:
            self.groups.pop(group_id, None)
            return
        loaded = load_group(group_id, decode_versioned(GroupMetadataValue, value))
        known = self._group(group_id)
        loaded.offsets, loaded.pending_offsets = known.offsets, known.pending_offsets
        self.groups[group_id] = loaded

    def _group(self, group_id: str) -> Group:
        if group_id not in self.groups:
            self.groups[group_id] = Group(group_id, exists=True)
        return self.groups[group_id]


def load_group(group_id: str, stored: GroupMetadataValue) -> Group:
    """The group that a metadata value describes: Stable with members, else Empty. Nobody waits, nobody owes a sync."""
    group = Group(
        group_id,
        exists=True,
        state=STABLE if stored.members else EMPTY,
        state_since_ms=None if stored.current_state_timestamp < 0 else stored.current_state_timestamp,
        generation_id=stored.generation,
        protocol_type=stored.protocol_type or None,
        protocol_name=stored.protocol,
    )
    for member in stored.members:
        protocols = (Protocol(stored.protocol or "", member.subscription),)
        rebalance_ms = member.session_timeout if member.rebalance_timeout == NO_TIMEOUT else member.rebalance_timeout
        group.add_member(
            Member(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                session_timeout_ms=member.session_timeout,
                rebalance_timeout_ms=rebalance_ms,
                protocols=protocols,
                assignment=member.assignment,
                is_new=False,
            )
        )
    group.leader = stored.leader
    group.keep_subscriptions(member.subscription for member in stored.members)
    return group
