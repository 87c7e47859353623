"""ConsumerGroupHeartbeat: a member joins, is alive, changes its subscription, or shows what it gave up (KIP-848).

Counterpart in Kafka: `GroupMetadataManager.consumerGroupHeartbeat`. `leaving.py` has the heartbeats that leave.
"""

from base64 import urlsafe_b64encode
from functools import partial
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_MAX_SIZE
from coordinator.core.consumer.failed_work import reason_to_report
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat_requests import (
    API,
    UNCHANGED_TIMEOUT,
    Rejection,
    assignment_of,
    is_full_request,
    not_found,
    rejection_response,
)
from coordinator.core.consumer.identification import identify
from coordinator.core.consumer.leaving import leave
from coordinator.core.consumer.long_heartbeats import sorted_names
from coordinator.core.consumer.member import (
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    NO_EPOCH,
    CurrentAssignment,
    MemberMetadata,
)
from coordinator.core.consumer.member_update import MemberUpdate
from coordinator.core.consumer.reports import is_report
from coordinator.core.consumer.settings import settings_of
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.groups.clients_after_load import client_seen
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CONSUMER_NAME
from coordinator.core.groups.rejections import NamedMember, rejecting
from coordinator.core.sessions import HeartbeatsOpened, SessionRenewed

NEW_GROUP_OPERATIONS: Final = 5
"""To create a group takes as long as so many other operations."""


