"""Access control lists and SCRAM credentials, of which this server has none."""

from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse
from _wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse
from _wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from _wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from coordinator.runtime.slices import Steps
from coordinator.server.dispatch import DispatchTable
from coordinator.server.request_context import RequestContext

NO_AUTHORIZER: Final = "No Authorizer is configured."
NO_AUTHORIZER_TO_ASK: Final = "No Authorizer is configured on the broker"


class SecurityHandlers:
    """Answers as a broker without an authorizer and without users."""

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeAcls", self.describe_acls, versions=(1, 3))
        table.add("CreateAcls", self.create_acls, _create_error, versions=(1, 3))
        table.add("DeleteAcls", self.delete_acls, _delete_error, versions=(1, 3))
        table.add("DescribeUserScramCredentials", self.describe_credentials, versions=(0, 0))

    def describe_acls(self, request: DescribeAclsRequest, call: RequestContext) -> DescribeAclsResponse:
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER_TO_ASK)

    def create_acls(self, request: CreateAclsRequest, call: RequestContext) -> CreateAclsResponse:
        return _create_error(request, ErrorCode.SECURITY_DISABLED, call.api_version, NO_AUTHORIZER)

    def delete_acls(self, request: DeleteAclsRequest, call: RequestContext) -> DeleteAclsResponse:
        return _delete_error(request, ErrorCode.SECURITY_DISABLED, call.api_version, NO_AUTHORIZER)

    def describe_credentials(
        self, request: DescribeUserScramCredentialsRequest, call: RequestContext
    ) -> Steps[DescribeUserScramCredentialsResponse]:
        """Null and an empty list ask for all users."""
        times: dict[str, int] = {}
        for user in request.users or ():
            times[user.name] = times.get(user.name, 0) + 1
            yield
        results = []
        for name, asked in times.items():
            results.append(_no_credential(name, asked > 1))
            yield
        return DescribeUserScramCredentialsResponse(error_message="", results=results)


def _no_credential(name: str, is_asked_twice: bool) -> DescribeUserScramCredentialsResult:
    error = ErrorCode.RESOURCE_NOT_FOUND
    message = f"Attempt to describe a user credential that does not exist: {name}"
    if is_asked_twice:
        error = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    return DescribeUserScramCredentialsResult(user=name, error_code=error, error_message=message)


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
