"""Mutants of what members ask: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and the sessions that expire."""

from typing import Final

from tests.mutations.mutant import Mutant

JOIN_MUTANTS: Final = (
    Mutant(
        "JoinGroup of an empty group id is queued",
        "prepare",
        "if not request.group_id:",
        "if request.group_id is None:",
    ),
    Mutant(
        "the longest session timeout is rejected",
        "prepare",
        "if not shortest <= request.session_timeout_ms <= longest:",
        "if not shortest <= request.session_timeout_ms < longest:",
    ),
    Mutant(
        "a first join that is rejected creates no group",
        "join",
        "(created, *decision.events), decision.replies, decision.effects, weight",
        "(created, *decision.events) if decision.events else (), decision.replies, decision.effects, weight",
    ),
    Mutant(
        "a group in PreparingRebalance takes one member too many",
        "_has_room",
        "return waits or group.awaiting_join_count < max_size",
        "return waits or group.awaiting_join_count <= max_size",
    ),
    Mutant(
        "a full group takes one member too many",
        "_has_room",
        "return member is not None or len(group.members) < max_size",
        "return member is not None or len(group.members) <= max_size",
    ),
    Mutant(
        "a rejected pending member stays pending",
        "_reject_and_remove",
        "elif member_id in group.pending_members:",
        "elif member_id in ():",
    ),
    Mutant(
        "a rejected member keeps its session",
        "_reject_and_remove",
        "return Decision((event,), rejected.replies, (SessionEnded(member_id),))",
        "return Decision((event,), rejected.replies)",
    ),
    Mutant(
        "the protocols of a known member are not checked",
        "_join",
        "if not group.accepts_protocols(",
        "if not request.member_id and not group.accepts_protocols(",
    ),
    Mutant(
        "a member id is measured in characters",
        "_join_new",
        "if len(member_id) * 4 > MEMBER_ID_BYTES_MAX and len(member_id.encode()) > MEMBER_ID_BYTES_MAX:",
        "if len(member_id) > MEMBER_ID_BYTES_MAX:",
    ),
    Mutant(
        "JoinGroup version 4 adds a member without a member id",
        "_join_new",
        "if context.api_version < MEMBER_ID_REQUIRED_VERSION:",
        "if context.api_version <= MEMBER_ID_REQUIRED_VERSION:",
    ),
    Mutant(
        "a pending member has no session",
        "_join_new",
        "(SessionStarted(member_id, None, timeout_ms, timeout_ms, may_heartbeat=False),),",
        "",
    ),
    Mutant(
        "heartbeats renew the session of a pending member",
        "_join_new",
        "timeout_ms, may_heartbeat=False)",
        "timeout_ms, may_heartbeat=True)",
    ),
    Mutant(
        "a repeated JoinGroup in CompletingRebalance starts a rebalance",
        "_join_existing",
        "if changed:",
        "if True:",
    ),
    Mutant(
        "a leader that repeats its JoinGroup does not get the members",
        "_join_existing",
        "with_members=leads)",
        "with_members=False)",
    ),
    Mutant(
        "JoinGroup of the leader in Stable starts no rebalance",
        "_join_existing",
        "if changed or leads:",
        "if changed:",
    ),
    Mutant(
        "changed protocols of a member are not noticed",
        "_join_existing",
        "changed = member.protocols != protocols",
        "changed = False",
    ),
    Mutant(
        "a new member has only its session timeout to wait for its first generation",
        "_add",
        "NEW_MEMBER_JOIN_TIMEOUT_MS, request.session_timeout_ms",
        "request.session_timeout_ms, request.session_timeout_ms",
    ),
    Mutant(
        "the session of a static member has no instance id",
        "_add",
        "member_id, request.group_instance_id, NEW_MEMBER_JOIN_TIMEOUT_MS",
        "member_id, None, NEW_MEMBER_JOIN_TIMEOUT_MS",
    ),
)

SYNC_MUTANTS: Final = (
    Mutant(
        "SyncGroup of an empty group id is queued",
        "prepare_sync",
        "if not request.group_id:\n    return Answer(SyncGroupResponse(",
        "if request.group_id is None:\n    return Answer(SyncGroupResponse(",
    ),
    Mutant(
        "SyncGroup version 5 need not name its protocol",
        "prepare_sync",
        "if context.api_version >= SYNC_NAMES_PROTOCOL_VERSION and unnamed:",
        "if context.api_version > SYNC_NAMES_PROTOCOL_VERSION and unnamed:",
    ),
    Mutant(
        "SyncGroup of an older generation is accepted",
        "_check_sync",
        "if request.generation_id != group.generation_id:",
        "if request.generation_id > group.generation_id:",
    ),
    Mutant(
        "SyncGroup for another protocol is accepted",
        "_check_sync",
        "named is not None and existing is not None and named != existing",
        "named is not None and existing is None and named != existing",
    ),
    Mutant(
        "SyncGroup in PreparingRebalance is accepted",
        "_check_sync",
        "if group.state is PREPARING_REBALANCE:\n    return",
        "if group.state is None:\n    return",
    ),
    Mutant(
        "a member that syncs in Stable is still expected to sync",
        "sync",
        "if request.member_id in classic.pending_sync or member.synced_ms is None:",
        "if request.member_id not in classic.members:",
    ),
    Mutant(
        "SyncGroup of a follower completes the generation",
        "sync",
        "if request.member_id != classic.leader:",
        'if classic.leader == "":',
    ),
    Mutant(
        "every member gets the assignment of the leader",
        "_assign",
        'assignment = assignments.get(member.member_id, b"")',
        'assignment = assignments.get(synced.member_id, b"")',
    ),
    Mutant(
        "waiting followers are not answered when the leader syncs",
        "_assign",
        "request_id = member.awaiting_sync if is_answer else synced.request_id",
        "request_id = None if is_answer else synced.request_id",
    ),
    Mutant(
        "the answer to SyncGroup does not renew the session",
        "_assign",
        "renewed.append(SessionRenewed(member.member_id, member.session_timeout_ms, is_answer))",
        "pass",
    ),
    Mutant(
        "the answer to a rejected assignment does not renew the session",
        "reject_assignment",
        "return Decision((rejected,), tuple(replies), tuple(renewed))",
        "return Decision((rejected,), tuple(replies))",
    ),
    Mutant(
        "only the leader gets the error of an assignment that is too large",
        "reject_assignment",
        "replies.append(Reply(member.awaiting_sync, error))",
        "pass",
    ),
    Mutant(
        "SyncGroup with a too large assignment simply fails",
        "CLASSIC",
        'too_large_handlers={"SyncGroup": members.reject_assignment},',
        'too_large_handlers={"SyncGroup": members.sync},',
    ),
    Mutant(
        "a group whose assignment was rejected waits for another one",
        "reject_assignment",
        "return Decision((rejected,), tuple(replies), tuple(renewed))",
        "return Decision((), tuple(replies), tuple(renewed))",
    ),
)

