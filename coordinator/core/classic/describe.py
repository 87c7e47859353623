"""DescribeGroups: a classic group as an administrator sees it. Groups of other kinds have an API of their own.

Counterpart in Kafka: `GroupMetadataManager.describeGroups`.
"""

from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.groups.admin import ALL_OPERATIONS, NO_AUTHORIZED_OPERATIONS
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import DEAD, STABLE

GROUP_ID_NOT_FOUND_VERSION: Final = 6
"""From this version on DescribeGroups says that a group is unknown; before, it is described as Dead (KIP-1043)."""


MEMBER_BYTES: Final = 600
"""About what a described member takes, without its metadata and assignment."""


def described_bytes(group: ClassicGroup) -> int:
    """About what the description of the members takes in memory, or when it is encoded."""
    protocol = group.protocol_name if group.state is STABLE else None
    return sum(
        MEMBER_BYTES + len(member.assignment) + (0 if protocol is None else len(member.metadata_for(protocol)))
        for member in group.members.values()
    )


def describe(group: Group[ClassicGroup] | None, request: DescribeGroupsRequest, context: OperationContext) -> Decision:
    """The one group that the request asks for."""
    operations = ALL_OPERATIONS if request.include_authorized_operations else NO_AUTHORIZED_OPERATIONS
    if group is None:
        answer = _not_described(request.groups[0], "not found", operations, context.api_version)
    else:
        answer = described(group.membership, operations)
    return replying(context, DescribeGroupsResponse(groups=[answer]))


def describe_other_kind(group: Group[Any], request: DescribeGroupsRequest, context: OperationContext) -> Decision:
    """A group that is no classic group."""
    operations = ALL_OPERATIONS if request.include_authorized_operations else NO_AUTHORIZED_OPERATIONS
    answer = _not_described(group.group_id, "is not a classic group", operations, context.api_version)
    return replying(context, DescribeGroupsResponse(groups=[answer]))


def _not_described(group_id: str, why: str, operations: int, api_version: int) -> DescribedGroup:
    missing = DescribedGroup(group_id=group_id, group_state=DEAD.value)
    if api_version >= GROUP_ID_NOT_FOUND_VERSION:
        missing.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        missing.error_message = f"Group {group_id} {why}."
    else:
        missing.authorized_operations = operations
    return missing


def described(group: ClassicGroup, operations: int = NO_AUTHORIZED_OPERATIONS) -> DescribedGroup:
    """The group as DescribeGroups shows it.

    Protocol and members' metadata are shown only in Stable, where they are the generation's.
    """
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
