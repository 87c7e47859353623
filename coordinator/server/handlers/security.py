"""SCRAM credentials, of which this server has none."""

from _wire.errors import ErrorCode
from _wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from coordinator.runtime.slices import Steps
from coordinator.server.dispatch import DispatchTable
from coordinator.server.request_context import RequestContext


class SecurityHandlers:
    """Answers as a broker without users."""

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeUserScramCredentials", self.describe_credentials, versions=(0, 0))

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