MEMBER_MUTANTS: Final = (
    Mutant(
        "Heartbeat of an empty group id is queued",
        "prepare_heartbeat",
        "return request if request.group_id else Answer(HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID))",
        "return request",
    ),
    Mutant(
        "Heartbeat of an older generation is accepted",
        "heartbeat",
        "if request.generation_id != classic.generation_id:",
        "if request.generation_id > classic.generation_id:",
    ),
    Mutant(
        "Heartbeat in PreparingRebalance does not renew the session",
        "heartbeat",
        "effects=renewal(classic, request.member_id)",
        "effects=renewal(classic, request.member_id) if error is NONE else ()",
    ),
    Mutant(
        "members are rejected while their group is loaded",
        "heartbeat_error",
        "if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:",
        "if error is ErrorCode.NOT_COORDINATOR:",
    ),
    Mutant(
        "a fenced instance id is accepted",
        "check_member",
        "if holder != member_id:",
        'if holder == "":',
    ),
    Mutant(
        "LeaveGroup of an empty group id is queued",
        "prepare_leave",
        "return request if request.group_id else Answer(LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))",
        "return request",
    ),
    Mutant(
        "a member that leaves while it waits is not answered",
        "leave",
        "replies += answers_to_removed(classic.members.get(left))",
        "replies += answers_to_removed(None)",
    ),
    Mutant(
        "one member leaves twice in a batch",
        "Leaving.error_of",
        "member_id not in self.members or member_id in self.gone:",
        "member_id not in self.members:",
    ),
    Mutant(
        "one pending member leaves twice in a batch",
        "Leaving.error_of",
        "elif member_id in self.pending_members and member_id not in self.gone:",
        "elif member_id in self.pending_members:",
    ),
    Mutant(
        "an instance id that left earlier in the batch is fenced",
        "Leaving.error_of",
        "if holder in self.gone or member_id == NO_MEMBER_ID:",
        "if member_id == NO_MEMBER_ID:",
    ),
    Mutant(
        "the session of a member that leaves goes on",
        "leave",
        "tuple(SessionEnded(member_id) for member_id in leaving.gone)",
        "tuple(SessionEnded(member_id) for member_id in leaving.gone if member_id in classic.pending_members)",
    ),
    Mutant(
        "the session of a pending member that leaves goes on",
        "leave",
        "tuple(SessionEnded(member_id) for member_id in leaving.gone)",
        "tuple(SessionEnded(member_id) for member_id in leaving.gone if member_id in classic.members)",
    ),
    Mutant(
        "a member expires though its session was renewed in the same batch",
        "expire_session",
        "if is_timeout and not context.environment.sessions.is_over(group.group_id, member_id, context.now_ms):",
        "if group is None:",
    ),
    Mutant(
        "a member that waits expires",
        "expire_session",
        "if is_timeout and waits and not member.is_new:",
        "if is_timeout and waits and member.is_new:",
    ),
    Mutant(
        "a member that expires while it waits is not answered",
        "expire_session",
        "return Decision((removed,), tuple(answers_to_removed(member)), ended)",
        "return Decision((removed,), (), ended)",
    ),
    Mutant(
        "the session of a member that expired goes on",
        "expire_session",
        "return Decision((removed,), tuple(answers_to_removed(member)), ended)",
        "return Decision((removed,), tuple(answers_to_removed(member)))",
    ),
    Mutant(
        "the session of a pending member that expired goes on",
        "expire_session",
        "return Decision((expired,), effects=ended)",
        "return Decision((expired,))",
    ),
    Mutant(
        "loaded members have no session",
        "sessions_of_loaded_group",
        "for member in group.members.values()",
        "for member in group.members.values()\nif not group.members",
    ),
    Mutant(
        "the session of a loaded static member has no instance id",
        "sessions_of_loaded_group",
        "SessionStarted(member.member_id, member.group_instance_id, member.session_timeout_ms,",
        "SessionStarted(member.member_id, None, member.session_timeout_ms,",
    ),
)

MUTANTS: Final = (*JOIN_MUTANTS, *SYNC_MUTANTS, *MEMBER_MUTANTS)
