"""Mutants of what members ask: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and the sessions that expire."""

from typing import Final

from tests.mutations.mutant import Mutant

JOINING: Final = "coordinator/core/classic/joining.py"
MEMBERS: Final = "coordinator/core/classic/members.py"
LEAVING: Final = "coordinator/core/classic/leaving.pyx"
OPERATIONS: Final = "coordinator/core/groups/operations.py"

JOIN_MUTANTS: Final = (
    Mutant(
        "JoinGroup of an empty group id is queued",
        JOINING,
        "    if not request.group_id:\n",
        "    if request.group_id is None:\n",
    ),
    Mutant(
        "the longest session timeout is rejected",
        JOINING,
        "if not shortest <= request.session_timeout_ms <= longest:",
        "if not shortest <= request.session_timeout_ms < longest:",
    ),
    Mutant(
        "a first join that is rejected creates no group",
        JOINING,
        "(created, *decision.events), decision.replies, decision.effects, weight",
        "(created, *decision.events) if decision.events else (), decision.replies, decision.effects, weight",
    ),
    Mutant(
        "a group in PreparingRebalance takes one member too many",
        JOINING,
        "return waits or group.awaiting_join_count < max_size",
        "return waits or group.awaiting_join_count <= max_size",
    ),
    Mutant(
        "a full group takes one member too many",
        JOINING,
        "return member is not None or len(group.members) < max_size",
        "return member is not None or len(group.members) <= max_size",
    ),
    Mutant(
        "a rejected pending member stays pending",
        JOINING,
        "    elif member_id in group.pending_members:\n",
        "    elif member_id in ():\n",
    ),
    Mutant(
        "a rejected member keeps its session",
        JOINING,
        "return Decision((event,), rejected.replies, (SessionEnded(member_id),))",
        "return Decision((event,), rejected.replies)",
    ),
    Mutant(
        "the protocols of a known member are not checked",
        JOINING,
        "    if not group.accepts_protocols(",
        "    if not request.member_id and not group.accepts_protocols(",
    ),
    Mutant(
        "a member id is measured in characters",
        JOINING,
        "if len(member_id) * 4 > MEMBER_ID_BYTES_MAX and len(member_id.encode()) > MEMBER_ID_BYTES_MAX:",
        "if len(member_id) > MEMBER_ID_BYTES_MAX:",
    ),
    Mutant(
        "JoinGroup version 4 adds a member without a member id",
        JOINING,
        "if context.api_version < MEMBER_ID_REQUIRED_VERSION:",
        "if context.api_version <= MEMBER_ID_REQUIRED_VERSION:",
    ),
    Mutant(
        "a pending member has no session",
        JOINING,
        "        (SessionStarted(member_id, None, timeout_ms, timeout_ms, may_heartbeat=False),),\n",
        "",
    ),
    Mutant(
        "heartbeats renew the session of a pending member",
        JOINING,
        "timeout_ms, may_heartbeat=False)",
        "timeout_ms, may_heartbeat=True)",
    ),
    Mutant(
        "a repeated JoinGroup in CompletingRebalance starts a rebalance",
        JOINING,
        "        if changed:\n",
        "        if True:\n",
    ),
    Mutant(
        "a leader that repeats its JoinGroup does not get the members",
        JOINING,
        "with_members=leads)",
        "with_members=False)",
    ),
    Mutant(
        "JoinGroup of the leader in Stable starts no rebalance",
        JOINING,
        "        if changed or leads:",
        "        if changed:",
    ),
    Mutant(
        "changed protocols of a member are not noticed",
        JOINING,
        "changed = member.protocols != protocols",
        "changed = False",
    ),
    Mutant(
        "a new member has only its session timeout to wait for its first generation",
        JOINING,
        "NEW_MEMBER_JOIN_TIMEOUT_MS, request.session_timeout_ms\n",
        "request.session_timeout_ms, request.session_timeout_ms\n",
    ),
    Mutant(
        "the session of a static member has no instance id",
        JOINING,
        "member_id, request.group_instance_id, NEW_MEMBER_JOIN_TIMEOUT_MS",
        "member_id, None, NEW_MEMBER_JOIN_TIMEOUT_MS",
    ),
)

SYNC_MUTANTS: Final = (
    Mutant(
        "SyncGroup of an empty group id is queued",
        MEMBERS,
        "    if not request.group_id:\n        return Answer(SyncGroupResponse(",
        "    if request.group_id is None:\n        return Answer(SyncGroupResponse(",
    ),
    Mutant(
        "SyncGroup version 5 need not name its protocol",
        MEMBERS,
        "if context.api_version >= SYNC_NAMES_PROTOCOL_VERSION and unnamed:",
        "if context.api_version > SYNC_NAMES_PROTOCOL_VERSION and unnamed:",
    ),
    Mutant(
        "SyncGroup of an older generation is accepted",
        MEMBERS,
        "    if request.generation_id != group.generation_id:\n",
        "    if request.generation_id > group.generation_id:\n",
    ),
    Mutant(
        "SyncGroup for another protocol is accepted",
        MEMBERS,
        "named is not None and known is not None and named != known",
        "named is not None and known is None and named != known",
    ),
    Mutant(
        "SyncGroup in PreparingRebalance is accepted",
        MEMBERS,
        "    if group.state is PREPARING_REBALANCE:\n        return",
        "    if group.state is None:\n        return",
    ),
    Mutant(
        "a member that syncs in Stable is still expected to sync",
        MEMBERS,
        "if request.member_id in classic.pending_sync:",
        "if request.member_id not in classic.members:",
    ),
    Mutant(
        "SyncGroup of a follower completes the generation",
        MEMBERS,
        "if request.member_id != classic.leader:",
        'if classic.leader == "":',
    ),
    Mutant(
        "every member gets the assignment of the leader",
        MEMBERS,
        'assignment = assignments.get(member.member_id, b"")',
        'assignment = assignments.get(synced.member_id, b"")',
    ),
    Mutant(
        "waiting followers are not answered when the leader syncs",
        MEMBERS,
        "request_id = synced.request_id if member.member_id == synced.member_id else member.awaiting_sync",
        "request_id = synced.request_id if member.member_id == synced.member_id else None",
    ),
    Mutant(
        "the answer to SyncGroup does not renew the session",
        MEMBERS,
        "            renewed.append(SessionRenewed(member.member_id, member.session_timeout_ms))\n    events.append(",
        "            pass\n    events.append(",
    ),
    Mutant(
        "the answer to a rejected assignment does not renew the session",
        MEMBERS,
        "return Decision((rejected,), tuple(replies), tuple(renewed))",
        "return Decision((rejected,), tuple(replies))",
    ),
    Mutant(
        "only the leader gets the error of an assignment that is too large",
        MEMBERS,
        "            replies.append(Reply(member.awaiting_sync, error))\n",
        "            pass\n",
    ),
    Mutant(
        "SyncGroup with a too large assignment simply fails",
        OPERATIONS,
        "members.prepare_sync, too_large=members.reject_assignment\n",
        "members.prepare_sync\n",
    ),
    Mutant(
        "a group whose assignment was rejected waits for another one",
        MEMBERS,
        "return Decision((rejected,), tuple(replies),",
        "return Decision((), tuple(replies),",
    ),
)

