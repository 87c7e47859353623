"""JoinGroup of a member of the classic protocol in a consumer group (KIP-848): it is answered at once.

Counterpart in Kafka: `GroupMetadataManager.classicGroupJoinToConsumerGroup`.
"""

from functools import partial
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from coordinator.config.consumer_group_keys import GROUP_CONSUMER_MIGRATION_POLICY
from coordinator.core.causes import Cause
from coordinator.core.classic.group import NO_GENERATION, NO_MEMBER_ID, RebalanceReason
from coordinator.core.classic.joining import MEMBER_ID_REQUIRED_VERSION
from coordinator.core.classic.requests import rebalance_timeout_ms
from coordinator.core.consumer.classic_members import find_member
from coordinator.core.consumer.classic_protocol import Subscription, read_subscription
from coordinator.core.consumer.deadlines import Deadline
from coordinator.core.consumer.downgrade import downgraded, is_to_downgrade, sessions_of_classic
from coordinator.core.consumer.events import ClassicMemberAwaited
from coordinator.core.consumer.failed_work import reason_to_report
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat import is_filled, is_full, new_member_id
from coordinator.core.consumer.heartbeat_requests import UNCHANGED_TIMEOUT, Rejection
from coordinator.core.consumer.identification import (
    JOINS,
    Existing,
    Identified,
    existing_or_new,
    replacing,
    static_member,
)
from coordinator.core.consumer.member import (
    NO_PATTERN,
    ClassicMetadata,
    ClassicProtocol,
    ConsumerMember,
    CurrentAssignment,
    MemberMetadata,
)
from coordinator.core.consumer.member_update import MemberUpdate
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import rejecting
from coordinator.core.sessions import SessionEnded

DISABLED: Final = "disabled"


def join(group: Group[ConsumerGroup], request: JoinGroupRequest, context: OperationContext) -> Decision:
    """A member of the classic protocol joins, or joins again.

    The order of the checks is Kafka's: policy, size, protocols, whether the member has to learn its id first.
    """
    consumer = group.membership
    member_id = request.member_id or new_member_id(context)
    error = _check(consumer, member_id, request, context)
    if error is not None:
        named = member_id if error is ErrorCode.MEMBER_ID_REQUIRED else NO_MEMBER_ID
        return _rejected(group, request, error, named, context)
    identified = _identify(consumer, member_id, request)
    subscription = read_subscription(request.protocols[0].metadata, context.topics)
    if isinstance(identified, ErrorCode):
        return _rejected(group, request, identified, NO_MEMBER_ID, context)
    if subscription is None:
        return _rejected(group, request, ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID, context)
    update = partial(_updated_metadata, request, context, subscription)
    step = MemberUpdate(consumer, context, member_id, identified, update, subscription.owned)
    holder = None if request.group_instance_id is None else static_member(consumer, request.group_instance_id)
    if holder is not None and is_to_downgrade(consumer, [holder], len(consumer.members), context):
        return _join_and_downgrade(consumer, request, context, member_id, step, holder)
    if not request.member_id and reason_to_report(consumer, step.metadata, consumer.epoch + 1) is not None:
        # It would come back as another member.
        return _rejected(group, request, ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID, context)
    current = step.decide()
    if isinstance(current, Rejection):
        return _rejected(group, request, current.error, NO_MEMBER_ID, context)
    has_failed = reason_to_report(consumer, step.metadata, step.group_epoch) is not None
    awaited = ClassicMemberAwaited(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        member_id=member_id,
        awaited=Deadline.JOIN if has_failed else Deadline.SYNC,
        deadline_ms=context.now_ms + max(rebalance_timeout_ms(request, context), 0),
    )
    if has_failed:
        # What it asks for counts, as with a heartbeat of the consumer protocol.
        rejected = _rejected(group, request, ErrorCode.UNKNOWN_SERVER_ERROR, NO_MEMBER_ID, context)
        events = (*step.events, awaited, *rejected.events)
        return Decision(events, rejected.replies, step.effects(), weight=step.weight)
    replies = (_reply(request, context, member_id, current),)
    return Decision((*step.events, awaited), replies, step.effects(), weight=step.weight)


