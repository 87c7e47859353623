"""Access control lists, of which this server has none."""

from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from _wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from _wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from coordinator.server.dispatch import DispatchTable
from coordinator.server.request_context import RequestContext

NO_AUTHORIZER: Final = "No Authorizer is configured."
NO_AUTHORIZER_TO_ASK: Final = "No Authorizer is configured on the broker"


class SecurityHandlers:
    """Answers as a broker without an authorizer."""

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeAcls", self.describe_acls, versions=(1, 3))
        table.add("CreateAcls", self.create_acls, _create_error, versions=(1, 3))
        table.add("DeleteAcls", self.delete_acls, _delete_error, versions=(1, 3))

    def describe_acls(self, request: DescribeAclsRequest, call: RequestContext) -> DescribeAclsResponse:
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER_TO_ASK)

    def create_acls(self, request: CreateAclsRequest, call: RequestContext) -> CreateAclsResponse:
        return _create_error(request, ErrorCode.SECURITY_DISABLED, call.api_version, NO_AUTHORIZER)

    def delete_acls(self, request: DeleteAclsRequest, call: RequestContext) -> DeleteAclsResponse:
        return _delete_error(request, ErrorCode.SECURITY_DISABLED, call.api_version, NO_AUTHORIZER)


def _create_error(
    request: CreateAclsRequest, error: ErrorCode, api_version: int, message: str | None = None
) -> CreateAclsResponse:
    result = AclCreationResult(error_code=error, error_message=message or error.description)
    return CreateAclsResponse(results=[result] * len(request.creations))


def _delete_error(
    request: DeleteAclsRequest, error: ErrorCode, api_version: int, message: str | None = None
) -> DeleteAclsResponse:
    result = DeleteAclsFilterResult(error_code=error, error_message=message or error.description)
    return DeleteAclsResponse(filter_results=[result] * len(request.filters))
