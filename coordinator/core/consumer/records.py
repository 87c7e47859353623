"""The records of a consumer group, in Kafka's order and with Kafka's bytes.

Counterpart in Kafka: `GroupCoordinatorRecordHelpers`. `replay.py` reads them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from _wire.embedded import encode_versioned
from _wire.messages import consumer_group_current_member_assignment_record as current_record
from _wire.messages import consumer_group_target_assignment_member_record as target_record
from _wire.messages.consumer_group_member_metadata_record import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from _wire.messages.consumer_group_metadata_record import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from _wire.messages.consumer_group_partition_metadata_record import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
)
from _wire.messages.consumer_group_regular_expression_record import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from _wire.messages.consumer_group_target_assignment_metadata_record import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from _wire.structs import Message
from coordinator.core.consumer.group import ConsumerGroup, ResolvedPattern
from coordinator.core.consumer.member import ClassicMetadata, ConsumerMember, CurrentAssignment, MemberMetadata
from coordinator.core.consumer.member_records import targets_records
from coordinator.core.consumer.topic_partitions import EpochsByPartition, TopicPartitions
from coordinator.core.stored import StoredRecord

METADATA_TYPE: Final = 3
PARTITION_METADATA_TYPE: Final = 4
MEMBER_METADATA_TYPE: Final = 5
TARGET_METADATA_TYPE: Final = 6
TARGET_MEMBER_TYPE: Final = 7
CURRENT_ASSIGNMENT_TYPE: Final = 8
REGULAR_EXPRESSION_TYPE: Final = 16
VALUE_VERSION: Final = 0


def _record(key: Message, key_type: int, value: Message | None) -> StoredRecord:
    return encode_versioned(key, key_type), None if value is None else encode_versioned(value, VALUE_VERSION)


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> StoredRecord:
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return _record(ConsumerGroupMetadataKey(group_id=group_id), METADATA_TYPE, value)


def epoch_tombstone(group_id: str) -> StoredRecord:
    return _record(ConsumerGroupMetadataKey(group_id=group_id), METADATA_TYPE, None)


def partition_metadata_record(group_id: str) -> StoredRecord:
    """As a Kafka before 4.1 wrote it, without topics: only whether there is one is of interest."""
    key = ConsumerGroupPartitionMetadataKey(group_id=group_id)
    return _record(key, PARTITION_METADATA_TYPE, ConsumerGroupPartitionMetadataValue())


def partition_metadata_tombstone(group_id: str) -> StoredRecord:
    return _record(ConsumerGroupPartitionMetadataKey(group_id=group_id), PARTITION_METADATA_TYPE, None)


def member_record(group_id: str, member_id: str, metadata: MemberMetadata) -> StoredRecord:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=metadata.group_instance_id,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        subscribed_topic_names=metadata.topics,
        subscribed_topic_regex=metadata.pattern,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        server_assignor=metadata.server_assignor,
        classic_member_metadata=None if metadata.classic is None else _classic_metadata(metadata.classic),
    )
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
    return _record(key, MEMBER_METADATA_TYPE, value)


def _classic_metadata(classic: ClassicMetadata) -> ClassicMemberMetadata:
    protocols = [ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in classic.protocols]
    return ClassicMemberMetadata(session_timeout_ms=classic.session_timeout_ms, supported_protocols=protocols)


def member_tombstone(group_id: str, member_id: str) -> StoredRecord:
    return _record(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), MEMBER_METADATA_TYPE, None)


def target_epoch_record(group_id: str, epoch: int, computed_ms: int) -> StoredRecord:
    value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=computed_ms)
    return _record(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), TARGET_METADATA_TYPE, value)


def target_epoch_tombstone(group_id: str) -> StoredRecord:
    return _record(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), TARGET_METADATA_TYPE, None)


def target_record_of(group_id: str, member_id: str, target: TopicPartitions) -> StoredRecord:
    partitions = [
        target_record.TopicPartition(topic_id=topic_id, partitions=indexes) for topic_id, indexes in target.items()
    ]
    value = target_record.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=partitions)
    return _record(_target_key(group_id, member_id), TARGET_MEMBER_TYPE, value)


def target_tombstone(group_id: str, member_id: str) -> StoredRecord:
    return _record(_target_key(group_id, member_id), TARGET_MEMBER_TYPE, None)


def _target_key(group_id: str, member_id: str) -> target_record.ConsumerGroupTargetAssignmentMemberKey:
    return target_record.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def current_record_of(group_id: str, member_id: str, current: CurrentAssignment) -> StoredRecord:
    value = current_record.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        assigned_partitions=list(_with_epochs(current.assigned)),
        partitions_pending_revocation=list(_with_epochs(current.pending)),
    )
    return _record(_current_key(group_id, member_id), CURRENT_ASSIGNMENT_TYPE, value)


def current_tombstone(group_id: str, member_id: str) -> StoredRecord:
    return _record(_current_key(group_id, member_id), CURRENT_ASSIGNMENT_TYPE, None)


def _current_key(group_id: str, member_id: str) -> current_record.ConsumerGroupCurrentMemberAssignmentKey:
    return current_record.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def _with_epochs(partitions: EpochsByPartition) -> Iterator[current_record.TopicPartitions]:
    for topic_id, of_topic in partitions.items():
        indexes = sorted(of_topic)
        epochs = [of_topic[index] for index in indexes]
        yield current_record.TopicPartitions(topic_id=topic_id, partitions=indexes, assignment_epochs=epochs)


def pattern_record(group_id: str, pattern: str, resolved: ResolvedPattern) -> StoredRecord:
    value = ConsumerGroupRegularExpressionValue(
        topics=resolved.topics, version=resolved.version, timestamp=resolved.timestamp_ms
    )
    return _record(_pattern_key(group_id, pattern), REGULAR_EXPRESSION_TYPE, value)


def pattern_tombstone(group_id: str, pattern: str) -> StoredRecord:
    return _record(_pattern_key(group_id, pattern), REGULAR_EXPRESSION_TYPE, None)


def _pattern_key(group_id: str, pattern: str) -> ConsumerGroupRegularExpressionKey:
    return ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)


def added_member_records(group_id: str, member: ConsumerMember, target: TopicPartitions) -> list[StoredRecord]:
    return [
        member_record(group_id, member.member_id, member.metadata),
        target_record_of(group_id, member.member_id, target),
        current_record_of(group_id, member.member_id, member.current),
    ]


def records_of_state(group: ConsumerGroup) -> list[StoredRecord]:
    """The records of the current state; a load of them restores it, but for deadlines."""
    group_id = group.group_id
    records = [member_record(group_id, member.member_id, member.metadata) for member in group.members.values()]
    records += (pattern_record(group_id, pattern, resolved) for pattern, resolved in group.patterns.items())
    records.append(epoch_record(group_id, group.epoch, group.metadata_hash))
    if group.has_partition_metadata:
        records.append(partition_metadata_record(group_id))
    records += targets_records(group_id, group.targets)
    records.append(target_epoch_record(group_id, group.target_epoch, group.target_computed_ms))
    records += (current_record_of(group_id, member.member_id, member.current) for member in group.members.values())
    return records


def records_of_removal(group: ConsumerGroup, member_ids: Iterable[str] | None = None) -> list[StoredRecord]:
    """The tombstones of all that may be stored, as Kafka writes them; `member_ids`: of these members, None: of all."""
    group_id = group.group_id
    members = list(group.members if member_ids is None else member_ids)
    records = [current_tombstone(group_id, member_id) for member_id in members]
    records += (target_tombstone(group_id, member_id) for member_id in members)
    records.append(target_epoch_tombstone(group_id))
    records += (member_tombstone(group_id, member_id) for member_id in members)
    records += (pattern_tombstone(group_id, pattern) for pattern in group.patterns)
    return [*records, partition_metadata_tombstone(group_id), epoch_tombstone(group_id)]
