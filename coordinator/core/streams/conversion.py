"""Streams groups and requests of the classic protocol.

Counterpart in Kafka: `maybeDeleteEmptyStreamsGroup`.
"""

import msgspec

from _wire.messages.join_group import JoinGroupRequest
from coordinator.core.classic import joining
from coordinator.core.classic.group import NO_MEMBER_ID, ClassicGroup
from coordinator.core.classic.kind import CLASSIC
from coordinator.core.consumer.conversion_events import GroupConverted
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.groups.events import RequestRejected
from coordinator.core.groups.group import Group
from coordinator.core.streams.group import StreamsGroup


def join(group: Group[StreamsGroup], request: JoinGroupRequest, context: OperationContext) -> Decision:
    """A JoinGroup for a streams group: an empty one becomes a classic group."""
    if group.membership.members:
        return joining.reject_other_kind(group, request, context)
    if request.member_id != NO_MEMBER_ID:
        return joining.join(None, request, context)
    classic = Group(group.group_id, CLASSIC, ClassicGroup(group.group_id), group.offsets)
    decision = joining.join(classic, request, context)
    if all(isinstance(event, RequestRejected) for event in decision.events):
        return decision
    converted = GroupConverted(group_id=group.group_id, at_ms=context.wall_ms, kind=CLASSIC, member_id="")
    return msgspec.structs.replace(decision, events=(converted, *decision.events))
