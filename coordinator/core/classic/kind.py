"""The row of the classic kind of group: the protocol of JoinGroup and SyncGroup."""

from typing import Final

from _wire.errors import NONE, ErrorCode
from coordinator.config.group_keys import GROUP_MAX_SIZE
from coordinator.core.causes import Cause
from coordinator.core.classic import describe, joining, members, rebalance
from coordinator.core.classic.checks import CHECKS
from coordinator.core.classic.events import (
    GenerationStable,
    GenerationStarted,
    GroupEmptied,
    MemberRemoved,
    PendingMemberAdded,
    RebalanceStarted,
)
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.offsets import OFFSET_RULES
from coordinator.core.classic.records import RECORDS
from coordinator.core.classic.states import GENERATION_STATES, STATES, STORED_STATES
from coordinator.core.groups.kind import CLASSIC_NAME, GroupKind, KindEvents
from coordinator.core.groups.membership import WaitingRequest
from coordinator.core.groups.states import EMPTY


def waiting_requests(group: ClassicGroup) -> list[WaitingRequest]:
    """JoinGroup waits for the other members, SyncGroup for the leader's."""
    return [
        WaitingRequest(member.member_id, api, request_id)
        for member in group.members.values()
        for api, request_id in (("JoinGroup", member.awaiting_join), ("SyncGroup", member.awaiting_sync))
        if request_id is not None
    ]


def session_ids(group: ClassicGroup) -> list[str]:
    return [*group.members, *group.pending_members]


def validate_removal(group: ClassicGroup) -> ErrorCode:
    return NONE if group.state is EMPTY else ErrorCode.NON_EMPTY_GROUP


def _cause_of(event: RebalanceStarted) -> Cause:
    return event.rebalance_reason.cause


def _why_rebalance(event: RebalanceStarted) -> str:
    reason = event.rebalance_reason
    said = f": {reason.reason}" if reason.reason else ""
    return f"{reason.cause} by {reason.member_id or reason.client_id or 'nobody'}{said}"


EVENTS: Final = KindEvents(
    transition_reasons={
        RebalanceStarted: _why_rebalance,
        GenerationStarted: lambda event: "join phase completed",
        GenerationStable: lambda event: "assignment stored",
        GroupEmptied: lambda event: "no members left",
    },
    rebalance_started={RebalanceStarted: _cause_of},
    rebalance_ended={GenerationStable: lambda event, state: True, GroupEmptied: lambda event, state: True},
    rebalance_counted={GenerationStable: lambda event: True},
    members_removed={MemberRemoved: lambda event: (event.cause,)},
    pending_member_added=frozenset({PendingMemberAdded}),
)

CLASSIC: Final = GroupKind(
    name=CLASSIC_NAME,
    states=STATES,
    stored_states=STORED_STATES,
    rebalance_states=GENERATION_STATES,
    new_membership=ClassicGroup,
    handlers={
        "JoinGroup": joining.join,
        "SyncGroup": members.sync,
        "Heartbeat": members.heartbeat,
        "LeaveGroup": members.leave,
        "DescribeGroups": describe.describe,
        "expire session": members.expire_session,
        "remove pending member": members.remove_pending_member,
        "rebalance oversized group": rebalance.rebalance_oversized_group,
        "force rebalance": rebalance.force_rebalance,
        "take instance": joining.join_as_instance,
    },
    too_large_handlers={"SyncGroup": members.reject_assignment},
    failure_handlers={},
    advance=rebalance.advance,
    next_deadline_ms=rebalance.next_deadline_ms,
    waiting_requests=waiting_requests,
    session_ids=session_ids,
    effects_of_loaded=members.sessions_of_loaded_group,
    has_fast_heartbeats=True,
    max_size=GROUP_MAX_SIZE,
    described_bytes=describe.described_bytes,
    validate_removal=validate_removal,
    offsets=OFFSET_RULES,
    records=RECORDS,
    events=EVENTS,
    checks=CHECKS,
)
