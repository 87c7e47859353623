"""The audit of consumer groups: its state follows the members; their events have no audit events.

So the functions below return no fields, and the class of audit events beside each of them is never written.
"""

from typing import Final

from coordinator.audit import classic, schema
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import KindAudit, Projection
from coordinator.audit.world import World
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.consumer import events
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import GroupState


def _joined(
    event: events.ConsumerMemberJoined, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    state.remember_member(group.members[event.member_id], (), 0)


def _removed(
    event: events.ConsumerMemberRemoved, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    state.members.pop(event.member_id, None)


def _replaced(
    event: events.ConsumerMemberReplaced, group: ConsumerGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    state.members.pop(event.old_member_id, None)
    state.remember_member(group.members[event.member_id], (), 0)


def _upgraded(
    event: events.GroupUpgraded | events.GroupConverted,
    group: Membership,
    state: GroupAuditState,
    before: GroupState,
    world: World,
) -> None:
    state.members.clear()
    for member in group.members.values():
        state.remember_member(member, (), 0)


def _downgraded(
    event: events.GroupDowngraded, group: ClassicGroup, state: GroupAuditState, before: GroupState, world: World
) -> None:
    state.members.clear()
    classic.CLASSIC.remember(group, state, world)


def _remember(group: ConsumerGroup, state: GroupAuditState, world: World) -> None:
    for member in group.members.values():
        state.remember_member(member, (), 0)


CONSUMER: Final = KindAudit(
    projections={
        events.ConsumerMemberJoined: (Projection(schema.GroupSnapshot, _joined),),
        events.ConsumerMemberRemoved: (Projection(schema.GroupSnapshot, _removed),),
        events.ConsumerMemberReplaced: (Projection(schema.GroupSnapshot, _replaced),),
        events.GroupConverted: (Projection(schema.GroupSnapshot, _upgraded),),
        events.GroupUpgraded: (Projection(schema.GroupSnapshot, _upgraded),),
        events.GroupDowngraded: (Projection(schema.GroupSnapshot, _downgraded),),
    },
    remember=_remember,
)
