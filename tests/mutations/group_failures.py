"""Mutants of what happens to a group that breaks an invariant."""

from typing import Final

from tests.mutations.mutant import Mutant

FAILURE_MUTANTS: Final = (
    Mutant(
        "the request that broke an invariant is not answered",
        "ShardQueue.handle",
        "self._fail(queued, NOT_AVAILABLE)",
        "pass",
    ),
    Mutant(
        "requests that wait in a group that failed are not answered",
        "FailedKeys.fail",
        "for request_id in (*waiting, *(reply.request_id for reply in decision.replies)):",
        "for request_id in (reply.request_id for reply in decision.replies):",
    ),
    Mutant(
        "requests that a failed decision would have answered are not answered",
        "FailedKeys.fail",
        "for request_id in (*waiting, *(reply.request_id for reply in decision.replies)):",
        "for request_id in waiting:",
    ),
    Mutant(
        "a decision that failed is stored",
        "ShardQueue.apply",
        "self.failed_keys.fail(key, now_ms, decision, projected)",
        "self.failed_keys.fail(key, now_ms, decision, projected)\nbatch.store(records)",
    ),
    Mutant(
        "a decision that failed is audited",
        "ShardQueue.apply",
        "self.failed_keys.fail(key, now_ms, decision, projected)",
        "self.failed_keys.fail(key, now_ms, decision)",
    ),
    Mutant(
        "a group that failed becomes stable when the batch is stored",
        "GroupStateMachine.discard",
        "self._newly_stable.pop(key, None)\nself.sessions",
        "self.sessions",
    ),
    Mutant(
        "sessions of a group that failed go on",
        "GroupStateMachine.discard",
        "self.sessions.end_all(key)",
        "pass",
    ),
    Mutant(
        "a group that failed is served on",
        "ShardQueue.handle",
        "if key in self._failed:",
        "if key in ():",
    ),
    Mutant(
        "a step that raises fails the partition",
        "ShardQueue.advance",
        "except Exception:\n    self.failed_keys.fail(key, context.now_ms, decision)\n    return",
        "except OSError:\n    self.failed_keys.fail(key, context.now_ms, decision)\n    return",
    ),
    Mutant(
        "a decision over the shard is applied as one",
        "Shard._apply_to_all",
        "events.setdefault(event.key, []).append(event)",
        "events.setdefault(decision.events[0].key, []).append(event)",
    ),
    Mutant(
        "a part that cannot be stored ends a decision over the shard",
        "Shard._apply_to_all",
        "continue",
        "break",
    ),
    Mutant(
        "a group that failed waits for its rebuild for ever",
        "FailedKeys._schedule",
        "self._timers.arm(key, failed.rebuild_ms)",
        "",
    ),
    Mutant(
        "the timer of a rebuild outlives its partition",
        "FailedKeys.clear",
        "for key in self.by_key:\n    self._timers.arm(key, None)",
        "",
    ),
    Mutant(
        "a rebuild begins at the first request that comes",
        "FailedKeys.asked",
        "if failed.rebuild_ms <= now_ms and not failed.is_due:",
        "if not failed.is_due:",
    ),
    Mutant(
        "the delay before a rebuild stays short",
        "FailedKeys._schedule",
        "failed.next_retry_ms = min(retry_ms * 2, REBUILD_RETRY_MS_AT_MOST)",
        "failed.next_retry_ms = retry_ms",
    ),
    Mutant(
        "the delay before a rebuild grows without bound",
        "FailedKeys._schedule",
        "failed.next_retry_ms = min(retry_ms * 2, REBUILD_RETRY_MS_AT_MOST)",
        "failed.next_retry_ms = retry_ms * 2",
    ),
    Mutant(
        "the delay before a rebuild is short after each rebuild",
        "FailedKeys._schedule",
        "FailedKey(retry_ms if now_ms < until_ms else REBUILD_RETRY_MS_AT_FIRST)",
        "FailedKey(REBUILD_RETRY_MS_AT_FIRST)",
    ),
    Mutant(
        "the delay before a rebuild stays long",
        "FailedKeys._schedule",
        "FailedKey(retry_ms if now_ms < until_ms else REBUILD_RETRY_MS_AT_FIRST)",
        "FailedKey(retry_ms)",
    ),
)

