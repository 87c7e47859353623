"""The next step that a group's state requires: rebalances start, join phases complete, late members are removed.

`advance` is called after every operation, and its decision applied, until there is no further step. Counterpart in
Kafka: `maybePrepareRebalance`, `maybeCompleteJoin`, `completeClassicGroupJoin` of `GroupMetadataManager`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from _wire.messages.sync_group import SyncGroupResponse
from coordinator.config.group_keys import GROUP_INITIAL_REBALANCE_DELAY_MS
from coordinator.core.causes import Cause
from coordinator.core.classic.events import (
    AbsentMember,
    GenerationStarted,
    GroupEmptied,
    JoinPhaseExtended,
    RebalanceStarted,
)
from coordinator.core.classic.group import ClassicGroup, Member, Rebalance, RebalanceReason
from coordinator.core.classic.members import last_heard_ms, removal
from coordinator.core.classic.states import GENERATION_STATES
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.groups.connection_at_removal import last_sign_ms
from coordinator.core.groups.group import Group, is_oversized
from coordinator.core.groups.requests import ForcedRebalance
from coordinator.core.groups.states import COMPLETING_REBALANCE, EMPTY, STABLE
from coordinator.core.sessions import SessionChange, SessionEnded, SessionRenewed

JOIN_EXTENSION_MS_MIN: Final = 100
"""The shortest time by which a join phase that only silent static members are left in is extended.

Members may ask for a rebalance timeout of 0 or less. Kafka then looks at the group once a millisecond until a member
comes or the last session expires; this bounds what such a group costs.
"""


def advance(group: ClassicGroup, context: OperationContext) -> Decision:
    """The next step that the group's state requires at `context.now_ms`, or NOTHING."""
    if group.rebalance is not None:
        return _advance_join_phase(group, group.rebalance, context)
    if group.rebalance_reason is not None:
        return _start_rebalance(group, group.rebalance_reason, context)
    if group.pending_sync and context.now_ms >= group.sync_deadline_ms:
        return _removals(group, group.pending_sync, Cause.SYNC_TIMEOUT, context)
    return NOTHING


def next_deadline_ms(group: ClassicGroup) -> int | None:
    """When the group has to advance without a request; None: never. Milliseconds since the epoch.

    The end of the join phase, or the time to remove the members that sent no SyncGroup: a group waits for at most one
    of the two. Sessions are not among these deadlines: the session table keeps them.
    """
    if group.rebalance is not None:
        return group.rebalance.deadline_ms
    if group.pending_sync and group.state in (COMPLETING_REBALANCE, STABLE):
        return group.sync_deadline_ms
    return None


def _start_rebalance(group: ClassicGroup, reason: RebalanceReason, context: OperationContext) -> Decision:
    """Ask all members to join. From Empty, wait a while for others first (KIP-134)."""
    from_empty = group.state is EMPTY
    timeout_ms = group.rebalance_timeout_ms
    delay_ms = context.config[GROUP_INITIAL_REBALANCE_DELAY_MS] if from_empty else timeout_ms
    now_ms = context.now_ms
    started = RebalanceStarted(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        rebalance_reason=reason,
        deadline_ms=now_ms + delay_ms,
        from_empty=from_empty,
        delay_ms=delay_ms,
        remaining_delay_ms=max(timeout_ms - delay_ms, 0),
    )
    if group.state is not COMPLETING_REBALANCE:
        return Decision((started,))  # then nobody waits with a SyncGroup
    rejoin = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    replies: list[Reply] = []
    renewed: list[SessionChange] = []
    for member in group.members.values():
        if member.awaiting_sync is not None:
            replies.append(Reply(member.awaiting_sync, rejoin))
            renewed.append(SessionRenewed(member.member_id, member.session_timeout_ms, is_answer=True))
    return Decision((started,), tuple(replies), tuple(renewed))


def rebalance_oversized_group(group: Group[ClassicGroup] | None, request: None, context: OperationContext) -> Decision:
    """Rebalance a loaded group with more members than `group.max.size` now allows: the last to join are rejected."""
    if group is None or group.membership.state is not STABLE or not is_oversized(group, context.config):
        return NOTHING
    return _start_rebalance(group.membership, RebalanceReason(Cause.GROUP_TOO_LARGE, "", "", "", None, ""), context)


def force_rebalance(group: Group[ClassicGroup] | None, request: ForcedRebalance, context: OperationContext) -> Decision:
    """Rebalance a group whose members do not change. One without members, or that rebalances already, stays."""
    if group is None or group.membership.state not in GENERATION_STATES:
        return NOTHING
    return _start_rebalance(group.membership, RebalanceReason(request.cause, "", "", "", None, request.reason), context)


