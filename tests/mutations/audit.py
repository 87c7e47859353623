"""Mutants of the audit: projections, snapshots, checkpoints and the resume after a start."""

from typing import Final

from tests.mutations.mutant import Mutant

PROJECTIONS: Final = "coordinator/audit/projections.py"
REJECTED_REQUESTS: Final = "coordinator/audit/rejected_requests.py"
SNAPSHOTS: Final = "coordinator/audit/snapshots.py"
RESUME: Final = "coordinator/audit/resume.py"
AUDIT_RETENTION: Final = "coordinator/groups/audit_retention.py"
AUDIT_SCHEDULE: Final = "coordinator/groups/audit_schedule.py"
SHARD: Final = "coordinator/runtime/shard.py"
MACHINE: Final = "coordinator/groups/state_machine.py"

MUTANTS: Final = (
    Mutant(
        "the sequence numbers of the audit have gaps",
        RESUME,
        "GroupAuditState(cursor.seq, cursor.created_seq)",
        "GroupAuditState(cursor.seq + 1, cursor.created_seq)",
    ),
    Mutant(
        "a rebalance that another one supersedes is not audited",
        PROJECTIONS,
        "if before is not COMPLETING_REBALANCE:",
        "if before is not STABLE:",
    ),
    Mutant(
        "offsets that expired are audited as deleted",
        "coordinator/core/offsets/expiry.py",
        "cause=DeletionCause.EXPIRED",
        "cause=DeletionCause.REQUESTED",
    ),
    Mutant(
        "offsets that were deleted are audited as expired too",
        PROJECTIONS,
        "return _partitions(event) if event.cause is DeletionCause.EXPIRED else None",
        "return _partitions(event)",
    ),
    Mutant(
        "the audit loses the partitions of a static member that came back",
        PROJECTIONS,
        "state.replace_member(event.old_member_id, member)",
        "state.members.pop(event.old_member_id)\n    state.remember_member(member, (), 0)",
    ),
    Mutant(
        "the audit describes a static member that came back by its new client",
        PROJECTIONS,
        '"described_client_id": member.client_id,',
        '"described_client_id": event.client_id,',
    ),
    Mutant(
        "the audit does not tell the protocol type that the first member brings",
        PROJECTIONS,
        '"protocol_type": event.protocol_type,',
        '"protocol_type": "",',
    ),
    Mutant(
        "a member that rejoins in the join phase is a trigger of it",
        PROJECTIONS,
        "if changed or before is not PREPARING_REBALANCE:",
        "if True:",
    ),
    Mutant(
        "a removed member is no trigger",
        PROJECTIONS,
        "    state.note_trigger(event.cause, member, event.reason, event.at_ms)\n    state.note_removal(",
        "    state.note_removal(",
    ),
    Mutant(
        "who was removed before it synced is not told",
        PROJECTIONS,
        "    if before is COMPLETING_REBALANCE:\n        state.note_never_synced",
        "    if before is STABLE:\n        state.note_never_synced",
    ),
    Mutant(
        "topics that grew are not told",
        PROJECTIONS,
        "state.topics = world.topics(state.subscribed_topics())\n    return {",
        "return {",
    ),
    Mutant(
        "every commit of a client that is no member is told as a reset",
        PROJECTIONS,
        "    if is_going_on and not any(",
        "    if False and not any(",
    ),
    Mutant(
        "a client that sets offsets back again is not told of",
        PROJECTIONS,
        "for _, before, now in of_topic):",
        "for _, before, now in ()):",
    ),
    Mutant(
        "rejections are told each time",
        REJECTED_REQUESTS,
        "return _rejection(event, group, count) if count else None",
        "return _rejection(event, group, max(count, 1))",
    ),
    Mutant(
        "the member that holds an instance id is not told",
        REJECTED_REQUESTS,
        '"holder": None if event.holder_id is None else group.members[event.holder_id],',
        '"holder": None,',
    ),
    Mutant(
        "a rejected commit is not counted",
        REJECTED_REQUESTS,
        "        state.count_rejected_commit()\n",
        "        pass\n",
    ),
    Mutant(
        "stale commits of transactions are in no event",
        "coordinator/core/offsets/transactional.py",
        'return rejecting(group, "TxnOffsetCommit", request, error, decision, context)',
        "return decision",
    ),
    Mutant(
        "the audit does not tell which offsets were deleted",
        PROJECTIONS,
        '"offsets": _deleted_offsets(event),',
        '"offsets": {},',
    ),
    Mutant(
        "a connection that closed in a pause of the coordinator is told as any other",
        "coordinator/core/classic/connection_at_removal.py",
        "environment.pauses.around(connection.closed_ms)",
        "None",
    ),
    Mutant(
        "an empty group without offsets is said to have lost them by age",
        "coordinator/core/offsets/expiry.py",
        "cause = Cause.OFFSETS_EXPIRED if expired else Cause.NO_OFFSETS",
        "cause = Cause.OFFSETS_EXPIRED",
    ),
    Mutant(
        "large groups are written in a checkpoint as often as small ones",
        SNAPSHOTS,
        "                self.members += len(group.members)\n",
        "",
    ),
    Mutant(
        "groups that only the audit knows are not removed",
        RESUME,
        "return [] if cursor is None or cursor.state is DEAD else",
        "return [] if cursor is None or cursor.state is not DEAD else",
    ),
    Mutant(
        "one audit event too many is void",
        RESUME,
        "return None if seq is None else seq + 1",
        "return seq",
    ),
    Mutant(
        "the audit does not notice that a static member's return was not stored",
        RESUME,
        "(self.generation_id, self.state, self.members) == state_key(group)\n",
        "(self.generation_id, self.state) == state_key(group)[:2]\n",
    ),
    Mutant(
        "the sequence numbers of the audit start again at each load",
        RESUME,
        "cursors.get(group_id), group_id,",
        "None, group_id,",
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
        "return group.state is STABLE and group.rebalance_reason is None",
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
        MACHINE,
        "            if self.audit.knows(self._loading.groups):\n                break\n",
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
        "        self._queue.appendleft(queued)\n\n    @property",
        "        self._queue.append(queued)\n\n    @property",
    ),
    Mutant(
        "a reload does not say that an append failed",
        SHARD,
        "        self._load_cause = Cause.STORE_FAILED\n",
        "",
    ),
    Mutant(
        "idle groups get no snapshot before retention removes their events",
        AUDIT_SCHEDULE,
        "if shard.projection.checkpoint_ms + snapshot_interval_ms(shard) <= next_check_ms:",
        "if shard.projection.checkpoint_ms + snapshot_interval_ms(shard) < 0:",
    ),
    Mutant(
        "retention deletes the last snapshot of a live group",
        AUDIT_RETENTION,
        "        return min(offset, max(durable, log.log_start_offset))\n",
        "        return offset\n",
    ),
    Mutant(
        "retention counts a checkpoint that no fsync has made safe",
        AUDIT_RETENTION,
        "if log.recovery_point >= audit.checkpoint_end_offset:",
        "if log.recovery_point >= 0:",
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
        "report.group_ids + shard.projection.take_committed_groups()",
        "report.group_ids",
    ),
)
