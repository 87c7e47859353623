"""Takes what is denied out of requests that have it in more than one list, or whose answers depend on more than it."""

from collections.abc import Mapping
from typing import Any

from _wire.errors import ErrorCode
from _wire.messages.offset_fetch import OffsetFetchResponse
from coordinator.core.offsets.fetch import GROUPS_VERSION, failed_topics
from coordinator.front.denied_elements import (
    ELEMENTS_AT_ONCE,
    TAF,
    Access,
    Denied,
    Part,
    topic_key,
)
from coordinator.front.request_context import RequestContext
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import ResourceType


def remove_from_offset_fetch(denied: Denied, request: Any, call: RequestContext, access: Access) -> Steps[Part]:
    """Groups, and of the others topics."""
    version = call.api_version
    if version < GROUPS_VERSION:
        if (ResourceType.GROUP, request.group_id) in denied:
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
            return Part(response=call.route.error_response(request, error, version))
        removed = {request.group_id: (yield from _remove_topics(denied, request))}
        return Part(add_to=lambda response: _add_topics(response, removed))
    left = []
    refused: list[Any] = []
    removed = {}
    for group in request.groups:
        if (ResourceType.GROUP, group.group_id) in denied:
            refused.append(group)
        else:
            left.append(group)
            if group.topics is not None:
                removed[group.group_id] = yield from _remove_topics(denied, group)
        yield
    request.groups = left
    alone = type(request)(groups=refused)
    answers = call.route.error_response(alone, ErrorCode.GROUP_AUTHORIZATION_FAILED, version).groups
    if not left:
        return Part(response=OffsetFetchResponse(groups=answers))

    def add_to(response: Any) -> None:
        _add_topics(response, removed)
        response.groups.extend(answers)

    return Part(add_to=add_to)


def _remove_topics(denied: Denied, owner: Any) -> Steps[list[Any]]:
    """Take the denied topics out of the request for a group."""
    left: list[Any] = []
    removed: list[Any] = []
    for position, topic in enumerate(owner.topics or ()):
        (removed if topic_key(owner, topic) in denied else left).append(topic)
        if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
            yield
    if removed:
        owner.topics = left
    return failed_topics(removed, TAF)


def _add_topics(response: Any, removed: Mapping[str, list[Any]]) -> None:
    """Add the answers of denied topics to those of their groups, unless the group as a whole has an error."""
    for group in response.groups:
        if not group.error_code:
            group.topics.extend(removed.get(group.group_id, ()))
