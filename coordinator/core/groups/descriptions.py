"""The API that describes the groups of a kind, as an administrator sees them. Kinds differ in what they say of a group.

Counterpart in Kafka: `GroupMetadataManager.consumerGroupDescribe`, `shareGroupDescribe`, `streamsGroupDescribe`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.core.decision import Decision, Environment, OperationContext, replying
from coordinator.core.groups.admin import ALL_OPERATIONS
from coordinator.core.groups.group import Group
from coordinator.core.operation import Answer

MEMBERS_PER_OPERATION: Final = 10
"""To describe so many members takes as long as another operation."""


class Descriptions:
    """The API of one kind. The messages of all kinds have the same fields; only what they say of a group differs."""

    def __init__(
        self,
        a_group: str,
        messages: tuple[type[Any], type[Any], type[Any]],
        described: Callable[[Any, OperationContext], Any],
        is_enabled: Callable[[Environment], bool],
    ) -> None:
        """`a_group` is what the kind is called, as in "is not a share group".

        `messages` are the request, the response and its element; `described` makes an element of a membership.
        """
        self._a_group = a_group
        self._request, self._response, self._element = messages
        self._described = described
        self._is_enabled = is_enabled

    def prepare(self, request: Any, context: OperationContext) -> Any:
        """Reject everything while the kind is switched off."""
        if not self._is_enabled(context.environment):
            return Answer(self.error_response(request, ErrorCode.UNSUPPORTED_VERSION, context.api_version))
        return request

    def per_group(self, request: Any) -> Iterable[tuple[str, Any]]:
        """Split a request: group id and the request for that group alone."""
        with_operations = request.include_authorized_operations
        for group_id in request.group_ids:
            yield group_id, self._request(group_ids=[group_id], include_authorized_operations=with_operations)

    def merge(self, responses: Iterable[Any]) -> Any:
        return self._response(groups=[group for response in responses for group in response.groups])

    def error_response(self, request: Any, error: ErrorCode, api_version: int) -> Any:
        return self._response(
            groups=[self._element(group_id=group_id, error_code=error) for group_id in request.group_ids]
        )

    def describe(self, group: Group[Any] | None, request: Any, context: OperationContext) -> Decision:
        """The one group that the request asks for."""
        (group_id,) = request.group_ids
        if not group_id:
            return replying(context, self.error_response(request, ErrorCode.INVALID_GROUP_ID, context.api_version))
        if group is None:
            return self._not_described(group_id, "not found", context)
        described = self._described(group.membership, context)
        if request.include_authorized_operations:
            described.authorized_operations = ALL_OPERATIONS
        response = self._response(groups=[described])
        return replying(context, response, weight=len(described.members) // MEMBERS_PER_OPERATION)

    def describe_other_kind(self, group: Group[Any], request: Any, context: OperationContext) -> Decision:
        """A group of another kind."""
        return self._not_described(group.group_id, f"is not {self._a_group}", context)

    def _not_described(self, group_id: str, why: str, context: OperationContext) -> Decision:
        missing = self._element(
            group_id=group_id, error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=f"Group {group_id} {why}."
        )
        return replying(context, self._response(groups=[missing]))