def _advance_join_phase(group: ClassicGroup, rebalance: Rebalance, context: OperationContext) -> Decision:
    now_ms = context.now_ms
    if now_ms < rebalance.deadline_ms:
        complete = group.all_have_joined and not rebalance.from_empty and not rebalance.completion_deferred
        return _complete_join(group, context) if complete else NOTHING
    if rebalance.new_member_came and rebalance.remaining_delay_ms:
        delay_ms = min(rebalance.delay_ms, rebalance.remaining_delay_ms)
        left_ms = max(rebalance.remaining_delay_ms - rebalance.delay_ms, 0)
        return Decision((_extended(group, context, delay_ms, left_ms),))
    return _complete_join(group, context)


def _extended(
    group: ClassicGroup, context: OperationContext, delay_ms: int, remaining_delay_ms: int
) -> JoinPhaseExtended:
    return JoinPhaseExtended(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        deadline_ms=context.now_ms + delay_ms,
        delay_ms=delay_ms,
        remaining_delay_ms=remaining_delay_ms,
    )


def _complete_join(group: ClassicGroup, context: OperationContext) -> Decision:
    """Remove dynamic members that have not rejoined; the others are the next generation."""
    if group.awaiting_join_count == len(group.members) > 0:
        members = list(group.members.values())
        return _start_generation(group, NOTHING, members, members, context)  # nobody is absent
    late = {m.member_id for m in group.members.values() if m.awaiting_join is None and m.group_instance_id is None}
    removed = _removals(group, late, Cause.REBALANCE_TIMEOUT, context)
    staying = [member for member in group.members.values() if member.member_id not in late]
    joined = [member for member in staying if member.awaiting_join is not None]
    if not staying:
        emptied = GroupEmptied(group_id=group.group_id, at_ms=context.wall_ms, generation_id=group.generation_id + 1)
        return Decision((*removed.events, emptied), effects=removed.effects)
    if not joined:
        timeout_ms = max(JOIN_EXTENSION_MS_MIN, *(member.rebalance_timeout_ms for member in staying))
        extended = _extended(group, context, timeout_ms, 0)
        return Decision((*removed.events, extended), effects=removed.effects)
    return _start_generation(group, removed, staying, joined, context)


def _start_generation(
    group: ClassicGroup, removed: Decision, staying: list[Member], joined: list[Member], context: OperationContext
) -> Decision:
    leader = next((member for member in joined if member.member_id == group.leader), joined[0])
    started = GenerationStarted(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        generation_id=group.generation_id + 1,
        protocol_name=select_protocol(staying),
        leader=leader.member_id,
        sync_deadline_ms=context.now_ms + max(member.rebalance_timeout_ms for member in staying),
        absent=() if joined is staying else tuple(_absent(group, staying, context)),
    )
    replies = []
    for member in joined:
        listed = members_with_metadata(staying, started.protocol_name) if member is leader else []
        assert member.awaiting_join is not None, (group.group_id, member.member_id)
        response = JoinGroupResponse(
            generation_id=started.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=started.protocol_name,
            leader=leader.member_id,
            member_id=member.member_id,
            members=listed,
        )
        replies.append(Reply(member.awaiting_join, response))
    renewed = [SessionRenewed(member.member_id, member.session_timeout_ms, is_answer=True) for member in staying]
    return Decision((*removed.events, started), tuple(replies), (*removed.effects, *renewed))


def _absent(group: ClassicGroup, staying: list[Member], context: OperationContext) -> Iterator[AbsentMember]:
    """The static members that did not join, with what was last heard of them: a commit or a rejected heartbeat, too."""
    for member in staying:
        if member.awaiting_join is None:
            heard_ms = last_sign_ms(last_heard_ms(group.group_id, member, context), member, context)
            signs = [sign for sign in (heard_ms, member.committed_ms) if sign is not None]
            yield AbsentMember(member.member_id, max(signs, default=None))


def members_with_metadata(members: Sequence[Member], protocol_name: str | None) -> list[JoinGroupResponseMember]:
    """The members in the leader's response, each with its metadata for the chosen protocol."""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata_for(protocol_name),
        )
        for member in members
    ]


def select_protocol(members: Sequence[Member]) -> str:
    """The protocol of the next generation.

    Candidates are those that all members offer; each member votes for the first of its own list among them. Kafka
    leaves ties open; here the first by name wins, so that the same members always choose the same.
    """
    if len(members) == 1:
        return members[0].protocols[0].name
    candidates = {protocol.name for protocol in members[0].protocols}
    for member in members:
        candidates.intersection_update([protocol.name for protocol in member.protocols])
    if len(candidates) == 1:
        return candidates.pop()
    votes = Counter(next(p.name for p in member.protocols if p.name in candidates) for member in members)
    return min(votes, key=lambda name: (-votes[name], name))


def _removals(group: ClassicGroup, member_ids: set[str], cause: Cause, context: OperationContext) -> Decision:
    """Remove members, in the order in which they joined."""
    ordered = [member for member_id, member in group.members.items() if member_id in member_ids]
    removed = tuple(removal(group, member, cause, context) for member in ordered)
    return Decision(removed, effects=tuple(SessionEnded(member.member_id) for member in ordered))
