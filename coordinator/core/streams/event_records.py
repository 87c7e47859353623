"""Which records each event of a streams group stores, in Kafka's order."""

from typing import Any, Final

from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import EventRecords, KindRecords
from coordinator.core.stored import StoredRecord
from coordinator.core.streams import records
from coordinator.core.streams.events import (
    StreamsGroupEpochBumped,
    StreamsMemberAssigned,
    StreamsMemberJoined,
    StreamsMemberRemoved,
    StreamsMemberUpdated,
    StreamsTargetComputed,
    StreamsTopologySet,
)
from coordinator.core.streams.replay import RECORD_TYPES

Events = tuple[Event, ...]


def _member(
    event: StreamsMemberJoined | StreamsMemberUpdated, group: Group[Any] | None, events: Events
) -> list[StoredRecord]:
    return [records.member_record(event.group_id, event.member_id, event.metadata)]


def _removed(event: StreamsMemberRemoved, group: Group[Any], events: Events) -> list[StoredRecord]:
    return records.removed_member_records(event.group_id, event.member_id)


def _topology(event: StreamsTopologySet, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [records.topology_record(event.group_id, event.topology)]


def _epoch(event: StreamsGroupEpochBumped, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [
        records.epoch_record(
            event.group_id, event.epoch, event.metadata_hash, event.validated_topology_epoch, event.assignment_configs
        )
    ]


def _target(event: StreamsTargetComputed, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    targets = [records.target_record(event.group_id, member_id, target) for member_id, target in event.targets.items()]
    return [*targets, records.target_epoch_record(event.group_id, event.epoch, event.at_ms)]


def _current(event: StreamsMemberAssigned, group: Group[Any] | None, events: Events) -> list[StoredRecord]:
    return [records.current_record(event.group_id, event.member_id, event.current)]


RECORDS: Final = KindRecords(
    of_events={
        StreamsMemberJoined: EventRecords(_member),
        StreamsMemberUpdated: EventRecords(_member),
        StreamsMemberRemoved: EventRecords(_removed),
        StreamsTopologySet: EventRecords(_topology),
        StreamsGroupEpochBumped: EventRecords(_epoch),
        StreamsTargetComputed: EventRecords(_target),
        StreamsMemberAssigned: EventRecords(_current),
    },
    of_creation=lambda event: [],
    stores_creation=False,
    of_state=records.records_of_state,
    of_removal=records.records_of_removal,
    types=RECORD_TYPES,
)
