"""Mutants of what happens to a group that breaks an invariant."""

from typing import Final

from tests.mutations.mutant import Mutant

SHARD: Final = "coordinator/runtime/shard.py"
FAILED_KEYS: Final = "coordinator/runtime/failed_keys.py"
REBUILD: Final = "coordinator/groups/rebuild.py"
STATE_MACHINE: Final = "coordinator/groups/state_machine.py"
COORDINATOR: Final = "coordinator/groups/coordinator.py"
RUNTIME: Final = "coordinator/runtime/coordinator_runtime.py"
RESUME: Final = "coordinator/audit/resume.py"
STORED: Final = "coordinator/core/groups/stored.py"

FAILURE_MUTANTS: Final = (
    Mutant(
        "the request that broke an invariant is not answered",
        SHARD,
        "            self._fail(queued, ErrorCode.COORDINATOR_NOT_AVAILABLE)\n",
        "            pass\n",
    ),
    Mutant(
        "requests that wait in a group that failed are not answered",
        FAILED_KEYS,
        "for request_id in (*waiting, *(reply.request_id for reply in decision.replies)):",
        "for request_id in (reply.request_id for reply in decision.replies):",
    ),
    Mutant(
        "requests that a failed decision would have answered are not answered",
        FAILED_KEYS,
        "for request_id in (*waiting, *(reply.request_id for reply in decision.replies)):",
        "for request_id in waiting:",
    ),
    Mutant(
        "a decision that failed is stored",
        SHARD,
        "            self.failed_keys.fail(key, now_ms, batch, decision, audited)\n",
        "            self.failed_keys.fail(key, now_ms, batch, decision, audited)\n            batch.store(records)\n",
    ),
    Mutant(
        "a decision that failed is audited",
        SHARD,
        "            self.failed_keys.fail(key, now_ms, batch, decision, audited)\n",
        "            self.failed_keys.fail(key, now_ms, batch, decision)\n",
    ),
    Mutant(
        "a group that failed becomes stable when the batch is stored",
        STATE_MACHINE,
        "        batch.newly_stable.pop(key, None)\n        self._sessions",
        "        self._sessions",
    ),
    Mutant(
        "sessions of a group that failed go on",
        STATE_MACHINE,
        "        self._sessions.end_all(key)\n        self._timers",
        "        self._timers",
    ),
    Mutant(
        "a group that failed is served on",
        SHARD,
        "        if key in self._failed:\n",
        "        if key in ():\n",
    ),
    Mutant(
        "a step that raises fails the partition",
        SHARD,
        "            except Exception:\n                self.failed_keys.fail(key, context.now_ms, batch, decision)\n"
        "                return\n",
        "            except StoreError:\n                self.failed_keys.fail(key, context.now_ms, batch, decision)\n"
        "                return\n",
    ),
    Mutant(
        "a decision over the shard is applied as one",
        SHARD,
        "            events.setdefault(event.key, []).append(event)\n",
        "            events.setdefault(decision.events[0].key, []).append(event)\n",
    ),
    Mutant(
        "a part that cannot be stored ends a decision over the shard",
        SHARD,
        "                continue\n            if self._apply",
        "                break\n            if self._apply",
    ),
    Mutant(
        "a group that failed waits for its rebuild for ever",
        FAILED_KEYS,
        "        self._machine.wake(key, failed.rebuild_ms)\n",
        "",
    ),
    Mutant(
        "the timer of a rebuild outlives its partition",
        FAILED_KEYS,
        "        for key in self.by_key:\n            self._machine.wake(key, None)\n",
        "",
    ),
    Mutant(
        "a rebuild begins at the first request that comes",
        FAILED_KEYS,
        "        if failed.rebuild_ms <= now_ms and not failed.is_due:\n",
        "        if not failed.is_due:\n",
    ),
    Mutant(
        "the delay before a rebuild stays short",
        FAILED_KEYS,
        "failed.next_retry_ms = min(retry_ms * 2, REBUILD_RETRY_MS_AT_MOST)",
        "failed.next_retry_ms = retry_ms",
    ),
    Mutant(
        "the delay before a rebuild grows without bound",
        FAILED_KEYS,
        "failed.next_retry_ms = min(retry_ms * 2, REBUILD_RETRY_MS_AT_MOST)",
        "failed.next_retry_ms = retry_ms * 2",
    ),
    Mutant(
        "the delay before a rebuild is short after each rebuild",
        FAILED_KEYS,
        "FailedKey(retry_ms if now_ms < until_ms else REBUILD_RETRY_MS_AT_FIRST)",
        "FailedKey(REBUILD_RETRY_MS_AT_FIRST)",
    ),
    Mutant(
        "the delay before a rebuild stays long",
        FAILED_KEYS,
        "FailedKey(retry_ms if now_ms < until_ms else REBUILD_RETRY_MS_AT_FIRST)",
        "FailedKey(retry_ms)",
    ),
)

