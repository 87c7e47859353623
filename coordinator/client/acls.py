"""ACLs of a server: list, add and remove them (DescribeAcls, CreateAcls, DeleteAcls)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from _wire.messages.describe_acls import DescribeAclsRequest
from coordinator.client.bootstrap import Server
from coordinator.client.wire import ClientError, WireConnection
from coordinator.security.acls.filters import AclFilter
from coordinator.security.acls.model import Acl

CLIENT_ID: Final = "coordinator-acls"


def list_acls(server: Server, acl_filter: AclFilter) -> list[Acl]:
    """The ACLs that a filter finds, by resource and principal.

    Raises:
        ClientError: the server cannot be reached, has no authorizer, or does not allow it.
    """
    with WireConnection(server, CLIENT_ID) as connection:
        response = connection.send_latest(
            DescribeAclsRequest(
                resource_type_filter=acl_filter.resource_type,
                resource_name_filter=acl_filter.resource_name,
                pattern_type_filter=acl_filter.pattern_type,
                principal_filter=acl_filter.principal,
                host_filter=acl_filter.host,
                operation=acl_filter.operation,
                permission_type=acl_filter.permission_type,
            )
        )
    _check(response, "cannot list ACLs")
    return sorted(
        Acl(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in response.resources
        for acl in resource.acls
    )


def add_acls(server: Server, acls: Sequence[Acl]) -> None:
    """Create ACLs; one that is there already stays.

    Raises:
        ClientError: as `list_acls`, or an ACL cannot be created. Those before it are.
    """
    creations = [
        AclCreation(
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            resource_pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
        for acl in acls
    ]
    with WireConnection(server, CLIENT_ID) as connection:
        response = connection.send_latest(CreateAclsRequest(creations=creations))
    for result in response.results:
        _check(result, "cannot create an ACL")


def remove_acls(server: Server, acl_filter: Sequence[AclFilter]) -> list[Acl]:
    """Delete what filters find, and return it.

    Raises:
        ClientError: as `list_acls`.
    """
    filters = [
        DeleteAclsFilter(
            resource_type_filter=filter_.resource_type,
            resource_name_filter=filter_.resource_name,
            pattern_type_filter=filter_.pattern_type,
            principal_filter=filter_.principal,
            host_filter=filter_.host,
            operation=filter_.operation,
            permission_type=filter_.permission_type,
        )
        for filter_ in acl_filter
    ]
    with WireConnection(server, CLIENT_ID) as connection:
        response = connection.send_latest(DeleteAclsRequest(filters=filters))
    return sorted(_removed(response.filter_results))


def _removed(results: Sequence[Any]) -> Iterator[Acl]:
    for result in results:
        _check(result, "cannot delete ACLs")
        for acl in result.matching_acls:
            _check(acl, "cannot delete an ACL")
            yield Acl(
                acl.resource_type,
                acl.resource_name,
                acl.pattern_type,
                acl.principal,
                acl.host,
                acl.operation,
                acl.permission_type,
            )


def _check(result: Any, what: str) -> None:
    if result.error_code != ErrorCode.NONE:
        name = ErrorCode(result.error_code).name
        raise ClientError(f"{what}: {name}, {result.error_message or ErrorCode(result.error_code).description}")
