"""Mutants of share groups: their members, and the records that these have in flight."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    # ---- members
    Mutant(
        "a share member that sends its epoch of before is fenced",
        "share.heartbeat._check",
        "epochs = NO_EPOCH, member.current.epoch, member.current.previous_epoch",
        "epochs = NO_EPOCH, member.current.epoch",
    ),
    Mutant(
        "any epoch is that of a share member",
        "share.heartbeat._check",
        "if request.member_epoch in epochs:",
        "if True:",
    ),
    Mutant(
        "a share group grows above its size",
        "share.heartbeat._check",
        "if size >= limit or is_filled:",
        "if size > limit or is_filled:",
    ),
    Mutant(
        "a heartbeat makes a share group at any epoch",
        "share.heartbeat.heartbeat",
        "if group is None and request.member_epoch != NO_EPOCH:",
        "if False:",
    ),
    Mutant(
        "initialized partitions wait for another change",
        "ShareMemberUpdate._update_epoch",
        "elif group.epoch <= group.target_epoch and has_unassigned(group, self._topics):",
        "elif False:",
    ),
    Mutant(
        "topics that change do not change a share group",
        "ShareMemberUpdate._update_epoch",
        "if cause is None and found_hash != group.metadata_hash:",
        "if False:",
    ),
    Mutant(
        "share members get a target at once",
        "ShareMemberUpdate._update_target",
        "if not is_due(group.target_computed_ms, self._assignment_interval_ms, context.wall_ms):",
        "if False:",
    ),
    Mutant(
        "partitions whose initialization failed count as initialized",
        "initialization.end_initialization",
        "if request.has_failed:",
        "if False:",
    ),
    Mutant(
        "a late result initializes partitions of deleted topics",
        "initialization.end_initialization",
        "if not topics:",
        "if False:",
    ),
    Mutant(
        "the epoch stays when a share member goes",
        "share.leaving.remove",
        "epoch=group.epoch + 1,",
        "epoch=group.epoch,",
    ),
    Mutant(
        "a share member is removed though its session was renewed",
        "share.leaving.expire_session",
        "if is_timeout and not context.environment.sessions.is_over("
        "group.group_id, request.member_id, context.now_ms):",
        "if False:",
    ),
    # ---- sessions
    Mutant(
        "a request of an earlier epoch goes on with a share session",
        "ShareSessions.check",
        "if epoch not in (CLOSING_EPOCH, session.epoch):",
        "if False:",
    ),
    Mutant(
        "share sessions have no limit",
        "ShareSessions.open",
        "if len(self.by_member) >= self._sessions_max:",
        "if False:",
    ),
    Mutant(
        "a share session that ends keeps its locks",
        "ShareSessions.connection_closed",
        "self._release(session)",
        "pass",
    ),
    Mutant(
        "a share group leaves before all that its members held is released",
        "ShareSessions._check_left",
        "if group_id not in self._by_group:",
        "if True:",
    ),
    Mutant(
        "a share group stays when what its last member held is released after its connection has closed",
        "ShareSessions.released",
        "if session.connection not in self._opened:",
        "if session.connection in self._opened:",
    ),
    Mutant(
        "partitions with records stay the first ones of a share session",
        "ShareSession.must_respond",
        "if has_records: del self.partitions[partition]",
        "pass",
    ),
    Mutant(
        "the first fetch of a share session acknowledges",
        "ShareHandlers._fetch",
        "if acknowledges and request.share_session_epoch == OPENING_EPOCH:",
        "if False:",
    ),
    Mutant(
        "an error of acknowledgements says who leads in a ShareFetch",
        "ShareHandlers._fetch_response",
        "if data.error_code in ELSEWHERE:",
        "if data.error_code in ELSEWHERE or data.acknowledge_error_code in ELSEWHERE:",
    ),
    Mutant(
        "a ShareAcknowledge that closes keeps the session",
        "ShareHandlers._acknowledge",
        "if request.share_session_epoch == CLOSING_EPOCH:",
        "if False:",
    ),
    # ---- what is acknowledged
    Mutant(
        "acknowledgement batches may overlap",
        "acknowledging._problem_of",
        "if first > last or first < previous_last or not types:",
        "if first > last or not types:",
    ),
    Mutant(
        "locks are renewed by who does not say so",
        "acknowledging._problem_of",
        "or (RENEW in types and not may_renew)",
        "",
    ),
    Mutant(
        "partitions without batches are always mentioned",
        "acknowledging.acknowledge_partitions",
        "if is_asked:",
        "if True:",
    ),
    Mutant(
        "a batch that is wrong leaves the ones before it",
        "SharePartition.acknowledge",
        "complete(self.window, changes, False, self._parts.now_ms(), limit)",
        "pass",
    ),
    Mutant(
        "a write that says an earlier start is passed by a later one",
        "SharePartitionCore.write_or_wait",
        "if self.writes and self.window.start_offset != self.writes_start:",
        "if False:",
    ),
    Mutant(
        "a share partition that was fenced goes on",
        "SharePartition._completed",
        "if error in FENCING:",
        "if False:",
    ),
    Mutant(
        "records of share groups end before their locks do",
        "SharePartitionCore.arm",
        "if deadline_ms == INT64_MAX or (self.timer_ms and self.timer_ms <= deadline_ms):",
        "if deadline_ms == INT64_MAX or self.timer_ms:",
    ),
    Mutant(
        "records whose locks end are not offered to who waits",
        "SharePartition.due",
        "if has_ended:",
        "if False:",
    ),
    Mutant(
        "a share partition is read by two fetches at a time",
        "SharePartitionCore.can_fetch",
        "and not self.is_fetching",
        "",
    ),
    # ---- the window
    Mutant(
        "another member acknowledges",
        "release.acknowledge_piece",
        "if not holds(<Lock>piece.locks[offset - piece.first], member):",
        "if False:",
    ),
    Mutant(
        "a record is acknowledged while that is being stored",
        "release.acknowledge_piece",
        "if record.state != ACQUIRED_STATE or record.flags & WRITING:",
        "if record.state != ACQUIRED_STATE and not record.flags & WRITING:",
    ),
    Mutant(
        "a rejected record is available",
        "release.end_or_renew",
        "elif kind == GAP_TYPE or kind == REJECT_TYPE:",
        "elif kind == GAP_TYPE:",
    ),
    Mutant(
        "a released record is delivered above the limit",
        "release.end_or_renew",
        "record.state = released_state(record, delivery_count_limit)",
        "record.state = AVAILABLE_STATE",
    ),
    Mutant(
        "a record whose lock ends is delivered above the limit",
        "release.end_lock",
        "released_state(record, delivery_count_limit)",
        "AVAILABLE_STATE",
    ),
    Mutant(
        "a write that fails leaves what it was to store",
        "release.end_writing",
        "if is_stored or record.flags & FINAL:",
        "if True:",
    ),
    Mutant(
        "a lock that ended during a write that failed goes on",
        "release.end_writing",
        "if lock is None or lock.deadline_ms <= now_ms:",
        "if lock is None:",
    ),
    Mutant(
        "more records are in flight than there may be",
        "acquisition.acquire_read",
        "room = limits.record_locks_max - window.in_flight()",
        "room = limits.record_locks_max",
    ),
    Mutant(
        "records that failed often come in whole batches",
        "acquisition.is_throttled",
        "return is_free(&piece.whole) and piece.whole.count >= throttled_from",
        "return False",
    ),
    Mutant(
        "the last delivery comes with others",
        "acquisition.acquire_records",
        "if limit > 2 and record.count == limit - 1 and count > 0:",
        "if False:",
    ),
    Mutant(
        "records of aborted transactions are delivered",
        "acquisition.acquire",
        "if aborted and acquired:",
        "if False:",
    ),
    Mutant(
        "records that compaction has removed are waited for",
        "InFlightWindow.archive_holes",
        "if not self.pieces or fetch_offset >= base:",
        "if True:",
    ),
    Mutant(
        "the start of a window passes records that are being stored",
        "InFlightWindow.advance",
        "if record.flags & WRITING or not is_terminal(record.state):",
        "if not is_terminal(record.state):",
    ),
    Mutant(
        "records below the start of the log are offered",
        "InFlightWindow.move_start",
        "if self.archive_range(self.start_offset, log_start_offset - 1, 0, AVAILABLE_STATE, False):",
        "if False:",
    ),
)
