"""Reads the records of share groups. Each is applied independently of those before it: compaction removes any.

Counterpart in Kafka: the `replay` methods of `GroupMetadataManager`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from _wire.embedded import decode_versioned
from _wire.messages.share_group_current_member_assignment_record import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
)
from _wire.messages.share_group_member_metadata_record import ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue
from _wire.messages.share_group_metadata_record import ShareGroupMetadataKey, ShareGroupMetadataValue
from _wire.messages.share_group_state_partition_metadata_record import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)
from _wire.messages.share_group_target_assignment_member_record import (
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
)
from _wire.messages.share_group_target_assignment_metadata_record import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from _wire.structs import Message
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.groups.kind import RecordType
from coordinator.core.groups.membership import Membership
from coordinator.core.share.group import FIRST_EPOCH, NEVER, ShareGroup
from coordinator.core.share.member import LEAVE_EPOCH, ShareAssignment, ShareMember, ShareMemberMetadata
from coordinator.core.share.records import (
    CURRENT_ASSIGNMENT_TYPE,
    MEMBER_METADATA_TYPE,
    METADATA_TYPE,
    STATE_PARTITIONS_TYPE,
    TARGET_MEMBER_TYPE,
    TARGET_METADATA_TYPE,
)
from coordinator.core.share.state_topics import NO_STATES, StatePartitions, StateTopic, ascending

UNKNOWN_CLIENT: Final = ShareMemberMetadata(client_id="", client_host="")
"""Of a member whose other records come first."""
GONE: Final = ShareAssignment(LEAVE_EPOCH, LEAVE_EPOCH)

Apply = Callable[[ShareGroup, Any, bytes], None]
"""(group, key, value): apply a record with a value."""
Remove = Callable[[ShareGroup, Any], None]
"""(group, key): apply a tombstone."""


def _record_type(key_type: int, key_class: type[Message], apply: Apply, remove: Remove | None) -> RecordType:
    """`remove` is None for the record whose tombstone is the last one of a group: it removes the group."""

    def group_id_of(key: bytes) -> str:
        named: Any = decode_versioned(key_class, key)
        return str(named.group_id)

    def replay(before: Membership | None, key: bytes, value: bytes | None) -> Membership | None:
        """A value makes the group, in place of one of another kind; a tombstone of no group changes nothing."""
        named: Any = decode_versioned(key_class, key)
        if value is None:
            if not isinstance(before, ShareGroup):
                return before
            if remove is None:
                return None
            remove(before, named)
            before.update_state(None)
            return before
        group = before if isinstance(before, ShareGroup) else ShareGroup(named.group_id)
        apply(group, named, value)
        group.update_state(None)
        return group

    return RecordType(key_type, group_id_of, replay)


def _set_epoch(group: ShareGroup, key: ShareGroupMetadataKey, value: bytes) -> None:
    stored = decode_versioned(ShareGroupMetadataValue, value)
    group.epoch, group.metadata_hash = stored.epoch, stored.metadata_hash


def _set_member(group: ShareGroup, key: ShareGroupMemberMetadataKey, value: bytes) -> None:
    stored = decode_versioned(ShareGroupMemberMetadataValue, value)
    metadata = ShareMemberMetadata(
        client_id=stored.client_id,
        client_host=stored.client_host,
        rack_id=stored.rack_id,
        topics=tuple(sorted(set(stored.subscribed_topic_names))),
    )
    group.update_metadata(_member(group, key.member_id), metadata)
    group.named_topics.count_all()  # a load is in steps, a record in each


def _member(group: ShareGroup, member_id: str) -> ShareMember:
    member = group.members.get(member_id)
    if member is None:
        member = ShareMember(member_id, UNKNOWN_CLIENT)
        group.add_member(member)
    return member


def _remove_member(group: ShareGroup, key: ShareGroupMemberMetadataKey) -> None:
    if key.member_id in group.members:
        target = group.targets.get(key.member_id)
        group.remove_member(key.member_id)
        group.named_topics.count_all()
        if target is not None:
            group.set_targets({key.member_id: target})


def _set_target_epoch(group: ShareGroup, key: ShareGroupTargetAssignmentMetadataKey, value: bytes) -> None:
    stored = decode_versioned(ShareGroupTargetAssignmentMetadataValue, value)
    group.set_target_epoch(stored.assignment_epoch, stored.assignment_timestamp)


def _remove_target_epoch(group: ShareGroup, key: ShareGroupTargetAssignmentMetadataKey) -> None:
    group.set_target_epoch(FIRST_EPOCH, NEVER)


def _set_target(group: ShareGroup, key: ShareGroupTargetAssignmentMemberKey, value: bytes) -> None:
    stored = decode_versioned(ShareGroupTargetAssignmentMemberValue, value)
    group.set_targets({key.member_id: _partitions(stored.topic_partitions)})


def _remove_target(group: ShareGroup, key: ShareGroupTargetAssignmentMemberKey) -> None:
    group.targets.pop(key.member_id, None)
    group.found_unassigned = None


def _partitions(topics: Iterable[Any]) -> TopicPartitions:
    """Partitions by topic, from structs with `topic_id` and `partitions`."""
    found: dict[bytes, set[int]] = {}
    for topic in topics:
        found.setdefault(topic.topic_id, set()).update(topic.partitions)
    return {topic_id: ascending(partitions) for topic_id, partitions in found.items() if partitions}


def _set_current(group: ShareGroup, key: ShareGroupCurrentMemberAssignmentKey, value: bytes) -> None:
    stored = decode_versioned(ShareGroupCurrentMemberAssignmentValue, value)
    _member(group, key.member_id)
    current = ShareAssignment(
        stored.member_epoch, stored.previous_member_epoch, _partitions(stored.assigned_partitions)
    )
    group.assign(key.member_id, current)


def _remove_current(group: ShareGroup, key: ShareGroupCurrentMemberAssignmentKey) -> None:
    if key.member_id in group.members:
        group.assign(key.member_id, GONE)


def _set_states(group: ShareGroup, key: ShareGroupStatePartitionMetadataKey, value: bytes) -> None:
    stored = decode_versioned(ShareGroupStatePartitionMetadataValue, value)
    states = StatePartitions(
        _state_topics(stored.initializing_topics),
        _state_topics(stored.initialized_topics),
        {topic.topic_id: topic.topic_name for topic in stored.deleting_topics},
    )
    group.set_states(states)


def _state_topics(topics: Iterable[Any]) -> dict[bytes, StateTopic]:
    return {
        topic.topic_id: StateTopic(topic.topic_name, ascending(set(topic.partitions)))
        for topic in topics
        if topic.partitions
    }


def _remove_states(group: ShareGroup, key: ShareGroupStatePartitionMetadataKey) -> None:
    group.set_states(NO_STATES, is_stored=False)


RECORD_TYPES: Final = (
    _record_type(MEMBER_METADATA_TYPE, ShareGroupMemberMetadataKey, _set_member, _remove_member),
    _record_type(METADATA_TYPE, ShareGroupMetadataKey, _set_epoch, None),
    _record_type(TARGET_METADATA_TYPE, ShareGroupTargetAssignmentMetadataKey, _set_target_epoch, _remove_target_epoch),
    _record_type(TARGET_MEMBER_TYPE, ShareGroupTargetAssignmentMemberKey, _set_target, _remove_target),
    _record_type(CURRENT_ASSIGNMENT_TYPE, ShareGroupCurrentMemberAssignmentKey, _set_current, _remove_current),
    _record_type(STATE_PARTITIONS_TYPE, ShareGroupStatePartitionMetadataKey, _set_states, _remove_states),
)
