"""ShareGroupHeartbeat before its group is asked: what Kafka rejects there, and the responses.

Counterpart in Kafka: `throwIfShareGroupHeartbeatRequestIsInvalid` of `GroupCoordinatorService`.
"""

from collections.abc import Generator
from typing import Any, Final, NamedTuple

from _wire.errors import ErrorCode
from _wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from coordinator.core.consumer import topic_partitions
from coordinator.core.consumer.heartbeat_requests import Rejection, is_blank
from coordinator.core.consumer.long_heartbeats import NAMES_SORTED_AT_ONCE, sorting
from coordinator.core.decision import OperationContext
from coordinator.core.operation import Answer
from coordinator.core.share.member import LEAVE_EPOCH, NO_EPOCH
from coordinator.core.share.settings import share_settings_of

API: Final = "ShareGroupHeartbeat"
MEMBER_ID_MAX: Final = 36
"""UTF-16 units of a member id."""


class LongShareHeartbeat(NamedTuple):
    """A heartbeat that names very many topics. It has the fields of the request, but its names are in order."""

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    subscribed_topic_names: tuple[str, ...]
    """In ascending order, without doubles."""


def share_rejection_response(rejection: Rejection) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=rejection.error, error_message=rejection.message)


def error_response(
    request: ShareGroupHeartbeatRequest, error: ErrorCode, api_version: int
) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error)


def prepare(
    request: ShareGroupHeartbeatRequest, context: OperationContext
) -> ShareGroupHeartbeatRequest | Answer | Generator[None, None, LongShareHeartbeat]:
    """Reject what needs no group to be found wrong. Very many names are put in order before the group is asked."""
    if not share_settings_of(context.environment).is_enabled():
        disabled = "The group coordinator does not serve share groups: share.version is 0."
        return Answer(share_rejection_response(Rejection(ErrorCode.UNSUPPORTED_VERSION, disabled)))
    if not request.member_id or len(request.member_id.encode("utf-16-le", "surrogatepass")) // 2 > MEMBER_ID_MAX:
        # Before all else, and without a word, on Kafka.
        return Answer(error_response(request, ErrorCode.INVALID_REQUEST, context.api_version))
    reason = _invalid_reason(request)
    if reason is not None:
        return Answer(share_rejection_response(Rejection(ErrorCode.INVALID_REQUEST, reason)))
    names = request.subscribed_topic_names
    return request if names is None or len(names) <= NAMES_SORTED_AT_ONCE else _sorting_names(request, names)


def _invalid_reason(request: ShareGroupHeartbeatRequest) -> str | None:
    if is_blank(request.member_id):
        return "MemberId can't be empty."
    if is_blank(request.group_id):
        return "GroupId can't be empty."
    if request.rack_id is not None and is_blank(request.rack_id):
        return "RackId can't be empty."
    if request.member_epoch == NO_EPOCH:
        return None if request.subscribed_topic_names else "SubscribedTopicNames must be set in first request."
    return "MemberEpoch is invalid." if request.member_epoch < LEAVE_EPOCH else None


def _sorting_names(request: ShareGroupHeartbeatRequest, names: list[str]) -> Generator[None, None, LongShareHeartbeat]:
    found = yield from sorting(names)
    return LongShareHeartbeat(request.group_id, request.member_id, request.member_epoch, request.rack_id, found)


def share_assignment_of(partitions: topic_partitions.TopicPartitions) -> Assignment:
    """The partitions that a member reads, as its response has them."""
    topics: list[Any] = [
        TopicPartitions(topic_id=topic_id, partitions=indexes) for topic_id, indexes in partitions.items()
    ]
    return Assignment(topic_partitions=topics)