REBUILD_MUTANTS: Final = (
    Mutant(
        "a group is rebuilt in one slice",
        "FailedKeys.next_slice",
        "if not self._steps.run(is_time_over):\n    return False",
        "while not self._steps.run(lambda: False):\n    pass",
    ),
    Mutant(
        "the log is read while a batch is in flight",
        "CoordinatorRuntime._rebuild_next_slice",
        "(idle for idle in shards if not (idle.is_in_flight or idle.failed_keys.is_waiting))",
        "(idle for idle in shards if not idle.failed_keys.is_waiting)",
    ),
    Mutant(
        "the loop sleeps when a rebuild is due",
        "ShardDrains.drain_dirty",
        "self._rebuilding[shard.partition] = shard\nself._request_iteration()",
        "self._rebuilding[shard.partition] = shard",
    ),
    Mutant(
        "a rebuild stops after its first slice",
        "CoordinatorRuntime._rebuild_next_slice",
        "if self._rebuilding:\n    self._request_iteration()",
        "",
    ),
    Mutant(
        "a rebuild that cannot read the log is not tried again",
        "FailedKeys.next_slice",
        'logger.error("cannot rebuild the state of keys", **self._described(), problem=str(problem))\n'
        "self._try_again(now_ms)",
        'logger.error("cannot rebuild the state of keys", **self._described(), problem=str(problem))',
    ),
    Mutant(
        "a defect in a rebuild ends it",
        "FailedKeys.next_slice",
        'logger.exception("invariant violated while rebuilding the state of keys", **self._described())\n'
        "self._try_again(now_ms)",
        'logger.exception("invariant violated while rebuilding the state of keys", **self._described())',
    ),
    Mutant(
        "what is appended during a rebuild is not read",
        "FailedKeys._rebuild",
        "yield from machine.read_again(store, read_to)",
        "",
    ),
    Mutant(
        "a rebuild reads the records of all groups",
        "StoredGroups._apply_group_record",
        "if self._only is not None and group_id not in self._only:",
        "if False:",
    ),
    Mutant(
        "a rebuild reads no offsets",
        "StoredGroups.offsets_of_topic",
        "group_id not in self._only:\n    return None, True",
        "True:\n    return None, True",
    ),
    Mutant(
        "a rebuilt group has no sessions",
        "GroupStateMachine.serve",
        "self._start_sessions(group, now_ms)",
        "pass",
    ),
    Mutant(
        "a rebuilt group keeps the offsets in topics that were deleted meanwhile",
        "Shard._apply_to_all",
        "self.failed_keys.missed(queued)",
        "pass",
    ),
    Mutant(
        "a topic that was deleted during a rebuild is forgotten in all groups",
        "FailedKeys.missed",
        "QueuedOperation(queued.operation.on_one_group(), key, queued.request, queued.context)",
        "QueuedOperation(queued.operation, None, queued.request, queued.context)",
    ),
    Mutant(
        "a topic is forgotten after what was asked of the rebuilt group",
        "Shard._serve_rebuilt",
        "self._queue.extendleft(reversed(missed))",
        "self._queue.extend(missed)",
    ),
    Mutant(
        "what a group missed comes before the snapshots of its batch",
        "Shard._serve_rebuilt",
        "while self._queue and isinstance(first := self._queue[0], ProjectionWrite):",
        "while not self._queue and isinstance(first := self._queue[0], ProjectionWrite):",
    ),
    Mutant(
        "what a group missed is lost when it fails again",
        "FailedKeys.asked",
        "if queued.operation.scope is Scope.PASSED_OVER:",
        "if queued.operation.scope is None:",
    ),
    Mutant(
        "a rebuilt group with too many members is left alone",
        "GroupCoordinator._rebuilt",
        "shard.failed_keys.by_key[group_id].missed.append(check)",
        "pass",
    ),
    Mutant(
        "a rebuild outlives its partition",
        "FailedKeys.clear",
        "if self._steps is not None:\n    self._steps.cancel()\n    self._steps = None",
        "",
    ),
    Mutant(
        "a partition that is loaded again has failed groups",
        "Shard._fail_all",
        "self.failed_keys.clear()",
        "",
    ),
    Mutant(
        "the audit does not tell of a rebuild that lost nothing",
        "resume_group",
        "if always or cause is Cause.FAULT or cursor is None or",
        "if cause is Cause.FAULT or cursor is None or",
    ),
    Mutant(
        "a start trusts a checkpoint that left a group out",
        "AuditReplay.knows",
        (
            "return self.starts_at_checkpoint and all(\n"
            "    group_id in cursors and cursors[group_id].knows_members for group_id in group_ids\n"
            ")"
        ),
        "return self.starts_at_checkpoint",
    ),
)

MUTANTS: Final = (*FAILURE_MUTANTS, *REBUILD_MUTANTS)
