"""The records of a share group, in Kafka's order and with Kafka's bytes.

Counterpart in Kafka: `GroupCoordinatorRecordHelpers`. `replay.py` reads them.
"""

from collections.abc import Mapping
from typing import Any, Final

from _wire.embedded import encode_versioned
from _wire.messages import share_group_current_member_assignment_record as current_message
from _wire.messages import share_group_state_partition_metadata_record as states_message
from _wire.messages import share_group_target_assignment_member_record as target_message
from _wire.messages.share_group_member_metadata_record import ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue
from _wire.messages.share_group_metadata_record import ShareGroupMetadataKey, ShareGroupMetadataValue
from _wire.messages.share_group_target_assignment_metadata_record import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from _wire.structs import Message
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import ShareAssignment, ShareMemberMetadata
from coordinator.core.share.state_topics import StatePartitions, StateTopics
from coordinator.core.stored import StoredRecord

MEMBER_METADATA_TYPE: Final = 10
METADATA_TYPE: Final = 11
TARGET_METADATA_TYPE: Final = 12
TARGET_MEMBER_TYPE: Final = 13
CURRENT_ASSIGNMENT_TYPE: Final = 14
STATE_PARTITIONS_TYPE: Final = 15
VALUE_VERSION: Final = 0
STABLE_STATE: Final = 0
"""The state of a member in its record: share groups have no other one."""


def _record(key: Message, key_type: int, value: Message | None) -> StoredRecord:
    return encode_versioned(key, key_type), None if value is None else encode_versioned(value, VALUE_VERSION)


def member_record(group_id: str, member_id: str, metadata: ShareMemberMetadata) -> StoredRecord:
    value = ShareGroupMemberMetadataValue(
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.topics,
    )
    key = ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
    return _record(key, MEMBER_METADATA_TYPE, value)


def member_tombstone(group_id: str, member_id: str) -> StoredRecord:
    return _record(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), MEMBER_METADATA_TYPE, None)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> StoredRecord:
    value = ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return _record(ShareGroupMetadataKey(group_id=group_id), METADATA_TYPE, value)


def epoch_tombstone(group_id: str) -> StoredRecord:
    return _record(ShareGroupMetadataKey(group_id=group_id), METADATA_TYPE, None)


def target_epoch_record(group_id: str, epoch: int, computed_ms: int) -> StoredRecord:
    value = ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=computed_ms)
    return _record(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), TARGET_METADATA_TYPE, value)


def target_epoch_tombstone(group_id: str) -> StoredRecord:
    return _record(ShareGroupTargetAssignmentMetadataKey(group_id=group_id), TARGET_METADATA_TYPE, None)


def target_record(group_id: str, member_id: str, target: TopicPartitions) -> StoredRecord:
    partitions = [
        target_message.TopicPartitions(topic_id=topic_id, partitions=indexes) for topic_id, indexes in target.items()
    ]
    value = target_message.ShareGroupTargetAssignmentMemberValue(topic_partitions=partitions)
    return _record(_target_key(group_id, member_id), TARGET_MEMBER_TYPE, value)


def target_tombstone(group_id: str, member_id: str) -> StoredRecord:
    return _record(_target_key(group_id, member_id), TARGET_MEMBER_TYPE, None)


def _target_key(group_id: str, member_id: str) -> target_message.ShareGroupTargetAssignmentMemberKey:
    return target_message.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def current_record(group_id: str, member_id: str, current: ShareAssignment) -> StoredRecord:
    assigned = [
        current_message.TopicPartitions(topic_id=topic_id, partitions=indexes)
        for topic_id, indexes in current.partitions.items()
    ]
    value = current_message.ShareGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=STABLE_STATE,
        assigned_partitions=assigned,
    )
    return _record(_current_key(group_id, member_id), CURRENT_ASSIGNMENT_TYPE, value)


def current_tombstone(group_id: str, member_id: str) -> StoredRecord:
    return _record(_current_key(group_id, member_id), CURRENT_ASSIGNMENT_TYPE, None)


def _current_key(group_id: str, member_id: str) -> current_message.ShareGroupCurrentMemberAssignmentKey:
    return current_message.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def states_record(group_id: str, states: StatePartitions) -> StoredRecord:
    value = states_message.ShareGroupStatePartitionMetadataValue(
        initializing_topics=_state_topics(states.initializing),
        initialized_topics=_state_topics(states.initialized),
        deleting_topics=_deleting_topics(states.deleting),
    )
    return _record(states_message.ShareGroupStatePartitionMetadataKey(group_id=group_id), STATE_PARTITIONS_TYPE, value)


def _state_topics(topics: StateTopics) -> list[Any]:
    return [
        states_message.TopicPartitionsInfo(topic_id=topic_id, topic_name=topic.name, partitions=topic.partitions)
        for topic_id, topic in topics.items()
    ]


def _deleting_topics(topics: Mapping[bytes, str]) -> list[Any]:
    return [states_message.TopicInfo(topic_id=topic_id, topic_name=name) for topic_id, name in topics.items()]


def states_tombstone(group_id: str) -> StoredRecord:
    return _record(states_message.ShareGroupStatePartitionMetadataKey(group_id=group_id), STATE_PARTITIONS_TYPE, None)


def removed_member_records(group_id: str, member_id: str) -> list[StoredRecord]:
    return [
        current_tombstone(group_id, member_id),
        target_tombstone(group_id, member_id),
        member_tombstone(group_id, member_id),
    ]


def records_of_state(group: ShareGroup) -> list[StoredRecord]:
    """The records of the current state; a load of them restores it."""
    group_id = group.group_id
    records = [member_record(group_id, member.member_id, member.metadata) for member in group.members.values()]
    records.append(epoch_record(group_id, group.epoch, group.metadata_hash))
    records += (target_record(group_id, member_id, target) for member_id, target in group.targets.items())
    records.append(target_epoch_record(group_id, group.target_epoch, group.target_computed_ms))
    records += (current_record(group_id, member.member_id, member.current) for member in group.members.values())
    if group.has_stored_states:
        records.append(states_record(group_id, group.states))
    return records


def records_of_removal(group: ShareGroup) -> list[StoredRecord]:
    """The tombstones of all that may be stored, as Kafka writes them for a group without members.

    A group with members is never removed; theirs come first for a log that says otherwise.
    """
    group_id = group.group_id
    records = [record for member_id in group.members for record in removed_member_records(group_id, member_id)]
    records += [target_epoch_tombstone(group_id), states_tombstone(group_id), epoch_tombstone(group_id)]
    return records
