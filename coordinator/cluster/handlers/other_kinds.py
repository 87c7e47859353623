"""Requests for share groups and streams groups at a node's own port: no group of the nodes is one of these.

Clients send them to a node if a rule adopts the name of their group. They are answered as Kafka answers for a group of
another kind, which tells nobody what there is: a group that does not exist is answered alike.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.messages import describe_share_group_offsets, share_group_describe, streams_group_describe
from coordinator.cluster.found import Finding, Found
from coordinator.cluster.relay.rules import OF_OTHER_KINDS
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps, awaited

Owns = Callable[[str, Callable[[Finding[None]], None]], None]
"""(group, answered): whether this node owns the group, or would with its first member."""
SHARE_GROUP: Final = "share"
STREAMS_GROUP: Final = "streams"


class _Described(msgspec.Struct, frozen=True):
    """An API that asks about several groups."""

    groups: Callable[[Any], list[str]]
    of_group: Any
    """The class of what the response has for each of them."""


DESCRIBED: Final = {
    "ShareGroupDescribe": _Described(lambda request: request.group_ids, share_group_describe.DescribedGroup),
    "StreamsGroupDescribe": _Described(lambda request: request.group_ids, streams_group_describe.DescribedGroup),
    "DescribeShareGroupOffsets": _Described(
        lambda request: [group.group_id for group in request.groups], describe_share_group_offsets.ResponseGroup
    ),
}


class OtherKindHandlers:
    """Answers these APIs. Nothing is read or changed, so nothing needs to be allowed."""

    def __init__(self, owns: Owns) -> None:
        self._owns = owns

    def add_to(self, table: DispatchTable) -> None:
        for name in OF_OTHER_KINDS:
            described = DESCRIBED.get(name)
            error_of: Callable[..., Any] = _error_of_one
            handler: Callable[..., Any] = self._answer
            if described is not None:
                error_of, handler = _error_by_group, self._answer_groups
            api = APIS.named(name)
            versions = (api.min_version, api.max_version)
            table.add(name, partial(handler, name), partial(error_of, name), versions=versions)

    def _answer(self, name: str, request: Any, context: RequestContext) -> Steps[Any]:
        error = yield from self._error(request.group_id)
        response = _error_of_one(name, request, error, context.api_version)
        response.error_message = _message(name, request.group_id, error)
        return response

    def _answer_groups(self, name: str, request: Any, context: RequestContext) -> Steps[Any]:
        response = APIS.named(name).response()
        described = DESCRIBED[name]
        for group_id in described.groups(request):
            error = yield from self._error(group_id)
            message = _message(name, group_id, error)
            response.groups.append(described.of_group(group_id=group_id, error_code=error, error_message=message))  # type: ignore[attr-defined]
        return response

    def _error(self, group_id: str) -> Steps[ErrorCode]:
        """A client that is told NOT_COORDINATOR looks for the coordinator, and waits if nobody knows it now."""
        owned: Finding[None] = yield from awaited(partial(self._owns, group_id))
        return ErrorCode.GROUP_ID_NOT_FOUND if isinstance(owned, Found) else ErrorCode.NOT_COORDINATOR


def _message(name: str, group_id: str, error: ErrorCode) -> str | None:
    """As Kafka says it."""
    if error is not ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    kind = STREAMS_GROUP if name.startswith("Streams") else SHARE_GROUP
    return f"Group {group_id} is not a {kind} group."


def _error_of_one(name: str, request: Any, error: ErrorCode, api_version: int) -> Any:
    return APIS.named(name).response(error_code=error)  # type: ignore[call-arg]


def _error_by_group(name: str, request: Any, error: ErrorCode, api_version: int) -> Any:
    described = DESCRIBED[name]
    groups = [described.of_group(group_id=group_id, error_code=error) for group_id in described.groups(request)]
    return APIS.named(name).response(groups=groups)  # type: ignore[call-arg]