def heartbeat(
    group: Group[ConsumerGroup] | None, request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """Answer a heartbeat. One with epoch 0 makes the group."""
    decided: Decision | Rejection
    if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
        decided = _not_found(request) if group is None else leave(group.membership, request, context)
    elif group is not None:
        decided = decide(group.membership, request, context)
    elif request.member_epoch != NO_EPOCH:
        decided = _not_found(request)
    elif not context.environment.may_create_group(context.client_host):
        decided = Rejection(ErrorCode.POLICY_VIOLATION, "Clients of this address have created too many groups.")
    else:
        return _create(request, context)
    return decided if type(decided) is Decision else answered(group, request, decided, context)


def answered(
    group: Group[Any] | None,
    request: ConsumerGroupHeartbeatRequest,
    decided: Decision | Rejection,
    context: OperationContext,
) -> Decision:
    """The decision; a rejection is reported in the audit of the group."""
    if isinstance(decided, Decision):
        return decided
    decision = replying(context, rejection_response(decided))
    named = NamedMember(request.member_id, request.instance_id, request.member_epoch)
    return rejecting(group, API, named, decided.error, decision, context, injected=decided.injected)


def _create(request: ConsumerGroupHeartbeatRequest, context: OperationContext) -> Decision:
    decided = decide(ConsumerGroup(request.group_id), request, context)
    if isinstance(decided, Rejection):
        return answered(None, request, decided, context)
    created = GroupCreated(
        group_id=request.group_id, at_ms=context.wall_ms, client_host=context.client_host, kind=CONSUMER_NAME
    )
    weight = NEW_GROUP_OPERATIONS + decided.weight
    return Decision((created, *decided.events), decided.replies, decided.effects, weight=weight)


def _not_found(request: ConsumerGroupHeartbeatRequest) -> Rejection:
    return not_found(CONSUMER_NAME, request.group_id, request.member_epoch)


def decide(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision | Rejection:
    """The order of the checks is Kafka's: size, member, epoch, regular expression."""
    if request.member_id not in group.members and is_full(group, context):
        full = "The consumer group has reached its maximum size."
        return Rejection(ErrorCode.GROUP_MAX_SIZE_REACHED, full, is_filled(group, context))
    member_id = request.member_id or new_member_id(context)
    identified = identify(group, request, member_id)
    if type(identified) is Rejection:
        return identified
    update = partial(updated_metadata, request, context)
    step = MemberUpdate(group, context, member_id, identified, update, request.topic_partitions)
    if not request.member_id and (group.failed_target is not None or group.failed_resolution is not None):
        failure = reason_to_report(group, step.metadata, group.epoch + 1)
        if failure is not None:  # it would come back as another member
            return Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, failure)
    current = step.decide()
    return current if type(current) is Rejection else _answer(group, request, context, member_id, step, current)


def reject_too_large(
    group: Group[ConsumerGroup] | None, request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """The records of what the request changes do not fit into the log. As on Kafka the member's session goes on."""
    error = Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, "The records of the request are larger than message.max.bytes.")
    decision = replying(context, rejection_response(error))
    if group is None or request.member_id not in group.membership.members:
        return decision
    timeout_ms, _, _ = settings_of(context.environment).of(group.group_id)
    return msgspec.structs.replace(decision, effects=(SessionRenewed(request.member_id, timeout_ms),))


def updated_metadata(
    request: ConsumerGroupHeartbeatRequest, context: OperationContext, before: MemberMetadata
) -> MemberMetadata:
    """What the request says of the member; null is unchanged."""
    is_same_client = before.client_id == context.client_id and before.client_host == context.client_host
    if is_same_client and before.classic is None and is_report(request):
        return before
    changes: dict[str, Any] = {}
    if before.client_id != context.client_id:
        changes["client_id"] = context.client_id
    if before.client_host != context.client_host:
        changes["client_host"] = context.client_host
    if request.instance_id is not None and request.instance_id != before.group_instance_id:
        changes["group_instance_id"] = request.instance_id
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != UNCHANGED_TIMEOUT:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.server_assignor is not None:
        changes["server_assignor"] = request.server_assignor
    if request.subscribed_topic_names is not None:
        changes["topics"] = sorted_names(request.subscribed_topic_names)
    if request.subscribed_topic_regex is not None:
        changes["pattern"] = request.subscribed_topic_regex
    if before.classic is not None:
        changes["classic"] = None
    return msgspec.structs.replace(before, **changes) if changes else before


def _answer(
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    context: OperationContext,
    member_id: str,
    step: MemberUpdate,
    current: CurrentAssignment,
) -> Decision:
    interval_ms = step.heartbeat_interval_ms
    response = ConsumerGroupHeartbeatResponse(
        member_id=member_id, member_epoch=current.epoch, heartbeat_interval_ms=interval_ms
    )
    before, after = step.had.assigned, current.assigned
    if (
        request.member_epoch == NO_EPOCH
        or (after is not before and after != before)
        or (request.topic_partitions is not None and is_full_request(request))
    ):
        response.assignment = assignment_of(current.assigned)
    assert context.request_id is not None
    events, effects = tuple(step.events), step.effects()
    if step.is_member and group.members[member_id].client_connection is not context.client_connection:
        events += client_seen(group.group_id, group.members, member_id, context)
    if group.failed_target is not None or group.failed_resolution is not None:
        failure = reason_to_report(group, step.metadata, step.group_epoch)
        if failure is not None:
            # What the member says counts: it may be what makes the records fit.
            failed = rejection_response(Rejection(ErrorCode.UNKNOWN_SERVER_ERROR, failure))
            replies = (Reply(context.request_id, failed),)
            return Decision(events, replies, effects, no_step_follows=not step.events, weight=step.weight)
    until_ms = step.steady_until_ms(current)
    if until_ms is not None:
        opened = HeartbeatsOpened(
            member_id, current.epoch, interval_ms, context.client_id, context.client_host, until_ms
        )
        effects = (*effects, opened)
    return Decision(
        events,
        (Reply(context.request_id, response),),
        effects,
        no_step_follows=not step.events,
        keeps_heartbeats=step.keeps_heartbeats,
        weight=step.weight,
    )


def is_full(group: ConsumerGroup, context: OperationContext) -> bool:
    """Whether there is no room for a member that the group does not know."""
    filled_size = context.environment.filled_size
    return _is_full_by_itself(group, context) or (filled_size is not None and len(group.members) >= filled_size)


def is_filled(group: ConsumerGroup, context: OperationContext) -> bool:
    """Whether a fault of a test alone is why a full group has no room."""
    return not _is_full_by_itself(group, context)


def _is_full_by_itself(group: ConsumerGroup, context: OperationContext) -> bool:
    return len(group.members) >= context.config[GROUP_CONSUMER_MAX_SIZE]


def new_member_id(context: OperationContext) -> str:
    """A random id as Kafka writes its `Uuid`: 22 characters, and a minus sign is not the first."""
    text = urlsafe_b64encode(bytes.fromhex(context.new_id().replace("-", ""))).decode().rstrip("=")
    return "A" + text[1:] if text.startswith("-") else text
