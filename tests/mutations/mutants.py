"""Ways to break the coordinator, one at a time. Each must be found by a test (`make mutate`)."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """In `file`, `old` (which stands there once) becomes `new`."""

    name: str
    file: str
    old: str
    new: str


JOINING = "coordinator/core/joining.py"
MEMBERS = "coordinator/core/members.py"
REBALANCE = "coordinator/core/rebalance.py"
STATIC_MEMBERS = "coordinator/core/static_members.py"
EVENTS = "coordinator/core/events.py"
GROUP = "coordinator/core/group.py"
OFFSETS = "coordinator/core/offsets.py"
OFFSET_EXPIRY = "coordinator/core/offset_expiry.py"
STORED = "coordinator/core/stored.py"
ADMIN = "coordinator/core/admin.py"
SHARD = "coordinator/runtime/shard.py"
GROUPS = "coordinator/runtime/groups.py"
GROUP_TIMERS = "coordinator/runtime/group_timers.py"
STORE = "coordinator/runtime/store.py"
PROJECTIONS = "coordinator/audit/projections.py"
SNAPSHOTS = "coordinator/audit/snapshots.py"
AUDIT_SCHEDULE = "coordinator/runtime/audit_schedule.py"
RESUME = "coordinator/audit/resume.py"
PARTITION_LOG = "coordinator/log/partition_log.py"
RECOVERY = "coordinator/log/recovery.py"
SEGMENT = "coordinator/log/segment.py"

AUDIT_APPENDED = """            if audit:
                self._write(self._audit, [self._build(audit, self._audit.log_end_offset, None, now_ms)], now_ms)
"""
RECORDS_APPENDED = """            if stored:
                self._write(self._offsets, self._build_all(stored, now_ms), now_ms)
