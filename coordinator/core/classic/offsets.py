"""What a classic group says about committed offsets: who may commit, and when they may be deleted or expire.

Counterpart in Kafka: `validateOffsetCommit`, `validateOffsetDelete`, `offsetExpirationCondition` of `ClassicGroup`.
"""

from typing import Final

from _wire.errors import NONE, ErrorCode
from coordinator.core.classic.group import NO_MEMBER_ID, ClassicGroup
from coordinator.core.classic.members import check_member, renewal_by_commit
from coordinator.core.classic.subscriptions import topics_read
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.groups.kind import OffsetRules
from coordinator.core.groups.states import COMPLETING_REBALANCE, EMPTY, STABLE


def validate_commit(
    group: ClassicGroup,
    member_id: str,
    group_instance_id: str | None,
    generation_id: int,
    api_version: int,
    committed: object,
    topics: object,
) -> ErrorCode:
    """Whether the commit comes from a member of the generation, or nobody else can commit."""
    if generation_id < 0 and group.state is EMPTY:
        return NONE
    if generation_id < 0 and not _names_member(member_id, group_instance_id):
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = _check_generation(group, member_id, group_instance_id, generation_id)
    if error is NONE and group.state is COMPLETING_REBALANCE:
        # The member is in this generation and may commit again once it has its assignment.
        return ErrorCode.REBALANCE_IN_PROGRESS
    return error


def validate_transactional_commit(
    group: ClassicGroup,
    member_id: str,
    group_instance_id: str | None,
    generation_id: int,
    committed: object,
    topics: object,
) -> ErrorCode:
    """Whether the commit comes from a member of the generation. Clients before v3 name none: theirs is accepted."""
    if generation_id < 0 and group.state is EMPTY:
        return NONE
    if generation_id < 0 and not _names_member(member_id, group_instance_id):
        return NONE
    return _check_generation(group, member_id, group_instance_id, generation_id)


def _names_member(member_id: str, group_instance_id: str | None) -> bool:
    return member_id != NO_MEMBER_ID or group_instance_id is not None


def _check_generation(
    group: ClassicGroup, member_id: str, group_instance_id: str | None, generation_id: int
) -> ErrorCode:
    error = check_member(group, member_id, group_instance_id)
    if error is NONE and generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def validate_fetch(group: ClassicGroup, member_id: str | None, member_epoch: int) -> ErrorCode:
    """Anybody may read the offsets of a classic group: only KIP-848 has members that name themselves."""
    return NONE


def validate_delete(group: ClassicGroup) -> ErrorCode:
    """Beside living members offsets are deleted only where subscriptions are known."""
    if group.state is not EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NON_EMPTY_GROUP
    return NONE


def may_expire(group: ClassicGroup) -> bool:
    """In a group with members only a consumer group's offsets age: those of topics that no member subscribes to."""
    if group.protocol_type is None or group.state is EMPTY:
        return True
    return group.state is STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE


def expiration_base_ms(group: ClassicGroup) -> int | None:
    """When the group became Empty; None: age counts from the commit."""
    emptied = group.protocol_type is not None and group.state is EMPTY
    return group.state_since_ms if emptied else None


OFFSET_RULES: Final = OffsetRules(
    validate_commit=validate_commit,
    validate_transactional_commit=validate_transactional_commit,
    validate_fetch=validate_fetch,
    validate_delete=validate_delete,
    sessions_renewed=renewal_by_commit,
    topics_read=topics_read,
    may_expire=may_expire,
    expiration_base_ms=expiration_base_ms,
)
