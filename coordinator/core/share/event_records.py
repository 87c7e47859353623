"""Which records each event of a share group stores, in Kafka's order."""

from typing import Any, Final

from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import EventRecords, KindRecords
from coordinator.core.share import records
from coordinator.core.share.events import (
    ShareGroupEpochBumped,
    ShareInitializationFailed,
    ShareMemberAssigned,
    ShareMemberJoined,
    ShareMemberRemoved,
    ShareMemberUpdated,
    SharePartitionsInitialized,
    SharePartitionsInitializing,
    ShareStatesDeleted,
    ShareStatesDeleting,
    ShareTargetComputed,
    ShareTopicsForgotten,
)
from coordinator.core.share.replay import RECORD_TYPES
from coordinator.core.stored import StoredRecord

Events = tuple[Event, ...]
OfStates = (
    SharePartitionsInitializing
    | SharePartitionsInitialized
    | ShareInitializationFailed
    | ShareStatesDeleting
    | ShareStatesDeleted
    | ShareTopicsForgotten
)


def _member(
    event: ShareMemberJoined | ShareMemberUpdated, group: Group[Any] | None, events: Events
) -> list[StoredRecord]:
    return [records.member_record(event.group_id, event.member_id, event.metadata)]


def _removed(event: ShareMemberRemoved, group: Group[Any], events: Events) -> list[StoredRecord]:
    return records.removed_member_records(event.group_id, event.member_id)


def _epoch(event: ShareGroupEpochBumped, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [records.epoch_record(event.group_id, event.epoch, event.metadata_hash)]


def _target(event: ShareTargetComputed, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    targets = [records.target_record(event.group_id, member_id, target) for member_id, target in event.targets.items()]
    return [*targets, records.target_epoch_record(event.group_id, event.epoch, event.at_ms)]


def _current(event: ShareMemberAssigned, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [records.current_record(event.group_id, event.member_id, event.current)]


def _states(event: OfStates, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [records.states_record(event.group_id, event.states)]


def _initializing(event: SharePartitionsInitializing, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [] if event.is_repeated else _states(event, group, events)


RECORDS: Final = KindRecords(
    of_events={
        ShareMemberJoined: EventRecords(_member),
        ShareMemberUpdated: EventRecords(_member),
        ShareMemberRemoved: EventRecords(_removed),
        ShareGroupEpochBumped: EventRecords(_epoch),
        ShareTargetComputed: EventRecords(_target),
        ShareMemberAssigned: EventRecords(_current),
        SharePartitionsInitializing: EventRecords(_initializing, stores_group=lambda event: not event.is_repeated),
        SharePartitionsInitialized: EventRecords(_states),
        ShareInitializationFailed: EventRecords(_states),
        ShareStatesDeleting: EventRecords(_states),
        ShareStatesDeleted: EventRecords(_states),
        ShareTopicsForgotten: EventRecords(_states),
    },
    of_creation=lambda event: [],
    stores_creation=False,
    of_state=records.records_of_state,
    of_removal=records.records_of_removal,
    types=RECORD_TYPES,
)
