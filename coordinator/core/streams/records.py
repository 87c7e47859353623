"""The records of a streams group, in Kafka's order and with Kafka's bytes.

Counterpart in Kafka: `StreamsCoordinatorRecordHelpers`. `replay.py` reads them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from _wire.embedded import encode_versioned
from _wire.messages import streams_group_current_member_assignment_record as current_message
from _wire.messages import streams_group_member_metadata_record as member_message
from _wire.messages import streams_group_metadata_record as epoch_message
from _wire.messages import streams_group_target_assignment_member_record as target_message
from _wire.messages import streams_group_topology_record as topology_message
from _wire.messages.streams_group_target_assignment_metadata_record import (
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
)
from _wire.structs import Message
from coordinator.core.stored import StoredRecord
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import CurrentTasks, StreamsMemberMetadata
from coordinator.core.streams.tasks import EpochsByTask, TaskAssignment, Tasks
from coordinator.core.streams.topology import Subtopology, TopicInfo, Topology

METADATA_TYPE: Final = 17
MEMBER_METADATA_TYPE: Final = 19
TARGET_METADATA_TYPE: Final = 20
TARGET_MEMBER_TYPE: Final = 21
CURRENT_ASSIGNMENT_TYPE: Final = 22
TOPOLOGY_TYPE: Final = 23
VALUE_VERSION: Final = 0


def _record(key: Message, key_type: int, value: Message | None) -> StoredRecord:
    return encode_versioned(key, key_type), None if value is None else encode_versioned(value, VALUE_VERSION)


def member_record(group_id: str, member_id: str, metadata: StreamsMemberMetadata) -> StoredRecord:
    endpoint = metadata.user_endpoint
    value = member_message.StreamsGroupMemberMetadataValue(
        instance_id=None,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        topology_epoch=metadata.topology_epoch,
        process_id=metadata.process_id,
        user_endpoint=None if endpoint is None else member_message.Endpoint(host=endpoint[0], port=endpoint[1]),
        client_tags=[member_message.KeyValue(key=key, value=value) for key, value in metadata.client_tags],
    )
    return _record(_member_key(group_id, member_id), MEMBER_METADATA_TYPE, value)


def _member_key(group_id: str, member_id: str) -> member_message.StreamsGroupMemberMetadataKey:
    return member_message.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id)


def epoch_record(
    group_id: str, epoch: int, metadata_hash: int, validated_topology_epoch: int, configs: Mapping[str, str]
) -> StoredRecord:
    value = epoch_message.StreamsGroupMetadataValue(
        epoch=epoch,
        metadata_hash=metadata_hash,
        validated_topology_epoch=validated_topology_epoch,
        last_assignment_configs=[epoch_message.KeyValue(key=key, value=value) for key, value in configs.items()],
    )
    return _record(epoch_message.StreamsGroupMetadataKey(group_id=group_id), METADATA_TYPE, value)


def target_epoch_record(group_id: str, epoch: int, computed_ms: int) -> StoredRecord:
    value = StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=computed_ms)
    return _record(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), TARGET_METADATA_TYPE, value)


def target_record(group_id: str, member_id: str, target: TaskAssignment) -> StoredRecord:
    value = target_message.StreamsGroupTargetAssignmentMemberValue(
        active_tasks=_target_tasks(target.active),
        standby_tasks=_target_tasks(target.standby),
        warmup_tasks=_target_tasks(target.warmup),
    )
    return _record(_target_key(group_id, member_id), TARGET_MEMBER_TYPE, value)


def _target_key(group_id: str, member_id: str) -> target_message.StreamsGroupTargetAssignmentMemberKey:
    return target_message.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)


def _target_tasks(tasks: Tasks) -> list[Any]:
    return [
        target_message.TaskIds(subtopology_id=subtopology_id, partitions=numbers)
        for subtopology_id, numbers in tasks.items()
    ]


def current_record(group_id: str, member_id: str, current: CurrentTasks) -> StoredRecord:
    assigned, pending = current.assigned, current.pending
    value = current_message.StreamsGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=current.state,
        active_tasks=_active_tasks(assigned.active),
        standby_tasks=_other_tasks(assigned.standby),
        warmup_tasks=_other_tasks(assigned.warmup),
        active_tasks_pending_revocation=_active_tasks(pending.active),
        standby_tasks_pending_revocation=_other_tasks(pending.standby),
        warmup_tasks_pending_revocation=_other_tasks(pending.warmup),
    )
    return _record(_current_key(group_id, member_id), CURRENT_ASSIGNMENT_TYPE, value)


def _current_key(group_id: str, member_id: str) -> current_message.StreamsGroupCurrentMemberAssignmentKey:
    return current_message.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)


def _active_tasks(tasks: EpochsByTask) -> list[Any]:
    return [
        current_message.TaskIds(
            subtopology_id=subtopology_id,
            partitions=sorted(epochs),
            assignment_epochs=[epochs[number] for number in sorted(epochs)],
        )
        for subtopology_id, epochs in tasks.items()
    ]


def _other_tasks(tasks: Tasks) -> list[Any]:
    return [
        current_message.TaskIds(subtopology_id=subtopology_id, partitions=numbers)
        for subtopology_id, numbers in tasks.items()
    ]


def topology_record(group_id: str, topology: Topology) -> StoredRecord:
    value = topology_message.StreamsGroupTopologyValue(
        epoch=topology.epoch, subtopologies=[_subtopology(part) for part in topology.subtopologies]
    )
    return _record(topology_message.StreamsGroupTopologyKey(group_id=group_id), TOPOLOGY_TYPE, value)


def _subtopology(part: Subtopology) -> topology_message.Subtopology:
    return topology_message.Subtopology(
        subtopology_id=part.subtopology_id,
        source_topics=part.source_topics,
        source_topic_regex=part.source_topic_regex,
        state_changelog_topics=_topic_infos(part.changelog_topics),
        repartition_sink_topics=part.repartition_sink_topics,
        repartition_source_topics=_topic_infos(part.repartition_source_topics),
        copartition_groups=[
            topology_message.CopartitionGroup(
                source_topics=group.source_topics,
                source_topic_regex=group.source_topic_regex,
                repartition_source_topics=group.repartition_source_topics,
            )
            for group in part.copartition_groups
        ],
    )


def _topic_infos(topics: Iterable[TopicInfo]) -> list[topology_message.TopicInfo]:
    return [
        topology_message.TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[topology_message.KeyValue(key=key, value=value) for key, value in topic.configs],
        )
        for topic in topics
    ]


def removed_member_records(group_id: str, member_id: str) -> list[StoredRecord]:
    return [
        _record(_current_key(group_id, member_id), CURRENT_ASSIGNMENT_TYPE, None),
        _record(_target_key(group_id, member_id), TARGET_MEMBER_TYPE, None),
        _record(_member_key(group_id, member_id), MEMBER_METADATA_TYPE, None),
    ]


def records_of_state(group: StreamsGroup) -> list[StoredRecord]:
    """The records of the current state; a load of them restores it."""
    group_id = group.group_id
    records = [member_record(group_id, member.member_id, member.metadata) for member in group.members.values()]
    if group.topology is not None:
        records.append(topology_record(group_id, group.topology))
    records.append(
        epoch_record(
            group_id, group.epoch, group.metadata_hash, group.validated_topology_epoch, group.assignment_configs
        )
    )
    records += (target_record(group_id, member_id, target) for member_id, target in group.targets.items())
    records.append(target_epoch_record(group_id, group.target_epoch, group.target_computed_ms))
    records += (current_record(group_id, member.member_id, member.current) for member in group.members.values())
    return records


def records_of_removal(group: StreamsGroup) -> list[StoredRecord]:
    """The tombstones of all that may be stored, as Kafka writes them for a group without members.

    A group with members is never removed; theirs come first for a log that says otherwise.
    """
    group_id = group.group_id
    records = [record for member_id in group.members for record in removed_member_records(group_id, member_id)]
    return [
        *records,
        _record(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), TARGET_METADATA_TYPE, None),
        _record(epoch_message.StreamsGroupMetadataKey(group_id=group_id), METADATA_TYPE, None),
        _record(topology_message.StreamsGroupTopologyKey(group_id=group_id), TOPOLOGY_TYPE, None),
    ]