def _check(
    group: ConsumerGroup, member_id: str, request: JoinGroupRequest, context: OperationContext
) -> ErrorCode | None:
    if context.config[GROUP_CONSUMER_MIGRATION_POLICY] == DISABLED:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if member_id not in group.members and is_full(group, context):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    names = [protocol.name for protocol in request.protocols]
    if not group.supports_classic_protocols(request.protocol_type, names):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_dynamic = request.group_instance_id is None and request.member_id == NO_MEMBER_ID
    if is_dynamic and context.api_version >= MEMBER_ID_REQUIRED_VERSION:
        return ErrorCode.MEMBER_ID_REQUIRED
    return None


def _identify(group: ConsumerGroup, member_id: str, request: JoinGroupRequest) -> Identified | ErrorCode:
    """A dynamic member may join with any id; a static one without an id takes the place of the holder."""
    if request.group_instance_id is None:
        return existing_or_new(group, member_id)
    if request.member_id == NO_MEMBER_ID:
        holder = static_member(group, request.group_instance_id)
        return JOINS if holder is None else replacing(group, member_id, holder)
    found = find_member(group, member_id, request.group_instance_id)
    return found if isinstance(found, ErrorCode) else JOINS if found is None else Existing(found)


def _updated_metadata(
    request: JoinGroupRequest, context: OperationContext, subscription: Subscription, before: MemberMetadata
) -> MemberMetadata:
    timeout_ms = rebalance_timeout_ms(request, context)
    protocols = tuple(ClassicProtocol(protocol.name, protocol.metadata) for protocol in request.protocols)
    return msgspec.structs.replace(
        before,
        client_id=context.client_id,
        client_host=context.client_host,
        group_instance_id=before.group_instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=before.rack_id if subscription.rack_id is None else subscription.rack_id,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == UNCHANGED_TIMEOUT else timeout_ms,
        topics=subscription.topics,
        pattern=NO_PATTERN,
        classic=ClassicMetadata(request.session_timeout_ms, protocols),
    )


def _join_and_downgrade(
    group: ConsumerGroup,
    request: JoinGroupRequest,
    context: OperationContext,
    member_id: str,
    step: MemberUpdate,
    holder: ConsumerMember,
) -> Decision:
    """The last member of the consumer protocol comes back with the classic one: the group becomes a classic group.

    It rebalances only if its target assignment is not that of the group epoch. The generation is the group epoch before
    the request, as on Kafka, also if the request raises it.
    """
    current = step.decide(keeps_target=True)
    assert not isinstance(current, Rejection), "a member of the classic protocol has no regular expression"
    members = {
        member.member_id: (member.metadata, group.target(member.member_id))
        for member in group.members.values()
        if member.member_id not in (holder.member_id, member_id)
    }
    members[member_id] = step.metadata, group.target(holder.member_id)
    reason = None
    if group.target_epoch < step.group_epoch:
        who = member_id, context.client_id, context.client_host, request.group_instance_id
        reason = RebalanceReason(Cause.STATIC_REPLACED, *who, "")
    event = downgraded(group.group_id, group.epoch, members, reason, context)
    ended = (SessionEnded(holder.member_id),) if holder.member_id != member_id else ()
    effects = (*ended, *sessions_of_classic(members))
    return Decision((*step.events, event), (_reply(request, context, member_id, current),), effects)


def _reply(request: JoinGroupRequest, context: OperationContext, member_id: str, current: CurrentAssignment) -> Reply:
    response = JoinGroupResponse(
        generation_id=current.epoch,
        protocol_type=CONSUMER_PROTOCOL_TYPE,
        protocol_name=request.protocols[0].name,
        member_id=member_id,
    )
    assert context.request_id is not None
    return Reply(context.request_id, response)


def _rejected(
    group: Group[ConsumerGroup], request: JoinGroupRequest, error: ErrorCode, member_id: str, context: OperationContext
) -> Decision:
    """The response names no member, as on Kafka, unless it is to learn its id."""
    response = JoinGroupResponse(
        error_code=error, generation_id=NO_GENERATION, member_id=member_id, protocol_type=None, protocol_name=None
    )
    injected = error is ErrorCode.GROUP_MAX_SIZE_REACHED and is_filled(group.membership, context)
    return rejecting(group, "JoinGroup", request, error, replying(context, response), context, injected=injected)
