"""Reads the records of consumer groups. Each is applied independently of those before it: compaction removes any.

Counterpart in Kafka: the `replay` methods of `GroupMetadataManager`. Where those insist on an order of tombstones that
Kafka always writes, these take what is there.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from _wire.embedded import decode_versioned
from _wire.messages.consumer_group_current_member_assignment_record import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
)
from _wire.messages.consumer_group_member_metadata_record import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from _wire.messages.consumer_group_metadata_record import ConsumerGroupMetadataKey, ConsumerGroupMetadataValue
from _wire.messages.consumer_group_partition_metadata_record import ConsumerGroupPartitionMetadataKey
from _wire.messages.consumer_group_regular_expression_record import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from _wire.messages.consumer_group_target_assignment_member_record import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
)
from _wire.messages.consumer_group_target_assignment_metadata_record import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from _wire.structs import Message
from coordinator.core.consumer.group import FIRST_EPOCH, NEVER, ConsumerGroup, ResolvedPattern
from coordinator.core.consumer.member import (
    LEAVE_EPOCH,
    ClassicMetadata,
    ClassicProtocol,
    ConsumerMember,
    CurrentAssignment,
    MemberMetadata,
    MemberState,
)
from coordinator.core.consumer.records import (
    CURRENT_ASSIGNMENT_TYPE,
    MEMBER_METADATA_TYPE,
    METADATA_TYPE,
    PARTITION_METADATA_TYPE,
    REGULAR_EXPRESSION_TYPE,
    TARGET_MEMBER_TYPE,
    TARGET_METADATA_TYPE,
)
from coordinator.core.groups.kind import RecordType
from coordinator.core.groups.membership import Membership

UNKNOWN_CLIENT: Final = MemberMetadata(client_id="", client_host="")
"""Of a member whose other records come first."""
GONE: Final = CurrentAssignment(LEAVE_EPOCH, LEAVE_EPOCH)

Apply = Callable[[ConsumerGroup, Any, bytes], None]
"""(group, key, value): apply a record with a value."""
Remove = Callable[[ConsumerGroup, Any], None]
"""(group, key): apply a tombstone."""


def _replay(
    key_class: type[Message], apply: Apply, remove: Remove
) -> Callable[[Membership | None, bytes, bytes | None], Membership | None]:
    def replay(before: Membership | None, key: bytes, value: bytes | None) -> Membership | None:
        """A value makes the group, in place of one of another kind; a tombstone of no group changes nothing."""
        named: Any = decode_versioned(key_class, key)
        if value is None:
            if isinstance(before, ConsumerGroup):
                remove(before, named)
                before.update_state(None)
            return before
        group = before if isinstance(before, ConsumerGroup) else ConsumerGroup(named.group_id)
        apply(group, named, value)
        group.update_state(None)
        return group

    return replay


def _group_id_of(key_class: type[Message]) -> Callable[[bytes], str]:
    def group_id_of(key: bytes) -> str:
        named: Any = decode_versioned(key_class, key)
        return str(named.group_id)

    return group_id_of


def _replay_epoch(before: Membership | None, key: bytes, value: bytes | None) -> Membership | None:
    """The tombstone of the epoch is the last one of a group: it removes the group."""
    named = decode_versioned(ConsumerGroupMetadataKey, key)
    if value is None:
        return None if isinstance(before, ConsumerGroup) else before
    group = before if isinstance(before, ConsumerGroup) else ConsumerGroup(named.group_id)
    stored = decode_versioned(ConsumerGroupMetadataValue, value)
    group.epoch, group.metadata_hash = stored.epoch, stored.metadata_hash
    group.update_state(None)
    return group


def _set_partition_metadata(group: ConsumerGroup, key: Any, value: bytes) -> None:
    group.has_partition_metadata = True


def _remove_partition_metadata(group: ConsumerGroup, key: Any) -> None:
    group.has_partition_metadata = False


def _set_member(group: ConsumerGroup, key: ConsumerGroupMemberMetadataKey, value: bytes) -> None:
    stored = decode_versioned(ConsumerGroupMemberMetadataValue, value)
    classic = stored.classic_member_metadata
    metadata = MemberMetadata(
        client_id=stored.client_id,
        client_host=stored.client_host,
        group_instance_id=stored.instance_id,
        rack_id=stored.rack_id,
        topics=tuple(sorted(set(stored.subscribed_topic_names))),
        pattern=stored.subscribed_topic_regex,
        rebalance_timeout_ms=stored.rebalance_timeout_ms,
        server_assignor=stored.server_assignor,
        classic=None
        if classic is None
        else ClassicMetadata(
            classic.session_timeout_ms,
            tuple(
                ClassicProtocol(supported_protocol.name, supported_protocol.metadata)
                for supported_protocol in classic.supported_protocols
            ),
        ),
    )
    group.update_metadata(_member(group, key.member_id), metadata)
    group.named_topics.count_all()  # a load is in steps, a record in each


def _member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    member = group.members.get(member_id)
    if member is None:
        member = ConsumerMember(member_id, UNKNOWN_CLIENT)
        group.add_member(member)
    return member


def _remove_member(group: ConsumerGroup, key: ConsumerGroupMemberMetadataKey) -> None:
    if key.member_id in group.members:
        target = group.targets.get(key.member_id)
        group.remove_member(key.member_id)
        group.named_topics.count_all()
        if target is not None:
            group.targets[key.member_id] = target


def _set_target_epoch(group: ConsumerGroup, key: Any, value: bytes) -> None:
    stored = decode_versioned(ConsumerGroupTargetAssignmentMetadataValue, value)
    group.set_target_epoch(stored.assignment_epoch, stored.assignment_timestamp)


def _remove_target_epoch(group: ConsumerGroup, key: Any) -> None:
    group.set_target_epoch(FIRST_EPOCH, NEVER)


def _set_target(group: ConsumerGroup, key: ConsumerGroupTargetAssignmentMemberKey, value: bytes) -> None:
    stored = decode_versioned(ConsumerGroupTargetAssignmentMemberValue, value)
    target: dict[bytes, tuple[int, ...]] = {}
    for topic in stored.topic_partitions:
        target[topic.topic_id] = (*target.get(topic.topic_id, ()), *topic.partitions)
    group.targets[key.member_id] = {
        topic_id: tuple(sorted(partitions)) for topic_id, partitions in target.items() if partitions
    }


def _remove_target(group: ConsumerGroup, key: ConsumerGroupTargetAssignmentMemberKey) -> None:
    group.targets.pop(key.member_id, None)


def _set_current(group: ConsumerGroup, key: ConsumerGroupCurrentMemberAssignmentKey, value: bytes) -> None:
    stored = decode_versioned(ConsumerGroupCurrentMemberAssignmentValue, value)
    current = CurrentAssignment(
        stored.member_epoch,
        stored.previous_member_epoch,
        _state_of(stored.state),
        _with_epochs(stored.assigned_partitions, stored.member_epoch),
        _with_epochs(stored.partitions_pending_revocation, stored.member_epoch),
    )
    group.assign(_member(group, key.member_id), current)


def _state_of(number: int) -> MemberState:
    states = {member_state.value for member_state in MemberState}
    return MemberState(number) if number in states else MemberState.UNKNOWN


def _with_epochs(topics: Iterable[Any], member_epoch: int) -> dict[bytes, dict[int, int]]:
    """Records of a Kafka before 4.3 have no epoch per partition."""
    found: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if not epochs or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        if topic.partitions:
            found.setdefault(topic.topic_id, {}).update(zip(topic.partitions, epochs, strict=True))
    return found


def _remove_current(group: ConsumerGroup, key: ConsumerGroupCurrentMemberAssignmentKey) -> None:
    member = group.members.get(key.member_id)
    if member is not None:
        group.assign(member, GONE)


def _set_pattern(group: ConsumerGroup, key: ConsumerGroupRegularExpressionKey, value: bytes) -> None:
    stored = decode_versioned(ConsumerGroupRegularExpressionValue, value)
    resolved = ResolvedPattern(tuple(sorted(set(stored.topics))), stored.version, stored.timestamp)
    group.set_pattern(key.regular_expression, resolved)


def _remove_pattern(group: ConsumerGroup, key: ConsumerGroupRegularExpressionKey) -> None:
    group.set_pattern(key.regular_expression, None)


def _record_type(key_type: int, key_class: type[Message], apply: Apply, remove: Remove) -> RecordType:
    return RecordType(key_type, _group_id_of(key_class), _replay(key_class, apply, remove))


RECORD_TYPES: Final = (
    RecordType(METADATA_TYPE, _group_id_of(ConsumerGroupMetadataKey), _replay_epoch),
    _record_type(
        PARTITION_METADATA_TYPE, ConsumerGroupPartitionMetadataKey, _set_partition_metadata, _remove_partition_metadata
    ),
    _record_type(MEMBER_METADATA_TYPE, ConsumerGroupMemberMetadataKey, _set_member, _remove_member),
    _record_type(
        TARGET_METADATA_TYPE, ConsumerGroupTargetAssignmentMetadataKey, _set_target_epoch, _remove_target_epoch
    ),
    _record_type(TARGET_MEMBER_TYPE, ConsumerGroupTargetAssignmentMemberKey, _set_target, _remove_target),
    _record_type(CURRENT_ASSIGNMENT_TYPE, ConsumerGroupCurrentMemberAssignmentKey, _set_current, _remove_current),
    _record_type(REGULAR_EXPRESSION_TYPE, ConsumerGroupRegularExpressionKey, _set_pattern, _remove_pattern),
)
