"""The audit of the kind: what would be `coordinator/audit/epochs.py`."""

from typing import Final

from coordinator.audit import schema
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.kind_audit import KindAudit, Projection
from coordinator.audit.world import World
from coordinator.core.groups.states import GroupState
from tests.groups.epochs.kind import SESSION_TIMEOUT_MS, EpochGroup, EpochMemberAdded


def _added(
    event: EpochMemberAdded, group: EpochGroup, state: GroupAuditState, before: GroupState, world: World
) -> Fields:
    state.remember_member(group.members[event.member_id], (), 0)
    return {
        "member": state.members[event.member_id],
        "session_timeout_ms": SESSION_TIMEOUT_MS,
        "rebalance_timeout_ms": 0,
        "protocols": [],
        "subscribed_topics": [],
        "unnamed_topics": 0,
        "reason": "",
        "join_ms": None,
        "protocol_type": "consumer",
        "subscribed_pattern": "",
        "rack_id": "",
        "fills_group": False,
        "rejected_as": "",
    }


def _remember(group: EpochGroup, state: GroupAuditState, world: World) -> None:
    for member in group.members.values():
        state.remember_member(member, (), 0)


AUDIT: Final = KindAudit(
    projections={EpochMemberAdded: (Projection(schema.MemberJoined, _added),)},
    remember=_remember,
    mark=lambda member: member.member_id,
)
