"""Requests of administrators: describe, list and delete groups.

Counterpart in Kafka: `GroupMetadataManager.describeGroups`, `GroupCoordinatorShard.listGroups`, `deleteGroups`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from _wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from coordinator.core.causes import Cause
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.groups.events import GroupRemoved
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import NoMember, rejecting
from coordinator.core.offsets.delete import forget_all
from coordinator.core.offsets.expiry import ended_sessions

NO_AUTHORIZED_OPERATIONS = -(2**31)
"""Kafka's value for authorized operations that were not requested (KIP-430)."""

ALL_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and ALTER_CONFIGS as bits: what every client may do with a group where no
authorizer forbids it (`AclEntry.supportedOperations` of 4.x)."""

JAVA_WHITESPACE: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What `String.trim` strips: Kafka trims the states of a filter, but not its types."""


def describe_per_group(request: DescribeGroupsRequest) -> Iterable[tuple[str, DescribeGroupsRequest]]:
    """Split a request: group id and the request for that group alone."""
    for group_id in request.groups:
        with_operations = request.include_authorized_operations
        yield group_id, DescribeGroupsRequest(groups=[group_id], include_authorized_operations=with_operations)


def merge_described(responses: Iterable[DescribeGroupsResponse]) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[group for response in responses for group in response.groups])


def describe_error(request: DescribeGroupsRequest, error: ErrorCode, api_version: int) -> DescribeGroupsResponse:
    groups = [DescribedGroup(group_id=group_id, error_code=error) for group_id in request.groups]
    return DescribeGroupsResponse(groups=groups)


def list_error(request: ListGroupsRequest, error: ErrorCode, api_version: int) -> ListGroupsResponse:
    """For one shard. One that another node leads is no error: that node lists its groups, as in Kafka."""
    return ListGroupsResponse(error_code=NONE if error is ErrorCode.NOT_COORDINATOR else error)


def list_groups(groups: Mapping[str, Group[Any]], request: ListGroupsRequest, context: OperationContext) -> Decision:
    """The groups of one shard that pass the filters, which ignore case."""
    states = {state.strip(JAVA_WHITESPACE).lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    listed = [
        group
        for group in map(_listed, groups.values())
        if (not states or group.group_state.lower() in states) and (not types or group.group_type.lower() in types)
    ]
    return replying(context, ListGroupsResponse(groups=listed))


def merge_listed(responses: Iterable[ListGroupsResponse]) -> ListGroupsResponse:
    """The groups of the shards that answered; the error is that of the first shard that failed."""
    merged = ListGroupsResponse()
    for response in responses:
        merged.groups.extend(response.groups)
        if merged.error_code == NONE:
            merged.error_code = response.error_code
    return merged


def _listed(group: Group[Any]) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.membership.protocol_type or "",
        group_state=group.membership.state.value,
        group_type=group.kind.name,
    )


def delete_per_group(request: DeleteGroupsRequest) -> Iterable[tuple[str, DeleteGroupsRequest]]:
    """Split a request by group; a group that is named twice is deleted and answered once."""
    named: set[str] = set()
    for group_id in request.groups_names:
        if group_id not in named:
            named.add(group_id)
            yield group_id, DeleteGroupsRequest(groups_names=[group_id])


def merge_deleted(responses: Iterable[DeleteGroupsResponse]) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[result for response in responses for result in response.results])


def delete_error(request: DeleteGroupsRequest, error: ErrorCode, api_version: int) -> DeleteGroupsResponse:
    results = [DeletableGroupResult(group_id=group_id, error_code=error) for group_id in request.groups_names]
    return DeleteGroupsResponse(results=results)


def delete(group: Group[Any] | None, request: DeleteGroupsRequest, context: OperationContext) -> Decision:
    """Remove the one group that the request names, with its committed offsets, if it is Empty."""
    if group is None:
        return replying(context, delete_error(request, ErrorCode.GROUP_ID_NOT_FOUND, context.api_version))
    error = group.kind.validate_removal(group.membership)
    if error is not NONE:
        refused = replying(context, delete_error(request, error, context.api_version))
        return rejecting(group, "DeleteGroups", NoMember(), error, refused, context)
    removed = GroupRemoved(
        group_id=group.group_id, at_ms=context.wall_ms, cause=Cause.ADMIN, requested_by=context.requester
    )
    response = delete_error(request, NONE, context.api_version)
    ended = ended_sessions(group)
    return replying(context, response, *forget_all(group, context), removed, effects=ended)
