"""Reads the records of streams groups. Each is applied independently of those before it: compaction removes any.

Counterpart in Kafka: the `replay` methods of `GroupMetadataManager`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from _wire.embedded import decode_versioned
from _wire.messages.streams_group_current_member_assignment_record import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
)
from _wire.messages.streams_group_member_metadata_record import (
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
)
from _wire.messages.streams_group_metadata_record import StreamsGroupMetadataKey, StreamsGroupMetadataValue
from _wire.messages.streams_group_target_assignment_member_record import (
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
)
from _wire.messages.streams_group_target_assignment_metadata_record import (
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
)
from _wire.messages.streams_group_topology_record import StreamsGroupTopologyKey, StreamsGroupTopologyValue
from _wire.structs import Message
from coordinator.core.groups.kind import RecordType
from coordinator.core.groups.membership import Membership
from coordinator.core.streams.group import FIRST_EPOCH, NEVER, StreamsGroup
from coordinator.core.streams.member import (
    LEAVE_EPOCH,
    CurrentTasks,
    StreamsMember,
    StreamsMemberMetadata,
    TasksState,
)
from coordinator.core.streams.records import (
    CURRENT_ASSIGNMENT_TYPE,
    MEMBER_METADATA_TYPE,
    METADATA_TYPE,
    TARGET_MEMBER_TYPE,
    TARGET_METADATA_TYPE,
    TOPOLOGY_TYPE,
)
from coordinator.core.streams.tasks import TaskAssignment, TaskEpochs, tasks_of, utf16
from coordinator.core.streams.topology import topology_of

UNKNOWN_CLIENT: Final = StreamsMemberMetadata(client_id="", client_host="")
"""Of a member whose other records come first."""
GONE: Final = CurrentTasks(LEAVE_EPOCH, LEAVE_EPOCH)

Apply = Callable[[StreamsGroup, Any, bytes], None]
"""(group, key, value): apply a record with a value."""
Remove = Callable[[StreamsGroup, Any], None]
"""(group, key): apply a tombstone."""


def _record_type(key_type: int, key_class: type[Message], apply: Apply, remove: Remove | None) -> RecordType:
    """`remove` is None for the record whose tombstone removes the group."""

    def group_id_of(key: bytes) -> str:
        named: Any = decode_versioned(key_class, key)
        return str(named.group_id)

    def replay(before: Membership | None, key: bytes, value: bytes | None) -> Membership | None:
        """A value makes the group, in place of one of another kind; a tombstone of no group changes nothing."""
        named: Any = decode_versioned(key_class, key)
        if value is None:
            if not isinstance(before, StreamsGroup):
                return before
            if remove is None:
                return None
            remove(before, named)
            before.update_state(None)
            return before
        group = before if isinstance(before, StreamsGroup) else StreamsGroup(named.group_id)
        apply(group, named, value)
        group.update_state(None)
        return group

    return RecordType(key_type, group_id_of, replay)


def _set_epoch(group: StreamsGroup, key: StreamsGroupMetadataKey, value: bytes) -> None:
    stored = decode_versioned(StreamsGroupMetadataValue, value)
    group.epoch, group.metadata_hash = stored.epoch, stored.metadata_hash
    group.validated_topology_epoch = stored.validated_topology_epoch
    group.assignment_configs = {config.key: config.value for config in stored.last_assignment_configs or ()}


def _set_member(group: StreamsGroup, key: StreamsGroupMemberMetadataKey, value: bytes) -> None:
    stored = decode_versioned(StreamsGroupMemberMetadataValue, value)
    endpoint = stored.user_endpoint
    metadata = StreamsMemberMetadata(
        client_id=stored.client_id,
        client_host=stored.client_host,
        rack_id=stored.rack_id,
        rebalance_timeout_ms=stored.rebalance_timeout_ms,
        topology_epoch=stored.topology_epoch,
        process_id=stored.process_id,
        user_endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
        client_tags=tuple(sorted({tag.key: tag.value for tag in stored.client_tags}.items())),
    )
    group.update_metadata(_member(group, key.member_id), metadata)


def _member(group: StreamsGroup, member_id: str) -> StreamsMember:
    member = group.members.get(member_id)
    if member is None:
        member = StreamsMember(member_id, UNKNOWN_CLIENT)
        group.add_member(member)
    return member


def _remove_member(group: StreamsGroup, key: StreamsGroupMemberMetadataKey) -> None:
    if key.member_id in group.members:
        target = group.targets.get(key.member_id)
        group.remove_member(key.member_id)
        if target is not None:
            group.set_targets({key.member_id: target})


def _set_target_epoch(group: StreamsGroup, key: StreamsGroupTargetAssignmentMetadataKey, value: bytes) -> None:
    stored = decode_versioned(StreamsGroupTargetAssignmentMetadataValue, value)
    group.set_target_epoch(stored.assignment_epoch, stored.assignment_timestamp)


def _remove_target_epoch(group: StreamsGroup, key: StreamsGroupTargetAssignmentMetadataKey) -> None:
    group.set_target_epoch(FIRST_EPOCH, NEVER)


def _set_target(group: StreamsGroup, key: StreamsGroupTargetAssignmentMemberKey, value: bytes) -> None:
    stored = decode_versioned(StreamsGroupTargetAssignmentMemberValue, value)
    target = TaskAssignment(
        tasks_of(stored.active_tasks), tasks_of(stored.standby_tasks), tasks_of(stored.warmup_tasks)
    )
    group.set_targets({key.member_id: target})


def _remove_target(group: StreamsGroup, key: StreamsGroupTargetAssignmentMemberKey) -> None:
    group.targets.pop(key.member_id, None)


def _set_current(group: StreamsGroup, key: StreamsGroupCurrentMemberAssignmentKey, value: bytes) -> None:
    stored = decode_versioned(StreamsGroupCurrentMemberAssignmentValue, value)
    _member(group, key.member_id)
    epoch = stored.member_epoch
    assigned = TaskEpochs(
        _with_epochs(stored.active_tasks, epoch), tasks_of(stored.standby_tasks), tasks_of(stored.warmup_tasks)
    )
    pending = TaskEpochs(
        _with_epochs(stored.active_tasks_pending_revocation, epoch),
        tasks_of(stored.standby_tasks_pending_revocation),
        tasks_of(stored.warmup_tasks_pending_revocation),
    )
    current = CurrentTasks(epoch, stored.previous_member_epoch, _state(stored.state), assigned, pending)
    group.assign(key.member_id, current)


def _state(number: int) -> TasksState:
    try:
        return TasksState(number)
    except ValueError:
        return TasksState.UNKNOWN


def _with_epochs(claimed: Iterable[Any], member_epoch: int) -> dict[str, dict[int, int]]:
    """Active tasks with the epochs in which they were assigned; older brokers store none: then that of the member."""
    found: dict[str, dict[int, int]] = {}
    for task_ids in claimed:
        numbers, epochs = task_ids.partitions, task_ids.assignment_epochs
        if not epochs or len(epochs) != len(numbers):
            epochs = [member_epoch] * len(numbers)
        if numbers:
            found.setdefault(task_ids.subtopology_id, {}).update(zip(numbers, epochs, strict=True))
    return {subtopology_id: dict(sorted(found[subtopology_id].items())) for subtopology_id in sorted(found, key=utf16)}


def _remove_current(group: StreamsGroup, key: StreamsGroupCurrentMemberAssignmentKey) -> None:
    if key.member_id in group.members:
        group.assign(key.member_id, GONE)


def _set_topology(group: StreamsGroup, key: StreamsGroupTopologyKey, value: bytes) -> None:
    group.topology = topology_of(decode_versioned(StreamsGroupTopologyValue, value))


def _remove_topology(group: StreamsGroup, key: StreamsGroupTopologyKey) -> None:
    group.topology = None


RECORD_TYPES: Final = (
    _record_type(MEMBER_METADATA_TYPE, StreamsGroupMemberMetadataKey, _set_member, _remove_member),
    _record_type(METADATA_TYPE, StreamsGroupMetadataKey, _set_epoch, None),
    _record_type(
        TARGET_METADATA_TYPE, StreamsGroupTargetAssignmentMetadataKey, _set_target_epoch, _remove_target_epoch
    ),
    _record_type(TARGET_MEMBER_TYPE, StreamsGroupTargetAssignmentMemberKey, _set_target, _remove_target),
    _record_type(CURRENT_ASSIGNMENT_TYPE, StreamsGroupCurrentMemberAssignmentKey, _set_current, _remove_current),
    _record_type(TOPOLOGY_TYPE, StreamsGroupTopologyKey, _set_topology, _remove_topology),
)