"""

MUTANTS = (
    # ---- JoinGroup
    Mutant(
        "one member too many while members gather",
        JOINING,
        "return waits or group.awaiting_join_count < max_size",
        "return waits or group.awaiting_join_count <= max_size",
    ),
    Mutant(
        "one member too many in a full group",
        JOINING,
        "return member is not None or len(group.members) < max_size",
        "return member is not None or len(group.members) <= max_size",
    ),
    Mutant(
        "the longest session timeout is too long",
        JOINING,
        "if not shortest <= request.session_timeout_ms <= longest:",
        "if not shortest <= request.session_timeout_ms < longest:",
    ),
    Mutant(
        "version 4 gets no member id first",
        JOINING,
        "if context.api_version < MEMBER_ID_REQUIRED_VERSION:",
        "if context.api_version <= MEMBER_ID_REQUIRED_VERSION:",
    ),
    Mutant(
        "a join whose answer was lost starts a rebalance",
        JOINING,
        "        if changed:\n",
        "        if True:\n",
    ),
    Mutant(
        "a leader that rejoins starts no rebalance",
        JOINING,
        "        if changed or leads:",
        "        if changed:",
    ),
    Mutant(
        "changed metadata goes unnoticed",
        JOINING,
        "changed = member.protocols != protocols",
        "changed = False",
    ),
    Mutant(
        "a reserved id has no session",
        JOINING,
        "return Decision((reserved,), required.replies, renewed=(member_id,))",
        "return Decision((reserved,), required.replies)",
    ),
    Mutant(
        "a refused id stays reserved",
        JOINING,
        "elif request.member_id in group.pending_members:",
        "elif not request.member_id:",
    ),
    # ---- SyncGroup, Heartbeat, LeaveGroup, sessions
    Mutant(
        "SyncGroup of any generation",
        MEMBERS,
        "    if request.generation_id != group.generation_id:\n",
        "    if request.generation_id > group.generation_id:\n",
    ),
    Mutant(
        "Heartbeat of an older generation",
        MEMBERS,
        "if error is NONE and request.generation_id != group.generation_id:",
        "if error is NONE and request.generation_id > group.generation_id:",
    ),
    Mutant(
        "SyncGroup while members gather",
        MEMBERS,
        "    if group.state is PREPARING_REBALANCE:\n        return",
        "    if group.state is EMPTY:\n        return",
    ),
    Mutant(
        "a heartbeat during a rebalance keeps nobody alive",
        MEMBERS,
        "        renewed = (request.member_id,)\n        if group.state is PREPARING_REBALANCE:\n",
        "        renewed = (request.member_id,)\n        if group.state is PREPARING_REBALANCE:\n"
        "            renewed = ()\n",
    ),
    Mutant(
        "who syncs in Stable still owes a sync",
        MEMBERS,
        "if request.member_id in group.pending_sync:",
        "if request.member_id not in group.members:",
    ),
    Mutant(
        "everybody gets the leader's part",
        MEMBERS,
        'assignment = assignments.get(member.member_id, b"")',
        'assignment = assignments.get(synced.member_id, b"")',
    ),
    Mutant(
        "followers that wait get no assignment",
        MEMBERS,
        "request_id = synced.request_id if member.member_id == synced.member_id else member.awaiting_sync",
        "request_id = synced.request_id if member.member_id == synced.member_id else None",
    ),
    Mutant(
        "an answered sync keeps nobody alive",
        MEMBERS,
        "return Decision(tuple(events), tuple(replies), renewed=tuple(answered))",
        "return Decision(tuple(events), tuple(replies))",
    ),
    Mutant(
        "who leaves while it waits is not answered",
        MEMBERS,
        "replies += answers_to_removed(group.members.get(left))",
        "replies += answers_to_removed(None)",
    ),
    Mutant(
        "one member leaves twice in a batch",
        MEMBERS,
        "gone.add(left)",
        "gone.discard(left)",
    ),
    Mutant(
        "who waits expires",
        MEMBERS,
        "if waits and not member.is_new:",
        "if waits and member.is_new:",
    ),
    Mutant(
        "who expires while it waits is not answered",
        MEMBERS,
        "return Decision((removed,), tuple(answers_to_removed(member)))",
        "return Decision((removed,))",
    ),
    Mutant(
        "a fenced instance goes on",
        MEMBERS,
        "if holder != member_id:",
        'if holder == "":',
    ),
    # ---- rebalances
    Mutant(
        "the join phase ends a moment late",
        REBALANCE,
        "if now_ms < rebalance.deadline_ms:",
        "if now_ms <= rebalance.deadline_ms:",
    ),
    Mutant(
        "the initial delay is not waited for",
        REBALANCE,
        "complete = group.all_have_joined and not rebalance.from_empty and not rebalance.held",
        "complete = group.all_have_joined and not rebalance.held",
    ),
    Mutant(
        "a refusal ends the join phase",
        REBALANCE,
        "complete = group.all_have_joined and not rebalance.from_empty and not rebalance.held",
        "complete = group.all_have_joined and not rebalance.from_empty",
    ),
    Mutant(
        "who syncs late is removed a moment later",
        REBALANCE,
        "if group.pending_sync and now_ms >= group.sync_deadline_ms:",
        "if group.pending_sync and now_ms > group.sync_deadline_ms:",
    ),
    Mutant(
        "a generation is left out",
        REBALANCE,
        "        group.generation_id + 1,\n        select_protocol(staying),",
        "        group.generation_id + 2,\n        select_protocol(staying),",
    ),
    Mutant(
        "an emptied group keeps its generation",
        REBALANCE,
        "GroupEmptied(group.group_id, now_ms, group.generation_id + 1)",
        "GroupEmptied(group.group_id, now_ms, group.generation_id)",
    ),
    Mutant(
        "the first to rejoin leads",
        REBALANCE,
        "leader = next((member for member in joined if member.member_id == group.leader), joined[0])",
        "leader = joined[-1]",
    ),
    Mutant(
        "static members that are late go",
        REBALANCE,
        "if m.awaiting_join is None and m.group_instance_id is None}",
        "if m.awaiting_join is None}",
    ),
    Mutant(
        "late dynamic members stay",
        REBALANCE,
        "return _start_generation(group, removed, staying, joined, now_ms)",
        "return _start_generation(group, [], staying, joined, now_ms)",
    ),
    Mutant(
        "a static member that did not rejoin gets no new session",
        REBALANCE,
        "renewed = tuple(member.member_id for member in staying)",
        "renewed = tuple(member.member_id for member in joined)",
    ),
    Mutant(
        "who waits for its assignment is not told of the rebalance",
        REBALANCE,
        "tuple(Reply(member.awaiting_sync, told) for member in waiting if member.awaiting_sync is not None),",
        "tuple(Reply(member.awaiting_sync, told) for member in waiting if member.awaiting_sync is None),",
    ),
    Mutant(
        "who waited for its assignment is not kept alive",
        REBALANCE,
        "renewed=tuple(member.member_id for member in waiting),",
        "renewed=(),",
    ),
    Mutant(
        "the initial delay grows without bound",
        REBALANCE,
        "left_ms = max(rebalance.remaining_delay_ms - rebalance.delay_ms, 0)",
        "left_ms = rebalance.remaining_delay_ms",
    ),
    Mutant(
        "the initial delay may outlast the rebalance timeout",
        REBALANCE,
        "delay_ms = min(rebalance.delay_ms, rebalance.remaining_delay_ms)",
        "delay_ms = max(rebalance.delay_ms, rebalance.remaining_delay_ms)",
    ),
    Mutant(
        "the least popular protocol wins",
        REBALANCE,
        "return min(votes, key=lambda name: (-votes[name], name))",
        "return min(votes, key=lambda name: (votes[name], name))",
    ),
    Mutant(
        "a protocol that not all know wins",
        REBALANCE,
        "        candidates.intersection_update(",
        "        candidates.update(",
    ),
    Mutant(
        "a group that is too large is left alone",
        REBALANCE,
        "len(group.members) > config[GROUP_MAX_SIZE]",
        "len(group.members) > config[GROUP_MAX_SIZE] + 1",
    ),
    # ---- static members
    Mutant(
        "a static member's new protocols change nothing",
        STATIC_MEMBERS,
        "at_once = group.state is STABLE and select_protocol(_with(group, old, member)) == group.protocol_name",
        "at_once = group.state is STABLE",
    ),
    Mutant(
        "an old leader is told that it leads",
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
        SHARD,
        "self._sessions.transfer(*who, event.session_timeout_ms, now_ms)",
        "self._sessions.drop(event.group_id, event.old_member_id)",
    ),
    # ---- events
    Mutant(
        "a released id does not end the wait for it",
        EVENTS,
        "group.allow_join_completion()",
        "group.all_have_joined",
    ),
    Mutant(
        "who joins stays reserved",
        EVENTS,
        "group.pending_members.pop(self.member_id, None)",
        "group.pending_members.get(self.member_id, None)",
    ),
    Mutant(
        "assignments outlive a rebalance that interrupts them",
        EVENTS,
        'member.assignment, member.awaiting_sync = b"", None',
        "member.awaiting_sync = None",
    ),
    Mutant(
        "a static member that came back owes no sync",
        EVENTS,
        "owed_sync = self.old_member_id in group.pending_sync",
        "owed_sync = False",
    ),
    Mutant(
        "a member stays new",
        EVENTS,
        "member.is_new = False",
        "member.is_new = member.is_new",
    ),
    Mutant(
        "a rebalance leaves its trigger",
        EVENTS,
        "        group.trigger = None\n",
        "",
    ),
    Mutant(
        "a static member comes back to nothing",
        EVENTS,
        "assignment=old.assignment,",
        'assignment=b"",',
    ),
    Mutant(
        "the leader of a static instance is lost",
        EVENTS,
        "        if led:\n",
        "        if led and self.request_id is None:\n",
    ),
    Mutant(
        "the delay is prolonged for nobody",
        EVENTS,
        "rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, False",
        "rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, True",
    ),
    Mutant(
        "a new member does not prolong the delay",
        EVENTS,
        "group.rebalance.new_member_came = True",
        "group.rebalance.new_member_came = False",
    ),
    Mutant(
        "members do not sync",
        EVENTS,
        "group.pending_sync.discard(self.member_id)",
        "group.pending_sync.copy()",
    ),
    # ---- the group
    Mutant(
        "what another protocol type read counts as subscriptions",
        GROUP,
        "tuple(metadata) if self.protocol_type == CONSUMER_PROTOCOL_TYPE else None",
        "tuple(metadata)",
    ),
    Mutant(
        "a removed member owes a sync",
        GROUP,
        "self.pending_sync.discard(member_id)",
        "self.pending_sync.copy()",
    ),
    Mutant(
        "nobody follows a leader that goes",
        GROUP,
        "self.leader = next(iter(self.members), None)",
        "self.leader = None",
    ),
    Mutant(
        "a member that goes still counts as waiting",
        GROUP,
        "self.awaiting_join_count -= 1",
        "self.awaiting_join_count -= 0",
    ),
    Mutant(
        "reserved ids are not waited for",
        GROUP,
        "return self.awaiting_join_count == len(self.members) and not self.pending_members",
        "return self.awaiting_join_count == len(self.members)",
    ),
    Mutant(
        "the last cause is told instead of the first",
        GROUP,
        "if self.trigger is None and self.state is not PREPARING_REBALANCE:",
        "if self.state is not PREPARING_REBALANCE:",
    ),
    Mutant(
        "an earlier transaction overwrites a later one",
        GROUP,
        "self.pending_offsets.update(dict.fromkeys(other for other in earlier if other[1] == where))",
        "self.pending_offsets.update({})",
    ),
    Mutant(
        "a position that is held back anew keeps its old place",
        GROUP,
        "self.pending_offsets.pop((producer_id, where), None)",
        "self.pending_offsets.get((producer_id, where), None)",
    ),
    Mutant(
        "an aborted transaction counts",
        GROUP,
        "if committed and held_back is not None:",
        "if held_back is not None:",
    ),
    # ---- offsets
    Mutant(
        "commits before the assignment is known",
        OFFSETS,
        "    if group.state is COMPLETING_REBALANCE:\n",
        "    if group.state is DEAD:\n",
    ),
    Mutant(
        "commits of an older generation",
        OFFSETS,
        "if request.generation_id_or_member_epoch != group.generation_id:",
        "if request.generation_id_or_member_epoch > group.generation_id:",
    ),
    Mutant(
        "commits of nobody to a group with members",
        OFFSETS,
        "if request.generation_id_or_member_epoch < 0 and group.state is EMPTY:",
        "if request.generation_id_or_member_epoch < 0:",
    ),
    Mutant(
        "offsets expire a moment late",
        OFFSET_EXPIRY,
        "return now_ms - since_ms >= retention_ms",
        "return now_ms - since_ms > retention_ms",
    ),
    Mutant(
        "offsets expire under an open transaction",
        OFFSET_EXPIRY,
        " and not group.has_pending_offset(where)",
        "",
    ),
    Mutant(
        "a group with an open transaction goes",
        OFFSET_EXPIRY,
        "if group.state is EMPTY and not left and not group.pending_offsets:",
        "if group.state is EMPTY and not left:",
    ),
    Mutant(
        "offsets age while the group lives",
        OFFSET_EXPIRY,
        "since_ms = group.state_since_ms",
        "since_ms = position.commit_timestamp_ms",
    ),
    Mutant(
        "groups with members are deleted",
        ADMIN,
        "    if group.state is not EMPTY:\n        return",
        "    if group.state is STABLE:\n        return",
    ),
    # ---- what is stored
    Mutant(
        "a stable generation is not stored",
        STORED,
        "    GenerationStable: _group_as_it_is,\n",
        "",
    ),
    Mutant(
        "an emptied group is not stored",
        STORED,
        "    GroupEmptied: _group_as_it_is,\n",
        "",
    ),
    Mutant(
        "a static member's return is not stored",
        STORED,
        "if group.state is STABLE and group.trigger is None else []",
        "if group.state is EMPTY else []",
    ),
    Mutant(
        "a loaded group has another leader",
        STORED,
        "    group.leader = stored.leader\n",
        "",
    ),
    Mutant(
        "a group's record takes its offsets away",
        STORED,
        "loaded.offsets, loaded.pending_offsets = known.offsets, known.pending_offsets",
        "loaded.pending_offsets = known.pending_offsets",
    ),
    Mutant(
        "a tombstone of a group is passed over",
        STORED,
        "self.groups.pop(group_id, None)",
        "self.groups.get(group_id, None)",
    ),
    Mutant(
        "session timeouts are mixed up with rebalance timeouts",
        STORED,
        "session_timeout=member.session_timeout_ms,",
        "session_timeout=member.rebalance_timeout_ms,",
    ),
    # ---- the shard
    Mutant(
        "heartbeats are taken from sessions while members gather",
        SHARD,
        "self._sessions.set_group(group.group_id, group.generation_id, False)",
        "self._sessions.set_group(group.group_id, group.generation_id, True)",
    ),
    Mutant(
        "heartbeats are never taken from sessions",
        SHARD,
        "self._sessions.set_group(group_id, generation_id, True)",
        "self._sessions.set_group(group_id, generation_id, False)",
    ),
    Mutant(
        "a generation that is over is opened to the fast path",
        SHARD,
        "        batch.opened.pop(group.group_id, None)\n",
        "",
    ),
    Mutant(
        "who waits is not told that nothing was stored",
        SHARD,
        "for request_id in dict.fromkeys((*waiting, *answered, *batch.asked)):",
        "for request_id in dict.fromkeys((*answered, *batch.asked)):",
    ),
    Mutant(
        "sessions outlive what is loaded anew",
        SHARD,
        "            self._sessions.drop_group(group_id)\n",
        "",
    ),
    Mutant(
        "timers outlive what is loaded anew",
        SHARD,
        "            self._timers.arm(group_id, None)\n",
        "",
    ),
    Mutant(
        "a group's timers are not set",
        SHARD,
        "        self._timers.arm(group.group_id, next_deadline_ms(group))\n",
        "",
    ),
    Mutant(
        "a timer that is due changes nothing",
        SHARD,
        "if ask.request_id is not None and not decision.events:",
        "if not decision.events:",
    ),
    Mutant(
        "only the first thing that follows is done",
        SHARD,
        "while (followed := advance(group, now_ms, self._config)).events:",
        "if (followed := advance(group, now_ms, self._config)).events:",
    ),
    Mutant(
        "loaded members have no session",
        SHARD,
        "            for member in group.members.values():\n                self._renew(",
        "            for member in ():\n                self._renew(",
    ),
    Mutant(
        "the audit is appended only with something stored",
        SHARD,
        "if batch.audit or batch.stored:",
        "if batch.stored:",
    ),
    Mutant(
        "a released id keeps its session",
        SHARD,
        "elif isinstance(event, MemberRemoved | PendingMemberRemoved):",
        "elif isinstance(event, MemberRemoved):",
    ),
    Mutant(
        "a static member that came back lives by its new session timeout at once",
        SHARD,
        "self._sessions.transfer(*who, event.session_timeout_ms, now_ms)",
        "self._sessions.transfer(*who, event.session_timeout_ms, now_ms)\n"
        "            self._renew(self.groups[event.group_id], event.new_member_id, now_ms)",
    ),
    Mutant(
        "a reserved member id lives by heartbeats",
        SHARD,
        "self._sessions.reserve(group.group_id, member_id, group.pending_members[member_id], now_ms)",
        "self._sessions.renew(group.group_id, member_id, None, group.pending_members[member_id], now_ms)",
    ),
    Mutant(
        "a replaced member keeps its session",
        SHARD,
        "self._sessions.transfer(*who, event.session_timeout_ms, now_ms)",
        "self._sessions.renew(*who[::2], None, event.session_timeout_ms, now_ms)",
    ),
    Mutant(
        "a group that is gone keeps its place in the sessions",
        SHARD,
        "            self._sessions.drop_group(group.group_id)\n",
        "",
    ),
    Mutant(
        "a new member has the session of an old one",
        SHARD,
        "self._sessions.renew(*who, NEW_MEMBER_JOIN_TIMEOUT_MS, now_ms)",
        "self._sessions.renew(*who, event.session_timeout_ms, now_ms)",
    ),
    Mutant(
        "failed requests are not answered",
        SHARD,
        "for request_id in batch.failures:",
        "for request_id in batch.failures[1:]:",
    ),
    Mutant(
        "a marker is not stored",
        SHARD,
        "        batch.stored.append(marker)\n",
        "",
    ),
    # ---- all shards
    Mutant(
        "a session ends though it was renewed in the same turn",
        GROUPS,
        "return expire_session(group, member_id, now_ms) if over else NOTHING",
        "return expire_session(group, member_id, now_ms)",
    ),
    Mutant(
        "loading is tried ever more rarely without end",
        GROUPS,
        "shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)",
        "shard.retry_ms = shard.retry_ms * 2",
    ),
    Mutant(
        "a partition that failed is not loaded anew",
        GROUPS,
        "if not shard.drain(now_ms):",
        "if shard.drain(now_ms) is None:",
    ),
    Mutant(
        "the age of offsets is looked at once",
        GROUPS,
        "        self._check_later(shard, left, now_ms + (1 if left else self._check_interval_ms))\n",
        "",
    ),
    Mutant(
        "a timer is not cancelled",
        GROUP_TIMERS,
        "            self._wheel.cancel(running[1])\n",
        "",
    ),
    Mutant(
        "a timer is not moved",
        GROUP_TIMERS,
        "if running[0] == deadline_ms:",
        "if deadline_ms is not None:",
    ),
    Mutant(
        "records are stored before the audit is told",
        STORE,
        AUDIT_APPENDED + RECORDS_APPENDED,
        RECORDS_APPENDED + AUDIT_APPENDED,
    ),
    Mutant(
        "the batches of one drain are written one by one",
        STORE,
        "                self._write(self._offsets, self._build_all(stored, now_ms), now_ms)\n",
        "                for each in self._build_all(stored, now_ms):\n"
        "                    self._write(self._offsets, [each], now_ms)\n",
    ),
    Mutant(
        "what a transaction writes counts at once",
        STORE,
        "if header.is_transactional else None",
        "if header.is_control else None",
    ),
    # ---- the audit
    Mutant(
        "the audit's numbers have gaps",
        RESUME,
        "GroupAuditState(cursor.seq, cursor.created_seq)",
        "GroupAuditState(cursor.seq + 1, cursor.created_seq)",
    ),
    Mutant(
        "a rebalance that was cut short is not told",
        PROJECTIONS,
        "if before is not COMPLETING_REBALANCE:",
        "if before is not STABLE:",
    ),
    Mutant(
        "a static member's partitions are lost to the audit",
        PROJECTIONS,
        "state.replace_member(event.old_member_id, member)",
        "state.members.pop(event.old_member_id)\n    state.remember_member(member, (), 0)",
    ),
    Mutant(
        "groups that only the audit knows go on",
        RESUME,
        "if group_id not in groups and cursor.state is not DEAD:",
        "if group_id not in groups and cursor.state is DEAD:",
    ),
    Mutant(
        "one event too many is void",
        RESUME,
        "return None if seq is None else seq + 1",
        "return seq",
    ),
    Mutant(
        "a static member's return that was not stored goes unnoticed",
        RESUME,
        "(self.generation_id, self.state, self.members) == state_key(group)\n",
        "(self.generation_id, self.state) == state_key(group)[:2]\n",
    ),
    Mutant(
        "the audit begins anew at each start",
        RESUME,
        "cursor = cursors.get(group_id)\n",
        "cursor = None\n",
    ),
    Mutant(
        "a group that is created again gets numbers of its predecessor",
        RESUME,
        "return GroupAuditState(next_offset) if cursor is None",
        "return GroupAuditState() if cursor is None",
    ),
    Mutant(
        "a removal that was not stored begins another incarnation",
        RESUME,
        "self._removed.add(group_id)",
        "del self.cursors[group_id]",
    ),
    Mutant(
        "removed groups are remembered while the audit is read",
        RESUME,
        "                del self.cursors[group_id]\n",
        "                continue\n",
    ),
    Mutant(
        "a snapshot in a rebalance does not say what is stored",
        PROJECTIONS,
        "if group.state not in (EMPTY, STABLE) and state.stored_state is not None:",
        "if group.state in (EMPTY, STABLE):",
    ),
    Mutant(
        "a replacement that a rebalance will store counts as stored",
        PROJECTIONS,
        "return group.state is STABLE and group.trigger is None",
        "return group.state is STABLE",
    ),
    Mutant(
        "a checkpoint that was not completed counts",
        RESUME,
        "self.starts_at_checkpoint |= event.checkpoint_offset == self._from_offset",
        "self.starts_at_checkpoint = True",
    ),
    Mutant(
        "a start trusts the checkpoint file",
        SHARD,
        "            if self.audit.starts_at_checkpoint:\n                break\n",
        "            break\n",
    ),
    Mutant(
        "a checkpoint is completed by its first slice",
        SNAPSHOTS,
        "last = chosen[-1] if chosen and self.is_over else None",
        "last = chosen[-1] if chosen else None",
    ),
    Mutant(
        "snapshots go behind the events of their batch",
        SHARD,
        "self._queue.appendleft(ask)",
        "self._queue.append(ask)",
    ),
    Mutant(
        "a reload does not say that an append failed",
        SHARD,
        "            self._load_cause = Cause.STORE_FAILED\n",
        "",
    ),
    Mutant(
        "idle groups get no snapshot before retention removes their events",
        AUDIT_SCHEDULE,
        "if shard.audit.checkpoint_ms + HALF_RETENTION_MS <= now_ms + self._interval_ms:",
        "if shard.audit.checkpoint_ms + HALF_RETENTION_MS < 0:",
    ),
    Mutant(
        "checkpoints are not kept over a start",
        AUDIT_SCHEDULE,
        "                self._checkpoints.write()\n",
        "",
    ),
    Mutant(
        "commits of the last interval are not reported at a stop",
        AUDIT_SCHEDULE,
        "report.group_ids + shard.audit.take_committed_groups()",
        "report.group_ids",
    ),
    # ---- the log
    Mutant(
        "the names of files that a killed process made are not flushed",
        PARTITION_LOG,
        "log._directories_to_fsync = [log.folder.parent, log.folder]",
        "log._directories_to_fsync = []",
    ),
    Mutant(
        "the names of files that a failed append left are not flushed",
        PARTITION_LOG,
        "self._note_new_names_in(self.folder)\n",
        "self._note_new_names_in(self.folder.parent)\n",
    ),
    Mutant(
        "names are flushed only with a segment",
        PARTITION_LOG,
        "if self.recovery_point >= self.log_end_offset and not self._directories_to_fsync:",
        "if not self._segments or (self.recovery_point >= self.log_end_offset and not self._directories_to_fsync):",
    ),
    Mutant(
        "a torn tail stays",
        SEGMENT,
        "            self._has_torn_tail = True\n",
        "",
    ),
    Mutant(
        "recovery leaves a torn tail",
        RECOVERY,
        "segment.truncate(segment.size_bytes)",
        "segment.file_size()",
    ),
    Mutant(
        "recovery skips a hole",
        RECOVERY,
        "if base_offset > end_offset and base_offset > recovery_point and not clean:",
        "if base_offset > end_offset and clean:",
    ),
)
