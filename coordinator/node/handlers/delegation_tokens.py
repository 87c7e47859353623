"""The APIs of delegation tokens (KIP-48), which are refused as by a Kafka without `delegation.token.secret.key`.

They are served at all because tools guess the version of a broker from the APIs that it lists.
"""

from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from _wire.messages.describe_delegation_token import DescribeDelegationTokenRequest, DescribeDelegationTokenResponse
from _wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from _wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps
from coordinator.security.principal import ANONYMOUS, USER_TYPE

NO_TIME: Final = -1
REQUESTER_VERSION: Final = 3
"""From this version on a token can be created for somebody else (KIP-373)."""


class DelegationTokenHandlers:
    """Says that there are no delegation tokens."""

    def add_to(self, table: DispatchTable) -> None:
        table.add("CreateDelegationToken", self.create, _create_error)
        table.add("RenewDelegationToken", self.renew, _renew_error)
        table.add("ExpireDelegationToken", self.expire, _expire_error)
        table.add("DescribeDelegationToken", self.describe, _describe_error)

    def create(self, request: CreateDelegationTokenRequest, call: RequestContext) -> Steps[Any]:
        """The owner is who asks, or the one that is named (KIP-373)."""
        error = _refusal(call)
        for renewer in request.renewers:
            if error is ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED and renewer.principal_type != USER_TYPE:
                error = ErrorCode.INVALID_PRINCIPAL_TYPE
            yield
        response = _create_error(request, error, call.api_version)
        requester = call.principal
        if call.api_version >= REQUESTER_VERSION:
            response.token_requester_principal_type, response.token_requester_principal_name = requester
        if not request.owner_principal_name:
            response.principal_type, response.principal_name = requester
        return response

    def renew(self, request: RenewDelegationTokenRequest, call: RequestContext) -> Any:
        return _renew_error(request, _refusal(call), call.api_version)

    def expire(self, request: ExpireDelegationTokenRequest, call: RequestContext) -> Any:
        return _expire_error(request, _refusal(call), call.api_version)

    def describe(self, request: DescribeDelegationTokenRequest, call: RequestContext) -> Any:
        return _describe_error(request, _refusal(call), call.api_version)


def _refusal(call: RequestContext) -> ErrorCode:
    """Kafka takes these requests only from clients that have proved who they are."""
    if tuple(call.principal) == tuple(ANONYMOUS):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def _create_error(request: CreateDelegationTokenRequest, error: ErrorCode, api_version: int) -> Any:
    return CreateDelegationTokenResponse(
        error_code=error,
        principal_type=request.owner_principal_type or "",
        principal_name=request.owner_principal_name or "",
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


def _renew_error(request: RenewDelegationTokenRequest, error: ErrorCode, api_version: int) -> Any:
    return RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=NO_TIME)


def _expire_error(request: ExpireDelegationTokenRequest, error: ErrorCode, api_version: int) -> Any:
    return ExpireDelegationTokenResponse(error_code=error, expiry_timestamp_ms=NO_TIME)


def _describe_error(request: DescribeDelegationTokenRequest, error: ErrorCode, api_version: int) -> Any:
    return DescribeDelegationTokenResponse(error_code=error)
