"""Groups that change their kind, because a member of another protocol joins.

Counterpart in Kafka: `maybeDeleteEmptyClassicGroup`, `maybeDeleteEmptyConsumerGroup`.
"""

import msgspec

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest
from coordinator.core.classic import joining
from coordinator.core.classic.group import NO_MEMBER_ID, ClassicGroup
from coordinator.core.classic.kind import CLASSIC
from coordinator.core.consumer import classic_join
from coordinator.core.consumer.conversion_events import GroupConverted
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat import answered, decide
from coordinator.core.consumer.heartbeat_requests import Rejection, of_other_kind
from coordinator.core.consumer.member import NO_EPOCH
from coordinator.core.consumer.upgrade import upgrade
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.groups.events import RequestRejected
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME, CONSUMER_NAME, GroupKind
from coordinator.core.groups.states import EMPTY
from coordinator.core.offsets.expiry import ended_sessions


def join_classic(
    kind: GroupKind, group: Group[ClassicGroup], request: ConsumerGroupHeartbeatRequest, context: OperationContext
) -> Decision:
    """A ConsumerGroupHeartbeat for a classic group, or one that never changes; `kind` is the row of consumer groups."""
    if request.member_epoch != NO_EPOCH or group.kind.name != CLASSIC_NAME:
        return answered(group, request, of_other_kind(CONSUMER_NAME, request.group_id), context)
    if group.membership.state is not EMPTY:
        return answered(group, request, upgrade(kind, group, request, context), context)
    decided = decide(ConsumerGroup(group.group_id), request, context)
    if isinstance(decided, Rejection):
        return answered(group, request, decided, context)
    converted = GroupConverted(group_id=group.group_id, at_ms=context.wall_ms, kind=kind, member_id=request.member_id)
    return msgspec.structs.replace(
        decided, events=(converted, *decided.events), effects=(*ended_sessions(group), *decided.effects)
    )


def join(group: Group[ConsumerGroup], request: JoinGroupRequest, context: OperationContext) -> Decision:
    """A JoinGroup for a consumer group: an empty one becomes a classic group."""
    if group.membership.members:
        return classic_join.join(group, request, context)
    if request.member_id != NO_MEMBER_ID:
        return joining.join(None, request, context)
    classic = Group(group.group_id, CLASSIC, ClassicGroup(group.group_id), group.offsets)
    decision = joining.join(classic, request, context)
    if all(isinstance(event, RequestRejected) for event in decision.events):
        return decision
    converted = GroupConverted(group_id=group.group_id, at_ms=context.wall_ms, kind=CLASSIC, member_id="")
    return msgspec.structs.replace(decision, events=(converted, *decision.events))
