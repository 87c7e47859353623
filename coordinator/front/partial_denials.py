"""What becomes of a request of which a part is denied, per API: a row for each API that has such requirements.

A row says which elements of the request are taken out before it is handled, how they are answered, and what is left out
of a response. So handlers know nothing of authorization. The rules are those of `KafkaApis` and `ControllerApis` of
Kafka 4.3.1; which operations they are about is in `requirements.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from coordinator.front.authorization import Requirement, WhenDenied
from coordinator.front.denied_elements import (
    Elements,
    Part,
    RemoveDenied,
    groups_deleted,
    merged,
    name_key,
    offsets_deleted,
    topic_key,
    topics_by_error_response,
)
from coordinator.front.denied_requests import (
    remove_from_offset_fetch,
)
from coordinator.front.hidden_resources import (
    LeaveOut,
    Reported,
    fetches_all,
    hide_groups,
    keep,
    leave_out_fetched_topics,
    operations_on_groups,
)
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import ResourceType


def _always(request: Any, api_version: int) -> bool:
    return True


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What is done for one API."""

    remove_denied: RemoveDenied | None = None
    """For requirements that are answered one by one (REJECT_RESOURCES)."""
    restrict: Callable[[Callable[[str], bool], Any], Steps[Part]] | None = None
    """For found resources (LEAVE_OUT): names those that are allowed in the request, in place of all."""
    leave_out: LeaveOut | None = None
    """For found resources (LEAVE_OUT): leaves those that are not allowed out of the response."""
    has_found: Callable[[Any, int], bool] = _always
    """(request, version): whether the response may have resources that the request does not name."""
    operations: Callable[[Any, Any], Iterator[Reported]] | None = None
    """(request, response) → where authorized operations are reported."""
    has_operations: Callable[[Any], bool] = lambda request: True
    """Whether a request asks for authorized operations."""


NO_ROW: Final = Row()


def suffices(row: Row, requirements: Iterable[Requirement]) -> bool:
    """Whether all requirements of an API that are not about the whole request have what they need."""
    kinds = {requirement.when_denied for requirement in requirements}
    return (WhenDenied.REJECT_RESOURCES not in kinds or row.remove_denied is not None) and (
        WhenDenied.LEAVE_OUT not in kinds or row.restrict is not None or row.leave_out is not None
    )


_OF_OFFSETS: Final = Elements("topics", "topics", topic_key, merged(topics_by_error_response("partitions")))

GROUP_ROWS: Final[Mapping[str, Row]] = {
    "ConsumerGroupDescribe": Row(
        remove_denied=Elements("group_ids", "groups", name_key(ResourceType.GROUP)),
        leave_out=hide_groups,
        operations=operations_on_groups,
        has_operations=lambda request: request.include_authorized_operations,
    ),
    "OffsetCommit": Row(remove_denied=_OF_OFFSETS),
    "OffsetFetch": Row(
        remove_denied=remove_from_offset_fetch, leave_out=leave_out_fetched_topics, has_found=fetches_all
    ),
    "OffsetDelete": Row(remove_denied=Elements("topics", "topics", topic_key, merged(offsets_deleted))),
    "DescribeGroups": Row(
        remove_denied=Elements("groups", "groups", name_key(ResourceType.GROUP)),
        operations=operations_on_groups,
        has_operations=lambda request: request.include_authorized_operations,
    ),
    "DeleteGroups": Row(
        remove_denied=Elements("groups_names", "results", name_key(ResourceType.GROUP), groups_deleted)
    ),
    "ListGroups": Row(leave_out=keep("groups", "group_id")),
    "TxnOffsetCommit": Row(remove_denied=_OF_OFFSETS),
}
"""Name of an API of groups → what becomes of a part that is denied."""
