"""Which records each event of a consumer group stores, in Kafka's order."""

from typing import Any, Final

from coordinator.core.consumer import records
from coordinator.core.consumer.conversion_events import GroupConverted, GroupDowngraded, GroupUpgraded
from coordinator.core.consumer.events import (
    ConsumerMemberAssigned,
    ConsumerMemberJoined,
    ConsumerMemberRemoved,
    ConsumerMemberReplaced,
    ConsumerMemberUpdated,
    GroupEpochBumped,
    PartitionMetadataRemoved,
    PatternForgotten,
    PatternsResolved,
    StaticMemberLeft,
    TargetAssignmentComputed,
)
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member_records import (
    current_record,
    epoch_record,
    removed_member_records,
    targets_records,
)
from coordinator.core.consumer.replay import RECORD_TYPES
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import EventRecords, KindRecords
from coordinator.core.stored import StoredRecord

Events = tuple[Event, ...]


def _member(
    event: ConsumerMemberJoined | ConsumerMemberUpdated, group: Group[Any] | None, events: Events
) -> list[StoredRecord]:
    return [records.member_record(event.group_id, event.member_id, event.metadata)]


def _replaced(event: ConsumerMemberReplaced, group: Group[Any], events: Events) -> list[StoredRecord]:
    removed = removed_member_records(event.group_id, event.old_member_id)
    return [*removed, *records.added_member_records(event.group_id, event.replacement(), event.target)]


def _removed(event: ConsumerMemberRemoved, group: Group[Any], events: Events) -> list[StoredRecord]:
    return removed_member_records(event.group_id, event.member_id)


def _current(
    event: ConsumerMemberAssigned | StaticMemberLeft, group: Group[Any] | None, events: Events
) -> list[StoredRecord]:
    return [current_record(event.group_id, event.member_id, event.current)]


def _forgotten(event: PatternForgotten, group: Group[Any], events: Events) -> list[StoredRecord]:
    return [records.pattern_tombstone(event.group_id, event.pattern)]


def _resolved(event: PatternsResolved, group: Group[Any], events: Events) -> list[StoredRecord]:
    return [records.pattern_record(event.group_id, pattern, resolved) for pattern, resolved in event.resolved.items()]


def _epoch(event: GroupEpochBumped, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [epoch_record(event.group_id, event.epoch, event.metadata_hash)]


def _partition_metadata(event: PartitionMetadataRemoved, group: Group[Any], events: Events) -> list[StoredRecord]:
    return [records.partition_metadata_tombstone(event.group_id)]


def _target(event: TargetAssignmentComputed, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    computed = records.target_epoch_record(event.group_id, event.epoch, event.at_ms)
    return [*targets_records(event.group_id, event.targets), computed]


def _converted(event: GroupConverted, group: Group[Any], events: Events) -> list[StoredRecord]:
    return [*group.kind.records.of_removal(group.membership), *event.kind.records.of_creation(event)]


def _upgraded(event: GroupUpgraded, group: Group[Any], events: Events) -> list[StoredRecord]:
    consumer = event.membership()
    return [*group.kind.records.of_removal(group.membership), *records.records_of_state(consumer)]


def _downgraded(event: GroupDowngraded, group: Group[ConsumerGroup], events: Events) -> list[StoredRecord]:
    """The tombstones are those of the group after a static member was replaced, as Kafka has it."""
    replaced = {event.old_member_id: event.member_id for event in events if isinstance(event, ConsumerMemberReplaced)}
    member_ids = [replaced.get(member_id, member_id) for member_id in group.membership.members]
    removed = records.records_of_removal(group.membership, member_ids)
    return [*removed, *event.kind.records.of_state(event.membership())]


RECORDS: Final = KindRecords(
    of_events={
        ConsumerMemberJoined: EventRecords(_member),
        ConsumerMemberUpdated: EventRecords(_member),
        ConsumerMemberReplaced: EventRecords(_replaced),
        ConsumerMemberRemoved: EventRecords(_removed),
        ConsumerMemberAssigned: EventRecords(_current),
        StaticMemberLeft: EventRecords(_current),
        PatternForgotten: EventRecords(_forgotten, stores_group=lambda event: event.was_resolved),
        PatternsResolved: EventRecords(_resolved, stores_group=lambda event: bool(event.resolved)),
        GroupEpochBumped: EventRecords(_epoch),
        PartitionMetadataRemoved: EventRecords(_partition_metadata),
        TargetAssignmentComputed: EventRecords(_target),
        GroupConverted: EventRecords(_converted),
        GroupUpgraded: EventRecords(_upgraded),
        GroupDowngraded: EventRecords(_downgraded),
    },
    of_creation=lambda event: [],
    stores_creation=False,
    of_state=records.records_of_state,
    of_removal=records.records_of_removal,
    types=RECORD_TYPES,
)
