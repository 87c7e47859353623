"""Mutants of rebalances and of static members."""

from typing import Final

from tests.mutations.mutant import Mutant

REBALANCE: Final = "coordinator/core/classic/rebalance.py"
STATIC_MEMBERS: Final = "coordinator/core/classic/static_members.py"

REBALANCE_MUTANTS: Final = (
    Mutant(
        "the join phase ends a moment late",
        REBALANCE,
        "    if now_ms < rebalance.deadline_ms:",
        "    if now_ms <= rebalance.deadline_ms:",
    ),
    Mutant(
        "the initial delay is not waited for",
        REBALANCE,
        "complete = group.all_have_joined and not rebalance.from_empty and not rebalance.completion_deferred",
        "complete = group.all_have_joined and not rebalance.completion_deferred",
    ),
    Mutant(
        "the rejection of a member ends the join phase",
        REBALANCE,
        "complete = group.all_have_joined and not rebalance.from_empty and not rebalance.completion_deferred",
        "complete = group.all_have_joined and not rebalance.from_empty",
    ),
    Mutant(
        "the initial delay is extended without bound",
        REBALANCE,
        "left_ms = max(rebalance.remaining_delay_ms - rebalance.delay_ms, 0)",
        "left_ms = rebalance.remaining_delay_ms",
    ),
    Mutant(
        "the initial delay outlasts the rebalance timeout",
        REBALANCE,
        "delay_ms = min(rebalance.delay_ms, rebalance.remaining_delay_ms)",
        "delay_ms = max(rebalance.delay_ms, rebalance.remaining_delay_ms)",
    ),
    Mutant(
        "a join phase that only silent static members are left in is extended by nothing",
        REBALANCE,
        "timeout_ms = max(JOIN_EXTENSION_MS_MIN, *(",
        "timeout_ms = max(0, *(",
    ),
    Mutant(
        "a member that does not sync is removed a moment late",
        REBALANCE,
        "if group.pending_sync and context.now_ms >= group.sync_deadline_ms:",
        "if group.pending_sync and context.now_ms > group.sync_deadline_ms:",
    ),
    Mutant(
        "the time to sync is that of the members that rejoined",
        REBALANCE,
        "sync_deadline_ms=context.now_ms + max(member.rebalance_timeout_ms for member in staying),",
        "sync_deadline_ms=context.now_ms + max(member.rebalance_timeout_ms for member in joined),",
    ),
    Mutant(
        "a generation is skipped",
        REBALANCE,
        "generation_id=group.generation_id + 1,\n",
        "generation_id=group.generation_id + 2,\n",
    ),
    Mutant(
        "an emptied group keeps its generation",
        REBALANCE,
        "at_ms=context.wall_ms, generation_id=group.generation_id + 1)",
        "at_ms=context.wall_ms, generation_id=group.generation_id)",
    ),
    Mutant(
        "the last member to join leads",
        REBALANCE,
        "leader = next((member for member in joined if member.member_id == group.leader), joined[0])",
        "leader = joined[-1]",
    ),
    Mutant(
        "late static members are removed",
        REBALANCE,
        "if m.awaiting_join is None and m.group_instance_id is None}",
        "if m.awaiting_join is None}",
    ),
    Mutant(
        "late dynamic members stay",
        REBALANCE,
        "return _start_generation(group, removed, staying, joined, context)",
        "return _start_generation(group, NOTHING, staying, joined, context)",
    ),
    Mutant(
        "the session of a member that joined too late goes on",
        REBALANCE,
        "return _start_generation(group, removed, staying, joined, context)",
        "return _start_generation(group, Decision(removed.events), staying, joined, context)",
    ),
    Mutant(
        "the sessions of the members of an emptied group go on",
        REBALANCE,
        "return Decision((*removed.events, emptied), effects=removed.effects)",
        "return Decision((*removed.events, emptied))",
    ),
    Mutant(
        "the sessions of dynamic members that left silent static ones alone go on",
        REBALANCE,
        "return Decision((*removed.events, extended), effects=removed.effects)",
        "return Decision((*removed.events, extended))",
    ),
    Mutant(
        "the session of a member that did not sync goes on",
        REBALANCE,
        "        return _removals(group, group.pending_sync, Cause.SYNC_TIMEOUT, context)\n",
        "        return Decision(_removals(group, group.pending_sync, Cause.SYNC_TIMEOUT, context).events)\n",
    ),
    Mutant(
        "a static member that did not rejoin gets no new session",
        REBALANCE,
        "renewed = [SessionRenewed(member.member_id, member.session_timeout_ms) for member in staying]",
        "renewed = [SessionRenewed(member.member_id, member.session_timeout_ms) for member in joined]",
    ),
    Mutant(
        "a waiting SyncGroup gets no response when a rebalance starts",
        REBALANCE,
        "            replies.append(Reply(member.awaiting_sync, rejoin))\n",
        "",
    ),
    Mutant(
        "the session of a member that waited for its assignment is not renewed",
        REBALANCE,
        "            renewed.append(SessionRenewed(member.member_id, member.session_timeout_ms))\n",
        "",
    ),
    Mutant(
        "the protocol with the fewest votes is selected",
        REBALANCE,
        "return min(votes, key=lambda name: (-votes[name], name))",
        "return min(votes, key=lambda name: (votes[name], name))",
    ),
    Mutant(
        "a protocol that not all members offer is selected",
        REBALANCE,
        "        candidates.intersection_update(",
        "        candidates.update(",
    ),
    Mutant(
        "a loaded group may have one member too many",
        REBALANCE,
        "len(group.members) > config[GROUP_MAX_SIZE]",
        "len(group.members) > config[GROUP_MAX_SIZE] + 1",
    ),
)

STATIC_MEMBER_MUTANTS: Final = (
    Mutant(
        "a static member with other protocols takes over without a rebalance",
        STATIC_MEMBERS,
        "at_once = group.state is STABLE and select_protocol(_with(group, old, member)) == group.protocol_name",
        "at_once = group.state is STABLE",
    ),
    Mutant(
        "a rejoining leader gets its new id as leader before version 9",
        STATIC_MEMBERS,
        'leader=new.member_id if skips else group.leader or "",',
        'leader=new.member_id if leads else group.leader or "",',
    ),
    Mutant(
        "a replaced member that waits is not answered",
        STATIC_MEMBERS,
        "replies = answers_to_removed(old, ErrorCode.FENCED_INSTANCE_ID)",
        "replies = answers_to_removed(None, ErrorCode.FENCED_INSTANCE_ID)",
    ),
    Mutant(
        "a static member that came back has no session",
        STATIC_MEMBERS,
        "(SessionEnded(old.member_id), started))",
        "(SessionEnded(old.member_id),))",
    ),
    Mutant(
        "a replaced member keeps its session",
        STATIC_MEMBERS,
        "(SessionEnded(old.member_id), started))",
        "(started,))",
    ),
    Mutant(
        "a static member that came back has its new session timeout at once",
        STATIC_MEMBERS,
        "request.group_instance_id, old.session_timeout_ms, member.session_timeout_ms\n",
        "request.group_instance_id, member.session_timeout_ms, member.session_timeout_ms\n",
    ),
    Mutant(
        "a static member that came back keeps its old session timeout",
        STATIC_MEMBERS,
        "request.group_instance_id, old.session_timeout_ms, member.session_timeout_ms\n",
        "request.group_instance_id, old.session_timeout_ms, old.session_timeout_ms\n",
    ),
)

MUTANTS: Final = (*REBALANCE_MUTANTS, *STATIC_MEMBER_MUTANTS)
