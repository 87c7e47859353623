"""What administrators ask of groups: describe, list, delete."""

from _wire.errors import NONE, ErrorCode
from _wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from _wire.messages.list_groups import ListedGroup
from coordinator.core.causes import Cause
from coordinator.core.events import Event, GroupRemoved
from coordinator.core.group import Group
from coordinator.core.offsets import forget_all
from coordinator.core.states import DEAD, EMPTY, STABLE

NO_AUTHORIZED_OPERATIONS = -(2**31)
"""What Kafka answers for operations that were not asked for (KIP-430)."""

GROUP_ID_NOT_FOUND_VERSION = 6
"""From this version on DescribeGroups says that a group is unknown; before, it is described as Dead (KIP-1043)."""


ALL_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS as bits: what anybody may do with a group where no
authorizer forbids it (`AclEntry.supportedOperations` of 4.x)."""


def describe(group: Group, api_version: int, with_operations: bool) -> DescribedGroup:
    """The group as DescribeGroups shows it: metadata and protocol only while they hold, in Stable."""
    operations = ALL_OPERATIONS if with_operations else NO_AUTHORIZED_OPERATIONS
    if not group.exists:
        missing = DescribedGroup(group_id=group.group_id, group_state=DEAD.value)
        if api_version >= GROUP_ID_NOT_FOUND_VERSION:
            missing.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            missing.error_message = f"Group {group.group_id} not found."
        else:
            missing.authorized_operations = operations
        return missing
    stable = group.state is STABLE
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata_for(group.protocol_name) if stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
        authorized_operations=operations,
    )


def listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type="classic",
    )


def remove(group: Group, now_ms: int) -> tuple[ErrorCode, tuple[Event, ...]]:
    """DeleteGroups: an Empty group goes, with its committed offsets."""
    if not group.exists or group.state is DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND, ()
    if group.state is not EMPTY:
        return ErrorCode.NON_EMPTY_GROUP, ()
    return NONE, (*forget_all(group, now_ms), GroupRemoved(group.group_id, now_ms, Cause.ADMIN))
