"""The records of a classic group: a key with the group id, and a value with all of the group.

Counterpart in Kafka: `GroupCoordinatorRecordHelpers.newGroupMetadataRecord`, and `GroupMetadataManager.replay` of
`GroupMetadataValue`.
"""

from collections.abc import Iterable
from typing import Final

from _wire.embedded import decode_versioned, encode_versioned
from _wire.messages.group_metadata_record import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from coordinator.core.classic.events import GenerationStable, GroupEmptied, MemberAssigned, StaticMemberReplaced
from coordinator.core.classic.group import ClassicGroup, Member, Protocol
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import EventRecords, KindRecords, RecordType
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import EMPTY, STABLE
from coordinator.core.record_keys import record_key
from coordinator.core.stored import StoredRecord

KEY_TYPE: Final = 2
VALUE_VERSION: Final = 3
NO_TIMEOUT: Final = -1
"""The rebalance timeout of members stored in version 0 of the value, which has no such field."""


def _records_of_creation(event: GroupCreated) -> list[StoredRecord]:
    value = GroupMetadataValue(protocol_type="", protocol=None, leader=None, current_state_timestamp=event.at_ms)
    return [_record(event.group_id, value)]


def _emptied_group(event: GroupEmptied, group: Group[ClassicGroup], events: tuple[Event, ...]) -> list[StoredRecord]:
    value = GroupMetadataValue(
        protocol_type=group.membership.protocol_type or "",
        generation=event.generation_id,
        protocol=None,
        leader=None,
        current_state_timestamp=event.at_ms,
    )
    return [_record(event.group_id, value)]


def _stable_generation(
    event: GenerationStable, group: Group[ClassicGroup], events: tuple[Event, ...]
) -> list[StoredRecord]:
    assignments = {assigned.member_id: assigned.assignment for assigned in events if type(assigned) is MemberAssigned}
    members = group.membership.members.values()
    value = _generation_value(group.membership, members, group.membership.leader, assignments)
    value.current_state_timestamp = event.at_ms
    return [_record(event.group_id, value)]


def _is_stored_at_once(event: StaticMemberReplaced) -> bool:
    """A rebalance that follows stores the new member id itself."""
    return event.request_id is None


def _replaced_member(
    event: StaticMemberReplaced, group: Group[ClassicGroup], events: tuple[Event, ...]
) -> list[StoredRecord]:
    if not _is_stored_at_once(event):
        return []
    classic = group.membership
    old = classic.members[event.old_member_id]
    members = [member for member in classic.members.values() if member is not old]
    leader = event.new_member_id if classic.leader == old.member_id else classic.leader
    value = _generation_value(classic, [*members, event.replacement(old)], leader, {})
    return [_record(event.group_id, value)]


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


def records_of_state(group: ClassicGroup) -> list[StoredRecord]:
    """The record of the current state of a group; a load restores it, except for waiting requests."""
    return [_record(group.group_id, _generation_value(group, group.members.values(), group.leader, {}))]


def _records_of_removal(group: ClassicGroup) -> list[StoredRecord]:
    return [(_key(group.group_id), None)]


def _record(group_id: str, value: GroupMetadataValue) -> StoredRecord:
    return _key(group_id), encode_versioned(value, VALUE_VERSION)


def _key(group_id: str) -> bytes:
    return record_key(KEY_TYPE, group_id)


def _group_id_of(key: bytes) -> str:
    return decode_versioned(GroupMetadataKey, key).group


def _replay(before: Membership | None, key: bytes, value: bytes | None) -> Membership | None:
    """A tombstone removes a classic group. A group of another kind has replaced the classic one that it was for."""
    if value is None:
        return None if isinstance(before, ClassicGroup) else before
    return load_group(_group_id_of(key), decode_versioned(GroupMetadataValue, value))


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


RECORDS: Final = KindRecords(
    of_events={
        GroupEmptied: EventRecords(_emptied_group),
        GenerationStable: EventRecords(_stable_generation),
        StaticMemberReplaced: EventRecords(_replaced_member, stores_group=_is_stored_at_once),
    },
    of_creation=_records_of_creation,
    of_state=records_of_state,
    of_removal=_records_of_removal,
    types=(RecordType(KEY_TYPE, _group_id_of, _replay, is_whole=True),),
)
