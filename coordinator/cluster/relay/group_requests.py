"""Requests for groups that come to a broker's port: those for groups of the nodes are answered here.

A client sends them to a broker that it took for the coordinator, before the group moved to a node. The error makes it
look the coordinator up again. All other requests are passed on as they are.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import msgspec

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.headers import decode_request_header, encode_response
from _wire.messages.join_group import JoinGroupResponse
from _wire.messages.offset_fetch import OffsetFetchRequest
from coordinator.cluster.found import NotFound
from coordinator.cluster.relay.directory import Directory
from coordinator.cluster.relay.responses import ASKED_AT_ONCE, ELEMENTS_MAX, LONG_FRAME_BYTES, in_long_steps
from coordinator.core.kinds.operations import OPERATIONS
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets import fetch as offset_fetch
from coordinator.runtime.slices import Steps, awaited_all

NULLABLE_PROTOCOL_NAME_VERSION: Final = 7
"""From this version on JoinGroup may name no protocol."""


class GroupRequest(msgspec.Struct, frozen=True):
    """How an API names groups, and how it reports an error."""

    group_ids: Callable[[Any, int], Iterable[str]]
    """(request, version) → the groups that it is about."""
    error_response: Callable[[Any, ErrorCode, int], Any]
    """(request, error, version) → response."""
    downgrade: Callable[[Any, int], None] | None = None
    """(response, version): converts it to an older version, in place."""


def not_coordinator_response(frame: bytes, directory: Directory) -> Steps[bytes | None]:
    """The response to a request for groups of which a node owns one; None: it is to be passed on.

    If it is not known who owns a group, the answer is the same one: of all retriable errors, only NOT_COORDINATOR is
    handled in the same way by all clients, for all these APIs. They look the coordinator up, and are told to wait.
    The frame is given without its length; the response has its length.

    Raises:
        MalformedMessage: the request cannot be decoded, or has too many elements.
    """
    header, body_start = decode_request_header(frame)
    version = header.api_version
    api = APIS[header.api_key]
    group_request = GROUP_REQUESTS[header.api_key]
    decode = partial(api.request.decode, frame, version, body_start, False, ELEMENTS_MAX)
    request: Any = (yield from in_long_steps(decode, len(frame))) if len(frame) > LONG_FRAME_BYTES else decode()
    group_ids = list(group_request.group_ids(request, version))
    for start in range(0, len(group_ids), ASKED_AT_ONCE):
        asks = [partial(directory.owner_of, group_id) for group_id in group_ids[start : start + ASKED_AT_ONCE]]
        owners = yield from awaited_all(asks)
        if not all(isinstance(owner, NotFound) for owner in owners):
            response = group_request.error_response(request, ErrorCode.NOT_COORDINATOR, version)
            if group_request.downgrade is not None:
                group_request.downgrade(response, version)
            return encode_response(header.correlation_id, response, version)
        yield
    return None


def _group_id(request: Any, version: int) -> Iterable[str]:
    return (request.group_id,)


def _offset_fetch_groups(request: OffsetFetchRequest, version: int) -> Iterable[str]:
    if version < offset_fetch.GROUPS_VERSION:
        return (request.group_id,)
    return (group.group_id for group in request.groups)


def _name_protocol(response: JoinGroupResponse, version: int) -> None:
    if version < NULLABLE_PROTOCOL_NAME_VERSION:
        response.protocol_name = ""


def _of_operation(name: str) -> Callable[[Any, ErrorCode, int], Any]:
    error_response = OPERATIONS[name].error_response
    assert error_response is not None, name
    return error_response


GROUP_REQUESTS: Final[dict[int, GroupRequest]] = {
    APIS.named(name).key: group_request
    for name, group_request in {
        "JoinGroup": GroupRequest(_group_id, _of_operation("JoinGroup"), _name_protocol),
        "LeaveGroup": GroupRequest(_group_id, _of_operation("LeaveGroup")),
        "OffsetCommit": GroupRequest(_group_id, offset_commit.request_error),
        "TxnOffsetCommit": GroupRequest(_group_id, _of_operation("TxnOffsetCommit")),
        "OffsetFetch": GroupRequest(_offset_fetch_groups, offset_fetch.request_error, offset_fetch.downgrade),
        "OffsetDelete": GroupRequest(_group_id, _of_operation("OffsetDelete")),
        "DescribeGroups": GroupRequest(lambda request, version: request.groups, _of_operation("DescribeGroups")),
        "DeleteGroups": GroupRequest(lambda request, version: request.groups_names, _of_operation("DeleteGroups")),
        "ConsumerGroupHeartbeat": GroupRequest(_group_id, _of_operation("ConsumerGroupHeartbeat")),
        "ConsumerGroupDescribe": GroupRequest(
            lambda request, version: request.group_ids, _of_operation("ConsumerGroupDescribe")
        ),
    }.items()
}
"""API key → how its requests are inspected."""
