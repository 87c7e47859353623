"""ConsumerGroupHeartbeat: a member joins, is alive, changes its subscription, or shows what it gave up (KIP-848).

Counterpart in Kafka: `GroupMetadataManager.consumerGroupHeartbeat`. `leaving.py` has the heartbeats that leave.
"""

from base64 import urlsafe_b64encode
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_MAX_SIZE
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat_requests import API, Rejection, rejection_response
from coordinator.core.consumer.identification import identify
from coordinator.core.consumer.leaving import leave
from coordinator.core.consumer.member import LEAVE_EPOCH, LEAVE_STATIC_EPOCH, NO_EPOCH
from coordinator.core.consumer.member_heartbeat import MemberHeartbeat
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CONSUMER_NAME
from coordinator.core.groups.rejections import NamedMember, rejecting

NEW_GROUP_OPERATIONS: Final = 5
"""To create a group with its first member takes as long as so many other operations."""


def heartbeat(
    group: Group[ConsumerGroup] | None, request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """Answer a heartbeat. One with epoch 0 makes the group."""
    if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
        decided = group_not_found(request) if group is None else leave(group.membership, request, context)
    elif group is not None:
        decided = decide(group.membership, request, context)
    elif request.member_epoch != NO_EPOCH:
        decided = group_not_found(request)
    elif not context.environment.may_create_group(context.client_host):
        decided = Rejection(ErrorCode.POLICY_VIOLATION, "Clients of this address have created too many groups.")
    else:
        return _create(request, context)
    return answered(group, request, decided, context)


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
    return rejecting(group, API, named, decided.error, decision, context)


def _create(request: ConsumerGroupHeartbeatRequest, context: OperationContext) -> Decision:
    decided = decide(ConsumerGroup(request.group_id), request, context)
    if isinstance(decided, Rejection):
        return answered(None, request, decided, context)
    created = GroupCreated(
        group_id=request.group_id, at_ms=context.wall_ms, client_host=context.client_host, kind=CONSUMER_NAME
    )
    return Decision((created, *decided.events), decided.replies, decided.effects, weight=NEW_GROUP_OPERATIONS)


def group_not_found(request: ConsumerGroupHeartbeatRequest) -> Rejection:
    return Rejection(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} is not a consumer group.")


def decide(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision | Rejection:
    """The order of the checks is Kafka's: size, member, epoch, regular expression."""
    if is_full(group, request.member_id, context):
        return Rejection(ErrorCode.GROUP_MAX_SIZE_REACHED, "The consumer group has reached its maximum size.")
    member_id = request.member_id or new_member_id(context)
    identified = identify(group, request, member_id)
    if isinstance(identified, Rejection):
        return identified
    return MemberHeartbeat(group, request, context, member_id, identified).decide()


def is_full(group: ConsumerGroup, member_id: str, context: OperationContext) -> bool:
    """Whether there is no room for a member that the group does not know."""
    if member_id in group.members:
        return False
    size, filled_size = len(group.members), context.environment.filled_size
    return size >= context.config[GROUP_CONSUMER_MAX_SIZE] or (filled_size is not None and size >= filled_size)


def new_member_id(context: OperationContext) -> str:
    """A random id as Kafka writes its `Uuid`: 22 characters, and a minus sign is not the first."""
    text = urlsafe_b64encode(bytes.fromhex(context.new_id().replace("-", ""))).decode().rstrip("=")
    return "A" + text[1:] if text.startswith("-") else text
