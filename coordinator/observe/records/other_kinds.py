"""Records of share groups (KIP-932) and streams groups (KIP-1071), as what those of consumer groups become.

Both keep epochs, members, targets and what each member has in records of their own, laid out alike. Only nodes that
watch read them: who watches from outside polls these groups, which tells other things of them.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from _wire.embedded import decode_versioned
from _wire.messages.share_group_current_member_assignment_record import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
)
from _wire.messages.share_group_member_metadata_record import ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue
from _wire.messages.share_group_metadata_record import ShareGroupMetadataKey, ShareGroupMetadataValue
from _wire.messages.share_group_target_assignment_metadata_record import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from _wire.messages.streams_group_current_member_assignment_record import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
)
from _wire.messages.streams_group_member_metadata_record import (
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
)
from _wire.messages.streams_group_metadata_record import StreamsGroupMetadataKey, StreamsGroupMetadataValue
from _wire.messages.streams_group_target_assignment_metadata_record import (
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
)
from _wire.messages.streams_group_topology_record import StreamsGroupTopologyKey, StreamsGroupTopologyValue
from coordinator.audit.schema import PARTITIONS_NAMED_MAX
from coordinator.observe.records.stored import (
    ConsumerMember,
    CurrentAssignment,
    GroupEpoch,
    GroupRecord,
    TargetEpoch,
    TopologyTopics,
    digest,
    group_record,
)

SHARE: Final = "share"
STREAMS: Final = "streams"
SUBTOPOLOGY_TOPICS_MAX: Final = 1_000
"""Of a topology, as far as tasks are told by what they read."""
_STABLE_TASKS: Final = 1
"""The state of a member of a streams group that has its tasks."""


def record_of_any_kind(record_type: int, key: bytes, value: bytes | None) -> GroupRecord | None:
    """As `group_record`, of share groups and streams groups, too."""
    reader = _READERS.get(record_type)
    return group_record(record_type, key, value) if reader is None else reader(key, value)


def _share_epoch(key: bytes, value: bytes | None) -> GroupEpoch:
    group_id = decode_versioned(ShareGroupMetadataKey, key).group_id
    return _epoch(group_id, None if value is None else decode_versioned(ShareGroupMetadataValue, value), SHARE)


def _streams_epoch(key: bytes, value: bytes | None) -> GroupEpoch:
    group_id = decode_versioned(StreamsGroupMetadataKey, key).group_id
    return _epoch(group_id, None if value is None else decode_versioned(StreamsGroupMetadataValue, value), STREAMS)


def _epoch(group_id: str, stored: Any, group_type: str) -> GroupEpoch:
    if stored is None:
        return GroupEpoch(group_id, None, group_type=group_type)
    if stored.epoch < 0:
        raise ValueError(f"epoch {stored.epoch}")
    return GroupEpoch(group_id, stored.epoch, stored.metadata_hash, group_type)


def _share_member(key: bytes, value: bytes | None) -> ConsumerMember:
    named = decode_versioned(ShareGroupMemberMetadataKey, key)
    if value is None:
        return ConsumerMember(named.group_id, named.member_id, group_type=SHARE)
    stored = decode_versioned(ShareGroupMemberMetadataValue, value)
    topics = sorted(set(stored.subscribed_topic_names))
    return ConsumerMember(
        named.group_id,
        named.member_id,
        topics,
        stored.client_id,
        stored.client_host,
        digest=digest(msgspec.msgpack.encode(topics)),
        group_type=SHARE,
    )


def _streams_member(key: bytes, value: bytes | None) -> ConsumerMember:
    """What it reads is in the topology; what the member itself may change is its process and how that is reached."""
    named = decode_versioned(StreamsGroupMemberMetadataKey, key)
    if value is None:
        return ConsumerMember(named.group_id, named.member_id, group_type=STREAMS)
    stored = decode_versioned(StreamsGroupMemberMetadataValue, value)
    endpoint = stored.user_endpoint
    own = [
        stored.topology_epoch,
        stored.process_id,
        [] if endpoint is None else [endpoint.host, endpoint.port],
        sorted((tag.key, tag.value) for tag in stored.client_tags),
    ]
    return ConsumerMember(
        named.group_id,
        named.member_id,
        [],
        stored.client_id,
        stored.client_host,
        stored.instance_id,
        digest=digest(msgspec.msgpack.encode(own)),
        group_type=STREAMS,
    )


def _share_target(key: bytes, value: bytes | None) -> TargetEpoch | None:
    group_id = decode_versioned(ShareGroupTargetAssignmentMetadataKey, key).group_id
    if value is None:
        return None
    epoch = decode_versioned(ShareGroupTargetAssignmentMetadataValue, value).assignment_epoch
    return TargetEpoch(group_id, epoch, SHARE)


def _streams_target(key: bytes, value: bytes | None) -> TargetEpoch | None:
    group_id = decode_versioned(StreamsGroupTargetAssignmentMetadataKey, key).group_id
    if value is None:
        return None
    epoch = decode_versioned(StreamsGroupTargetAssignmentMetadataValue, value).assignment_epoch
    return TargetEpoch(group_id, epoch, STREAMS)


def _share_current(key: bytes, value: bytes | None) -> CurrentAssignment | None:
    named = decode_versioned(ShareGroupCurrentMemberAssignmentKey, key)
    if value is None:
        return None
    stored = decode_versioned(ShareGroupCurrentMemberAssignmentValue, value)
    held = ((part.topic_id.hex(), part.partitions) for part in stored.assigned_partitions)
    return _current(named, stored.member_epoch, True, held, SHARE)


def _streams_current(key: bytes, value: bytes | None) -> CurrentAssignment | None:
    """Active tasks alone read; those that it still has to give up it has."""
    named = decode_versioned(StreamsGroupCurrentMemberAssignmentKey, key)
    if value is None:
        return None
    stored = decode_versioned(StreamsGroupCurrentMemberAssignmentValue, value)
    tasks = (*stored.active_tasks, *stored.active_tasks_pending_revocation)
    held = ((task_ids.subtopology_id, task_ids.partitions) for task_ids in tasks)
    return _current(named, stored.member_epoch, stored.state == _STABLE_TASKS, held, STREAMS)


def _current(
    named: Any, epoch: int, is_settled: bool, held: Iterable[tuple[str, Iterable[int]]], group_type: str
) -> CurrentAssignment:
    found: dict[str, set[int]] = {}
    for name, numbers in held:
        found.setdefault(name, set()).update(numbers)
    count = sum(map(len, found.values()))
    partitions = {name: sorted(found[name]) for name in sorted(found)} if count <= PARTITIONS_NAMED_MAX else {}
    unnamed = 0 if count <= PARTITIONS_NAMED_MAX else count
    return CurrentAssignment(named.group_id, named.member_id, epoch, is_settled, partitions, unnamed, group_type)


def _topology(key: bytes, value: bytes | None) -> TopologyTopics | None:
    group_id = decode_versioned(StreamsGroupTopologyKey, key).group_id
    if value is None:
        return None
    stored = decode_versioned(StreamsGroupTopologyValue, value)
    reads = {
        part.subtopology_id: sorted({*part.source_topics, *(topic.name for topic in part.repartition_source_topics)})
        for part in stored.subtopologies
    }
    if sum(map(len, reads.values())) > SUBTOPOLOGY_TOPICS_MAX:
        reads = {}
    return TopologyTopics(group_id, reads)


def _nothing(key: bytes, value: bytes | None) -> None:
    """What a member shall have follows from what it then has; states of share partitions change no membership."""


_READERS: Final[dict[int, Callable[[bytes, bytes | None], GroupRecord | None]]] = {
    10: _share_member,
    11: _share_epoch,
    12: _share_target,
    13: _nothing,
    14: _share_current,
    15: _nothing,
    17: _streams_epoch,
    19: _streams_member,
    20: _streams_target,
    21: _nothing,
    22: _streams_current,
    23: _topology,
}
"""Record type, which is the version of the key, → reader of key and value."""
