"""Decisions → records of `__consumer_offsets`, and records → groups. The records are Kafka's own.

Records are made before the events of a decision are applied, so that a decision that cannot be stored changes
nothing. A restart replays them. Compaction may have removed any record that a later one with the same key replaces, so
each record is applied independently of those before it.

Counterpart in Kafka: `GroupCoordinatorRecordHelpers` and the `replay` methods of `GroupMetadataManager` and
`OffsetMetadataManager`.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, Final

from _wire.embedded import decode_versioned, encode_versioned, prefix_of
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from coordinator.core.classic.events import (
    GenerationStable,
    GroupCreated,
    GroupEmptied,
    GroupRemoved,
    MemberAssigned,
    StaticMemberReplaced,
)
from coordinator.core.classic.group import ClassicGroup, Member, Protocol
from coordinator.core.classic.states import EMPTY, STABLE
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
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
from coordinator.core.stored_batch import StoredBatch
from coordinator.core.topic_partition import TopicPartition

GROUP_METADATA_KEY_TYPE = 2
GROUP_METADATA_VALUE_VERSION = 3
NO_TIMEOUT = -1
"""The rebalance timeout of members stored in version 0 of the value, which has no such field."""
OFFSETS_PER_STEP: Final = 500
"""Pending offsets that the replay of a marker completes in one step: 0.5 ms."""


def records_of(events: tuple[Event, ...], group: Group | None) -> list[StoredBatch]:
    """What to store for the events of a decision over `group`, which they have not been applied to yet.

    Raises:
        ValueError, OverflowError: a field that the record formats cannot hold.
    """
    batches: list[StoredBatch] = []
    for event in events:
        make = RECORD_MAKERS.get(type(event))
        if make is None:
            continue
        records = make(event, group, events)
        if not records:
            continue
        producer = event.producer if isinstance(event, TransactionalOffsetsCommitted) else None
        if batches and batches[-1].producer == producer:
            batches[-1].extend(records)
        else:
            batches.append(StoredBatch(producer, records))
    return batches


def _committed_offsets(
    event: OffsetsCommitted | TransactionalOffsetsCommitted, group: Group | None, events: tuple[Event, ...]
) -> list[StoredRecord]:
    return offset_records(event.group_id, event.offsets)


def _deleted_offsets(event: OffsetsDeleted, group: Group, events: tuple[Event, ...]) -> list[StoredRecord]:
    return offset_tombstones(event.group_id, event.partitions)


def _created_group(event: GroupCreated, group: Group | None, events: tuple[Event, ...]) -> list[StoredRecord]:
    value = GroupMetadataValue(protocol_type="", protocol=None, leader=None, current_state_timestamp=event.at_ms)
    return [_group_record(event.group_id, value)]


def _emptied_group(event: GroupEmptied, group: Group, events: tuple[Event, ...]) -> list[StoredRecord]:
    value = GroupMetadataValue(
        protocol_type=group.classic.protocol_type or "",
        generation=event.generation_id,
        protocol=None,
        leader=None,
        current_state_timestamp=event.at_ms,
    )
    return [_group_record(event.group_id, value)]


def _stable_generation(event: GenerationStable, group: Group, events: tuple[Event, ...]) -> list[StoredRecord]:
    assignments = {each.member_id: each.assignment for each in events if isinstance(each, MemberAssigned)}
    members = group.classic.members.values()
    value = _generation_value(group.classic, members, group.classic.leader, assignments)
    value.current_state_timestamp = event.at_ms
    return [_group_record(event.group_id, value)]


def _replaced_member(event: StaticMemberReplaced, group: Group, events: tuple[Event, ...]) -> list[StoredRecord]:
    """Store the group now only if no rebalance follows: a rebalance stores the new member id itself."""
    if event.request_id is not None:
        return []
    classic = group.classic
    old = classic.members[event.old_member_id]
    members = [member for member in classic.members.values() if member is not old]
    leader = event.new_member_id if classic.leader == old.member_id else classic.leader
    value = _generation_value(classic, [*members, event.replacement(old)], leader, {})
    return [_group_record(event.group_id, value)]


def _group_tombstone(event: GroupRemoved, group: Group, events: tuple[Event, ...]) -> list[StoredRecord]:
    return [(_group_key(event.group_id), None)]


RECORD_MAKERS: Final[dict[type, Callable[[Any, Any, tuple[Event, ...]], list[StoredRecord]]]] = {
    OffsetsCommitted: _committed_offsets,
    TransactionalOffsetsCommitted: _committed_offsets,
    OffsetsDeleted: _deleted_offsets,
    GroupCreated: _created_group,
    GroupEmptied: _emptied_group,
    GenerationStable: _stable_generation,
    StaticMemberReplaced: _replaced_member,
    GroupRemoved: _group_tombstone,
}
"""By the class of the event: (event, group before the decision, all events of the decision) → records."""


def _group_key(group_id: str) -> bytes:
    return encode_versioned(GroupMetadataKey(group=group_id), GROUP_METADATA_KEY_TYPE)


def is_group_key(key: bytes) -> bool:
    """Whether it is the key of a record of a group itself, not of an offset."""
    return prefix_of(key) == GROUP_METADATA_KEY_TYPE


def _group_record(group_id: str, value: GroupMetadataValue) -> StoredRecord:
    return _group_key(group_id), encode_versioned(value, GROUP_METADATA_VALUE_VERSION)


def group_record(group: ClassicGroup) -> StoredRecord:
    """The record of the current state of a group; a load restores it, except for waiting requests."""
    value = _generation_value(group, group.members.values(), group.leader, {})
    return _group_record(group.group_id, value)


def _generation_value(
    group: ClassicGroup, members: Iterable[Member], leader: str | None, assignments: dict[str, bytes]
) -> GroupMetadataValue:
    """`assignments` are those that the members do not have yet."""
    return GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=leader,
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
                assignment=assignments.get(member.member_id, member.assignment),
            )
            for member in members
        ],
    )


class StoredGroups:
    """The groups of one partition of `__consumer_offsets`, as its records describe them."""

    def __init__(self, only: Container[str] | None = None) -> None:
        """`only` are the groups whose records count; None: those of all."""
        self.groups: dict[str, Group] = {}
        self._only = only
        self._undecoded: dict[str, bytes] = {}
        """Group id → the value of its last record that `replay_record` got."""
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
            group_id = decode_versioned(GroupMetadataKey, key).group
            if self._only is None or group_id in self._only:
                return self._apply_group(group_id, value)
        return False

    def replay_record(self, key: bytes, value: bytes | None, producer: Producer | None) -> bool:
        """As `apply_record`, but the metadata of a group is only kept: `decode_groups` decodes the last one of each.

        A log has the metadata of all generations until it is compacted, and those of a large group are large. That of
        an earlier generation is neither decoded nor checked.
        """
        if not is_group_key(key):
            return self.apply_record(key, value, producer)
        group_id = decode_versioned(GroupMetadataKey, key).group
        if self._only is not None and group_id not in self._only:
            return False
        if value is None:
            return self._apply_group(group_id, None)
        self._group(group_id)
        self._undecoded[group_id] = value
        return False

    def decode_groups(self) -> Iterator[None]:
        """Decode what `replay_record` has kept, a group in each step.

        Raises:
            MalformedMessage: the metadata of a group cannot be read.
        """
        while self._undecoded:
            group_id, value = self._undecoded.popitem()
            self._apply_group(group_id, value)
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

    def _apply_group(self, group_id: str, value: bytes | None) -> bool:
        self._undecoded.pop(group_id, None)
        if value is None:
            return self.groups.pop(group_id, None) is not None
        self._group(group_id).classic = load_group(group_id, decode_versioned(GroupMetadataValue, value))
        return False

    def _group(self, group_id: str) -> Group:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = Group(group_id)
        return group


def load_group(group_id: str, stored: GroupMetadataValue) -> ClassicGroup:
    """The group that a metadata value describes: Stable with members, else Empty. No request waits."""
    group = ClassicGroup(
        group_id,
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