MEMBER_MUTANTS: Final = (
    Mutant(
        "Heartbeat of an empty group id is queued",
        MEMBERS,
        "return request if request.group_id else Answer(HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID))",
        "return request",
    ),
    Mutant(
        "Heartbeat of an older generation is accepted",
        MEMBERS,
        "if error is NONE and request.generation_id != classic.generation_id:",
        "if error is NONE and request.generation_id > classic.generation_id:",
    ),
    Mutant(
        "Heartbeat in PreparingRebalance does not renew the session",
        MEMBERS,
        "HeartbeatResponse(error_code=error), effects=renewal(classic, request.member_id))",
        "HeartbeatResponse(error_code=error), effects=renewal(classic, request.member_id) if error is NONE else ())",
    ),
    Mutant(
        "members are rejected while their group is loaded",
        MEMBERS,
        "    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:\n",
        "    if error is ErrorCode.NOT_COORDINATOR:\n",
    ),
    Mutant(
        "a fenced instance id is accepted",
        MEMBERS,
        "        if holder != member_id:",
        '        if holder == "":',
    ),
    Mutant(
        "LeaveGroup of an empty group id is queued",
        MEMBERS,
        "return request if request.group_id else Answer(LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))",
        "return request",
    ),
    Mutant(
        "a member that leaves while it waits is not answered",
        MEMBERS,
        "replies += answers_to_removed(classic.members.get(left))",
        "replies += answers_to_removed(None)",
    ),
    Mutant(
        "one member leaves twice in a batch",
        LEAVING,
        "member_id not in self.members or member_id in self.gone:",
        "member_id not in self.members:",
    ),
    Mutant(
        "one pending member leaves twice in a batch",
        LEAVING,
        "elif member_id in self.pending_members and member_id not in self.gone:",
        "elif member_id in self.pending_members:",
    ),
    Mutant(
        "an instance id that left earlier in the batch is fenced",
        LEAVING,
        "        if holder in self.gone or member_id == NO_MEMBER_ID:\n",
        "        if member_id == NO_MEMBER_ID:\n",
    ),
    Mutant(
        "the session of a member that leaves goes on",
        MEMBERS,
        "tuple(SessionEnded(each) for each in leaving.gone)",
        "tuple(SessionEnded(each) for each in leaving.gone if each in classic.pending_members)",
    ),
    Mutant(
        "the session of a pending member that leaves goes on",
        MEMBERS,
        "tuple(SessionEnded(each) for each in leaving.gone)",
        "tuple(SessionEnded(each) for each in leaving.gone if each in classic.members)",
    ),
    Mutant(
        "a member expires though its session was renewed in the same batch",
        MEMBERS,
        "if is_timeout and not context.environment.sessions.is_over(group.group_id, member_id, context.now_ms):",
        "if group is None:",
    ),
    Mutant(
        "a member that waits expires",
        MEMBERS,
        "if is_timeout and waits and not member.is_new:",
        "if is_timeout and waits and member.is_new:",
    ),
    Mutant(
        "a member that expires while it waits is not answered",
        MEMBERS,
        "return Decision((removed,), tuple(answers_to_removed(member)), ended)",
        "return Decision((removed,), (), ended)",
    ),
    Mutant(
        "the session of a member that expired goes on",
        MEMBERS,
        "return Decision((removed,), tuple(answers_to_removed(member)), ended)",
        "return Decision((removed,), tuple(answers_to_removed(member)))",
    ),
    Mutant(
        "the session of a pending member that expired goes on",
        MEMBERS,
        "return Decision((expired,), effects=ended)",
        "return Decision((expired,))",
    ),
    Mutant(
        "loaded members have no session",
        MEMBERS,
        "        for member in group.members.values()\n    ]\n",
        "        for member in group.members.values()\n        if not group.members\n    ]\n",
    ),
    Mutant(
        "the session of a loaded static member has no instance id",
        MEMBERS,
        "SessionStarted(member.member_id, member.group_instance_id, member.session_timeout_ms,",
        "SessionStarted(member.member_id, None, member.session_timeout_ms,",
    ),
)

MUTANTS: Final = (*JOIN_MUTANTS, *SYNC_MUTANTS, *MEMBER_MUTANTS)
