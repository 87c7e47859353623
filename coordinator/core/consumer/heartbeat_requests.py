"""ConsumerGroupHeartbeat before its group is asked: what Kafka rejects there, and the responses.

Counterpart in Kafka: `throwIfConsumerGroupHeartbeatRequestIsInvalid` of `GroupCoordinatorService`.
"""

from collections.abc import Generator
from typing import Any, Final, final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_ASSIGNORS
from coordinator.core.consumer.long_heartbeats import NAMES_SORTED_AT_ONCE, LongHeartbeat, sorting_names
from coordinator.core.consumer.member import LEAVE_EPOCH, LEAVE_STATIC_EPOCH, NO_EPOCH
from coordinator.core.consumer.reports import is_report
from coordinator.core.consumer.settings import settings_of
from coordinator.core.consumer.topic_partitions import EpochsByPartition
from coordinator.core.decision import OperationContext
from coordinator.core.operation import Answer

API: Final = "ConsumerGroupHeartbeat"
OWN_MEMBER_ID_VERSION: Final = 1
"""From this version on members make their ids themselves."""
UNCHANGED_TIMEOUT: Final = -1


@final
class Rejection(msgspec.Struct, frozen=True):
    """Why a request is rejected."""

    error: ErrorCode
    message: str | None
    injected: bool = False
    """A fault of a test is the reason."""


def not_found(kind: str, group_id: str, member_epoch: int) -> Rejection:
    """There is no group of this id, of which a member that has joined sends a heartbeat."""
    what = "Group" if member_epoch < 0 else f"{kind.capitalize()} group"
    return Rejection(ErrorCode.GROUP_ID_NOT_FOUND, f"{what} {group_id} not found.")


def of_other_kind(kind: str, group_id: str) -> Rejection:
    """There is a group of this id, but it is not of this kind."""
    return Rejection(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a {kind} group.")


def rejection_response(rejection: Rejection) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=rejection.error, error_message=rejection.message)


def error_response(
    request: ConsumerGroupHeartbeatRequest, error: ErrorCode, api_version: int
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error)


def prepare(
    request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> ConsumerGroupHeartbeatRequest | Answer | Generator[None, None, LongHeartbeat]:
    """Reject what needs no group to be found wrong. Very many names are put in order before the group is asked."""
    if not settings_of(context.environment).is_enabled():
        disabled = "The group coordinator does not serve the consumer group protocol: group.version is 0."
        return Answer(rejection_response(Rejection(ErrorCode.UNSUPPORTED_VERSION, disabled)))
    if is_report(request):
        return request
    reason = _invalid_reason(request, context.api_version)
    if reason is not None:
        return Answer(rejection_response(Rejection(ErrorCode.INVALID_REQUEST, reason)))
    if request.server_assignor is not None:
        assignors = context.config[GROUP_CONSUMER_ASSIGNORS]
        if request.server_assignor not in assignors:
            unsupported = f"ServerAssignor is not supported. Supported assignors: {', '.join(assignors)}."
            return Answer(rejection_response(Rejection(ErrorCode.UNSUPPORTED_ASSIGNOR, unsupported)))
    names = request.subscribed_topic_names
    return request if names is None or len(names) <= NAMES_SORTED_AT_ONCE else sorting_names(request, names)


def _invalid_reason(request: ConsumerGroupHeartbeatRequest, api_version: int) -> str | None:
    epoch = request.member_epoch
    needs_id = api_version >= OWN_MEMBER_ID_VERSION or epoch > NO_EPOCH or epoch == LEAVE_EPOCH
    if needs_id and not request.member_id[:1] > " " and is_blank(request.member_id):
        return "MemberId can't be empty."
    if not request.group_id[:1] > " " and is_blank(request.group_id):
        return "GroupId can't be empty."
    if request.instance_id is not None and is_blank(request.instance_id):
        return "InstanceId can't be empty."
    if request.rack_id is not None and is_blank(request.rack_id):
        return "RackId can't be empty."
    if epoch == NO_EPOCH:
        return _invalid_join_reason(request)
    if epoch == LEAVE_STATIC_EPOCH:
        return "InstanceId can't be null." if request.instance_id is None else None
    return "MemberEpoch is invalid." if epoch < LEAVE_STATIC_EPOCH else None


def _invalid_join_reason(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == UNCHANGED_TIMEOUT:
        return "RebalanceTimeoutMs must be provided in first request."
    if request.topic_partitions is None or request.topic_partitions:
        return "TopicPartitions must be empty when (re-)joining."
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
    return None


JAVA_TRIMMED: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What `String.trim` strips."""


def is_blank(text: str) -> bool:
    """Whether a text has nothing but spaces and control characters."""
    return not text.strip(JAVA_TRIMMED)


def is_full_request(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a member says all about itself: it is told its assignment even if that has not changed."""
    has_subscription = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    return (
        request.topic_partitions is not None and has_subscription and request.rebalance_timeout_ms != UNCHANGED_TIMEOUT
    )


def assignment_of(assigned: EpochsByPartition) -> Assignment:
    """The partitions that a member may use, as its response has them."""
    partitions: list[Any] = [
        TopicPartitions(topic_id=topic_id, partitions=sorted(of_topic)) for topic_id, of_topic in assigned.items()
    ]
    return Assignment(topic_partitions=partitions)