REBUILD_MUTANTS: Final = (
    Mutant(
        "a group is rebuilt in one slice",
        FAILED_KEYS,
        "                if is_time_over():\n                    return False\n",
        "                continue\n",
    ),
    Mutant(
        "the log is read while a batch is in flight",
        RUNTIME,
        "(each for each in self._rebuilding.values() if not each.is_in_flight)",
        "(each for each in self._rebuilding.values())",
    ),
    Mutant(
        "the loop sleeps when a rebuild is due",
        RUNTIME,
        "self._rebuilding[shard.partition] = shard\n                    self._request_iteration()\n",
        "self._rebuilding[shard.partition] = shard\n",
    ),
    Mutant(
        "a rebuild stops after its first slice",
        RUNTIME,
        "        if self._rebuilding:\n            self._request_iteration()\n",
        "",
    ),
    Mutant(
        "a rebuild that cannot read the log is not tried again",
        FAILED_KEYS,
        '            logger.error("cannot rebuild groups", **self._described(), problem=str(problem))\n'
        "            self._try_again(now_ms)\n",
        '            logger.error("cannot rebuild groups", **self._described(), problem=str(problem))\n',
    ),
    Mutant(
        "a defect in a rebuild ends it",
        FAILED_KEYS,
        '            logger.exception("invariant violated while rebuilding groups", **self._described())\n'
        "            self._try_again(now_ms)\n",
        '            logger.exception("invariant violated while rebuilding groups", **self._described())\n',
    ),
    Mutant(
        "what is appended during a rebuild is not read",
        REBUILD,
        "        yield from self._read(read_to)\n",
        "",
    ),
    Mutant(
        "a rebuild reads the records of all groups",
        STORED,
        "            if self._only is None or group_id in self._only:\n",
        "            if True:\n",
    ),
    Mutant(
        "a rebuild reads no offsets",
        STORED,
        "group_id not in self._only:\n            return None, True\n",
        "True:\n            return None, True\n",
    ),
    Mutant(
        "a rebuilt group has no sessions",
        STATE_MACHINE,
        "            self._start_sessions(group.classic, now_ms)\n        batch",
        "        batch",
    ),
    Mutant(
        "a rebuilt group keeps the offsets in topics that were deleted meanwhile",
        SHARD,
        "            self.failed_keys.missed(queued)\n",
        "            pass\n",
    ),
    Mutant(
        "a topic that was deleted during a rebuild is forgotten in all groups",
        FAILED_KEYS,
        "QueuedOperation(queued.operation.on_one_group(), key, queued.request, queued.context)",
        "QueuedOperation(queued.operation, None, queued.request, queued.context)",
    ),
    Mutant(
        "a topic is forgotten after what was asked of the rebuilt group",
        SHARD,
        "        self._queue.extendleft(reversed(missed))\n",
        "        self._queue.extend(missed)\n",
    ),
    Mutant(
        "what a group missed comes before the snapshots of its batch",
        SHARD,
        "        while self._queue and isinstance(first := self._queue[0], ProjectionWrite):\n",
        "        while not self._queue and isinstance(first := self._queue[0], ProjectionWrite):\n",
    ),
    Mutant(
        "what a group missed is lost when it fails again",
        FAILED_KEYS,
        "        if queued.operation.scope is Scope.PASSED_OVER:\n",
        "        if queued.operation.scope is None:\n",
    ),
    Mutant(
        "a rebuilt group with too many members is left alone",
        COORDINATOR,
        "            shard.failed_keys.by_key[group_id].missed.append(check)\n",
        "            pass\n",
    ),
    Mutant(
        "a rebuild outlives its partition",
        FAILED_KEYS,
        "        self.rebuilt, self._being_rebuilt, self._steps = [], [], iter(())\n",
        "",
    ),
    Mutant(
        "a partition that is loaded again has failed groups",
        SHARD,
        "        self.failed_keys.clear()\n",
        "",
    ),
    Mutant(
        "the audit does not tell of a rebuild that lost nothing",
        RESUME,
        "if always or cause is Cause.FAULT or cursor is None or",
        "if cause is Cause.FAULT or cursor is None or",
    ),
    Mutant(
        "a start trusts a checkpoint that left a group out",
        RESUME,
        "        return self.starts_at_checkpoint and all(\n            group_id in cursors and cursors[group_id]"
        ".knows_members for group_id in group_ids\n        )\n",
        "        return self.starts_at_checkpoint\n",
    ),
)

MUTANTS: Final = (*FAILURE_MUTANTS, *REBUILD_MUTANTS)
