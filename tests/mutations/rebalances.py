"""Mutants of rebalances and of static members."""

from typing import Final

from tests.mutations.mutant import Mutant

REBALANCE_MUTANTS: Final = (
    Mutant(
        "the join phase ends a moment late",
        "_advance_join_phase",
        "if now_ms < rebalance.deadline_ms:",
        "if now_ms <= rebalance.deadline_ms:",
    ),
    Mutant(
        "the initial delay is not waited for",
        "_advance_join_phase",
        "complete = group.all_have_joined and not rebalance.from_empty and not rebalance.completion_deferred",
        "complete = group.all_have_joined and not rebalance.completion_deferred",
    ),
    Mutant(
        "the rejection of a member ends the join phase",
        "_advance_join_phase",
        "complete = group.all_have_joined and not rebalance.from_empty and not rebalance.completion_deferred",
        "complete = group.all_have_joined and not rebalance.from_empty",
    ),
    Mutant(
        "the initial delay is extended without bound",
        "_advance_join_phase",
        "left_ms = max(rebalance.remaining_delay_ms - rebalance.delay_ms, 0)",
        "left_ms = rebalance.remaining_delay_ms",
    ),
    Mutant(
        "the initial delay outlasts the rebalance timeout",
        "_advance_join_phase",
        "delay_ms = min(rebalance.delay_ms, rebalance.remaining_delay_ms)",
        "delay_ms = max(rebalance.delay_ms, rebalance.remaining_delay_ms)",
    ),
    Mutant(
        "a join phase that only silent static members are left in is extended by nothing",
        "_complete_join",
        "timeout_ms = max(JOIN_EXTENSION_MS_MIN, *(",
        "timeout_ms = max(0, *(",
    ),
    Mutant(
        "a member that does not sync is removed a moment late",
        "advance",
        "if group.pending_sync and context.now_ms >= group.sync_deadline_ms:",
        "if group.pending_sync and context.now_ms > group.sync_deadline_ms:",
    ),
    Mutant(
        "the time to sync is that of the members that rejoined",
        "_start_generation",
        "sync_deadline_ms=context.now_ms + max(member.rebalance_timeout_ms for member in staying),",
        "sync_deadline_ms=context.now_ms + max(member.rebalance_timeout_ms for member in joined),",
    ),
    Mutant(
        "a generation is skipped",
        "_start_generation",
        "generation_id=group.generation_id + 1,",
        "generation_id=group.generation_id + 2,",
    ),
    Mutant(
        "an emptied group keeps its generation",
        "_complete_join",
        "at_ms=context.wall_ms, generation_id=group.generation_id + 1)",
        "at_ms=context.wall_ms, generation_id=group.generation_id)",
    ),
    Mutant(
        "the last member to join leads",
        "_start_generation",
        "leader = next((member for member in joined if member.member_id == group.leader), joined[0])",
        "leader = joined[-1]",
    ),
    Mutant(
        "late static members are removed",
        "_complete_join",
        "if m.awaiting_join is None and m.group_instance_id is None}",
        "if m.awaiting_join is None}",
    ),
    Mutant(
        "late dynamic members stay",
        "_complete_join",
        "return _start_generation(group, removed, staying, joined, context)",
        "return _start_generation(group, NOTHING, staying, joined, context)",
    ),
    Mutant(
        "the session of a member that joined too late goes on",
        "_complete_join",
        "return _start_generation(group, removed, staying, joined, context)",
        "return _start_generation(group, Decision(removed.events), staying, joined, context)",
    ),
    Mutant(
        "the sessions of the members of an emptied group go on",
        "_complete_join",
        "return Decision((*removed.events, emptied), effects=removed.effects)",
        "return Decision((*removed.events, emptied))",
    ),
    Mutant(
        "the sessions of dynamic members that left silent static ones alone go on",
        "_complete_join",
        "return Decision((*removed.events, extended), effects=removed.effects)",
        "return Decision((*removed.events, extended))",
    ),
    Mutant(
        "the session of a member that did not sync goes on",
        "advance",
        "return _removals(group, group.pending_sync, Cause.SYNC_TIMEOUT, context)",
        "return Decision(_removals(group, group.pending_sync, Cause.SYNC_TIMEOUT, context).events)",
    ),
    Mutant(
        "a static member that did not rejoin gets no new session",
        "_start_generation",
        "for member in staying]\nreturn Decision",
        "for member in joined]\nreturn Decision",
    ),
    Mutant(
        "a waiting SyncGroup gets no response when a rebalance starts",
        "_start_rebalance",
        "replies.append(Reply(member.awaiting_sync, rejoin))",
        "",
    ),
    Mutant(
        "the session of a member that waited for its assignment is not renewed",
        "_start_rebalance",
        "renewed.append(SessionRenewed(member.member_id, member.session_timeout_ms, is_answer=True))",
        "",
    ),
    Mutant(
        "the protocol with the fewest votes is selected",
        "select_protocol",
        "return min(votes, key=lambda name: (-votes[name], name))",
        "return min(votes, key=lambda name: (votes[name], name))",
    ),
    Mutant(
        "a protocol that not all members offer is selected",
        "select_protocol",
        "candidates.intersection_update(",
        "candidates.update(",
    ),
    Mutant(
        "a loaded group may have one member too many",
        "is_oversized",
        "len(group.membership.members) > config[limit]",
        "len(group.membership.members) > config[limit] + 1",
    ),
)

STATIC_MEMBER_MUTANTS: Final = (
    Mutant(
        "a static member with other protocols takes over without a rebalance",
        "replace",
        "at_once = group.state is STABLE and select_protocol(_with(group, old, member)) == group.protocol_name",
        "at_once = group.state is STABLE",
    ),
    Mutant(
        "a rejoining leader gets its new id as leader before version 9",
        "_replaced_response",
        'leader=new.member_id if skips else group.leader or "",',
        'leader=new.member_id if leads else group.leader or "",',
    ),
    Mutant(
        "a replaced member that waits is not answered",
        "replace",
        "replies = answers_to_removed(old, ErrorCode.FENCED_INSTANCE_ID)",
        "replies = answers_to_removed(None, ErrorCode.FENCED_INSTANCE_ID)",
    ),
    Mutant(
        "a static member that came back has no session",
        "replace",
        "(SessionEnded(old.member_id), started))",
        "(SessionEnded(old.member_id),))",
    ),
    Mutant(
        "a replaced member keeps its session",
        "replace",
        "(SessionEnded(old.member_id), started))",
        "(started,))",
    ),
    Mutant(
        "a static member that came back has its new session timeout at once",
        "replace",
        "request.group_instance_id, old.session_timeout_ms, member.session_timeout_ms",
        "request.group_instance_id, member.session_timeout_ms, member.session_timeout_ms",
    ),
    Mutant(
        "a static member that came back keeps its old session timeout",
        "replace",
        "request.group_instance_id, old.session_timeout_ms, member.session_timeout_ms",
        "request.group_instance_id, old.session_timeout_ms, old.session_timeout_ms",
    ),
)

MUTANTS: Final = (*REBALANCE_MUTANTS, *STATIC_MEMBER_MUTANTS)
