"""Mutants of what carries decisions out: shards, their batches and loads, sessions and timers."""

from typing import Final

from tests.mutations.mutant import Mutant

SHARD: Final = "coordinator/runtime/shard.py"
BATCH: Final = "coordinator/runtime/batch.py"
STATE_MACHINE: Final = "coordinator/groups/state_machine.py"
COORDINATOR: Final = "coordinator/groups/coordinator.py"
RUNTIME: Final = "coordinator/runtime/coordinator_runtime.py"
DELETED_TOPICS: Final = "coordinator/groups/deleted_topics.py"
GROUP_TIMERS: Final = "coordinator/groups/timers.py"

STATE_MACHINE_MUTANTS: Final = (
    Mutant(
        "heartbeats are answered from sessions during a rebalance",
        STATE_MACHINE,
        "self._sessions.set_group(group.group_id, group.generation_id, False)",
        "self._sessions.set_group(group.group_id, group.generation_id, True)",
    ),
    Mutant(
        "heartbeats are never answered from sessions",
        STATE_MACHINE,
        "self._sessions.set_group(group_id, generation_id, True)",
        "self._sessions.set_group(group_id, generation_id, False)",
    ),
    Mutant(
        "heartbeats are answered from sessions before the generation is stored",
        STATE_MACHINE,
        "            batch.newly_stable[group.group_id] = group.generation_id\n",
        "            self._sessions.set_group(group.group_id, group.generation_id, True)\n",
    ),
    Mutant(
        "heartbeats are answered from sessions for a generation that is over",
        STATE_MACHINE,
        "            batch.newly_stable.pop(group.group_id, None)\n",
        "            pass\n",
    ),
    Mutant(
        "heartbeats of loaded groups are not answered from sessions",
        STATE_MACHINE,
        "group.generation_id, group.state is STABLE)",
        "group.generation_id, False)",
    ),
    Mutant(
        "the timer of a group is not set",
        STATE_MACHINE,
        "self._timers.arm(key, None if group is None else next_deadline_ms(group.classic))",
        "self._timers.arm(key, None)",
    ),
    Mutant(
        "sessions outlive the unloading of their group",
        STATE_MACHINE,
        "            self._sessions.end_all(group_id)\n            self._timers.arm(group_id, None)\n",
        "            self._timers.arm(group_id, None)\n",
    ),
    Mutant(
        "timers outlive the unloading of their group",
        STATE_MACHINE,
        "            self._sessions.end_all(group_id)\n            self._timers.arm(group_id, None)\n",
        "            self._sessions.end_all(group_id)\n",
    ),
    Mutant(
        "SyncGroup requests that wait are not answered when their group is unloaded",
        STATE_MACHINE,
        "for request_id in (member.awaiting_join, member.awaiting_sync)",
        "for request_id in (member.awaiting_join,)",
    ),
)

BATCH_MUTANTS: Final = (
    Mutant(
        "a batch as large as the log takes is rejected",
        BATCH,
        "            if each.size_bytes > self.bytes_max:\n",
        "            if each.size_bytes >= self.bytes_max:\n",
    ),
    Mutant(
        "what follows a marker is stored before it",
        BATCH,
        "        self.stored.append(marker)\n        self._last = None\n",
        "        self.stored.append(marker)\n",
    ),
    Mutant(
        "decisions share no batch",
        BATCH,
        "if self._last is None or not self._last.take(each, self.bytes_max):",
        "if True:",
    ),
)

SHARD_MUTANTS: Final = (
    Mutant(
        "records that are too large are appended",
        SHARD,
        "            batch.check(records)\n            return decision, records\n",
        "            return decision, records\n",
    ),
    Mutant(
        "records that are too large are found after the events are applied",
        SHARD,
        "            batch.check(records)\n            return decision, records\n",
        "            self.machine.apply(queued.key, decision, queued.context.now_ms, batch)\n"
        "            batch.check(records)\n            return Decision(), records\n",
    ),
    Mutant(
        "an operation that fails is not answered",
        SHARD,
        "            batch.replies.append(Reply(queued.context.request_id, error))\n",
        "            pass\n",
    ),
    Mutant(
        "a marker is not stored",
        SHARD,
        "            batch.store_marker(decision.marker)\n",
        "            pass\n",
    ),
    Mutant(
        "a timer that is due changes nothing",
        SHARD,
        "        elif (decision.events and not decision.no_step_follows) or context.request_id is None:\n",
        "        elif decision.events and not decision.no_step_follows:\n",
    ),
    Mutant(
        "only the first step that follows is taken",
        SHARD,
        "            if not self._apply(key, (decision, records), context.now_ms, batch):\n                return\n",
        "            self._apply(key, (decision, records), context.now_ms, batch)\n            return\n",
    ),
    Mutant(
        "the records of a step that follows are not stored",
        SHARD,
        "            if not self._apply(key, (decision, records), context.now_ms, batch):\n",
        "            if not self._apply(key, (decision, ()), context.now_ms, batch):\n",
    ),
    Mutant(
        "a rebalance that no member joins has too many steps",
        SHARD,
        "STEPS_AT_ONCE_MAX: Final = 16\n",
        "STEPS_AT_ONCE_MAX: Final = 2\n",
    ),
    Mutant(
        "steps that never end are not reported",
        SHARD,
        '                    raise AssertionError(f"more than',
        '                    log.debug(f"more than',
    ),
    Mutant(
        "the audit is appended only with records",
        SHARD,
        "        if not batch.audit and not batch.stored:\n",
        "        if not batch.stored:\n",
    ),
    Mutant(
        "operations are decided while a batch is in flight",
        SHARD,
        "        if self._in_flight is not None:\n            return 0\n",
        "",
    ),
    Mutant(
        "replies are sent while their batch is in flight",
        SHARD,
        "        self._in_flight = batch\n",
        "        self._in_flight = self._appended = batch\n",
    ),
    Mutant(
        "an append that fails later counts as stored",
        SHARD,
        "        if problem is None:\n            self._appended = batch\n",
        "        if problem is None or not self._is_appending:\n            self._appended = batch\n",
    ),
    Mutant(
        "an append that completes after the partition was unloaded counts",
        SHARD,
        "        if batch is not self._in_flight:\n",
        "        if batch is None:\n",
    ),
    Mutant(
        "a drain forgets the batch that was appended before",
        SHARD,
        "        self.release()  # a batch that was appended since the last call\n",
        "",
    ),
    Mutant(
        "a batch in flight is forgotten when its partition is unloaded",
        SHARD,
        "        self._fail_all(batch, ErrorCode.NOT_COORDINATOR)\n",
        "        self._fail_all(Batch(0), ErrorCode.NOT_COORDINATOR)\n",
    ),
    Mutant(
        "a shard is not drained when its append completes later",
        SHARD,
        "            self.completed_later(self)\n\n    def _append_failed(",
        "            pass\n\n    def _append_failed(",
    ),
    Mutant(
        "topics count as forgotten while that is in flight",
        SHARD,
        "return self.state is ShardState.ACTIVE and not self._queue and self._in_flight is None",
        "return self.state is ShardState.ACTIVE and not self._queue",
    ),
    Mutant(
        "the first operation of a failed batch is not answered",
        SHARD,
        "        for queued in batch.queued:\n",
        "        for queued in batch.queued[1:]:\n",
    ),
    Mutant(
        "requests that wait are not answered when a batch fails",
        SHARD,
        "for request_id in (*waiting, *(reply.request_id for reply in batch.replies)):",
        "for request_id in (reply.request_id for reply in batch.replies):",
    ),
    Mutant(
        "requests that a failed batch would have answered are not answered",
        SHARD,
        "for request_id in (*waiting, *(reply.request_id for reply in batch.replies)):",
        "for request_id in waiting:",
    ),
    Mutant(
        "operations queued behind a failed batch are not answered",
        SHARD,
        "            self._responses.fail(request_id, error)\n        self._refuse_all()\n",
        "            self._responses.fail(request_id, error)\n",
    ),
    Mutant(
        "a partition whose append failed is not loaded again",
        SHARD,
        "        self.state, self.needs_retry = ShardState.FAILED, True\n        self._fail_all(",
        "        self.state = ShardState.FAILED\n        self._fail_all(",
    ),
)

LOAD_MUTANTS: Final = (
    Mutant(
        "a partition that could not be read is not loaded again",
        SHARD,
        "        self.machine.unload()\n        self.state, self.needs_retry = ShardState.FAILED, True\n",
        "        self.machine.unload()\n        self.state = ShardState.FAILED\n",
    ),
    Mutant(
        "the delay before a partition is loaded again grows without bound",
        RUNTIME,
        "shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)",
        "shard.retry_ms = shard.retry_ms * 2",
    ),
    Mutant(
        "the delay before a partition is loaded again stays long",
        SHARD,
        "self.state, self.retry_ms = ShardState.ACTIVE, LOAD_RETRY_MS_AT_FIRST",
        "self.state = ShardState.ACTIVE",
    ),
    Mutant(
        "a long log is read in one slice",
        SHARD,
        "                if is_time_over():\n                    break\n",
        "",
    ),
    Mutant(
        "the audit of a load is appended twice",
        SHARD,
        "self.state is ShardState.LOADING and not self.load_is_appending:",
        "self.state is ShardState.LOADING:",
    ),
    Mutant(
        "a partition is served before the audit of its load is appended",
        SHARD,
        "            self.load_is_appending = self._is_appending = True\n",
        "            self.load_is_appending = self._is_appending = True\n            self._activated()\n",
    ),
    Mutant(
        "what comes while a partition is activated is refused",
        SHARD,
        "return 0 if self._is_activating else self._refuse_all()",
        "return self._refuse_all()",
    ),
    Mutant(
        "a partition that is unloaded while it is activated keeps its requests",
        SHARD,
        "self.load_is_appending = self._is_activating = False",
        "self.load_is_appending = False",
    ),
    Mutant(
        "all partitions are loaded in one slice",
        RUNTIME,
        "            if self._loading and is_time_over():\n",
        "            if False:\n",
    ),
    Mutant(
        "a committed offset that a tombstone removed comes back in the replay",
        "coordinator/core/groups/stored.py",
        "return offset is None or producer is not None",
        "return False",
    ),
    Mutant(
        "the offsets of a group that was removed come back in the replay",
        "coordinator/core/groups/stored.py",
        "return self.groups.pop(group_id, None) is not None",
        "return self.groups.pop(group_id, None) is None",
    ),
    Mutant(
        "a commit during a transaction does not replace what that has pending",
        "coordinator/core/groups/stored.py",
        "offsets.by_topic.setdefault(topic, {}), offsets.pending is None",
        "offsets.by_topic.setdefault(topic, {}), True",
    ),
    Mutant(
        "a batch of __consumer_offsets may lie anywhere",
        "coordinator/core/groups/batch_replay.pyx",
        "if not self.next_offset <= batch.base_offset <= batch.last_offset < self._end_offset:",
        "if False:",
    ),
    Mutant(
        "the coordinator is not notified when the audit of a load is appended",
        SHARD,
        "            self.completed_later(self)\n\n    def _activated(",
        "            pass\n\n    def _activated(",
    ),
    Mutant(
        "the loop spins until the audit of a load is appended",
        RUNTIME,
        "                if not shard.load_is_appending:\n                    self._request_iteration()\n",
        "                self._request_iteration()\n",
    ),
    Mutant(
        "a partition is served though the audit of its load was not appended",
        SHARD,
        "        if problem is not None:\n            self._loading_failed(problem)\n",
        "",
    ),
    Mutant(
        "a partition that was unloaded is served when the audit of its load is appended",
        SHARD,
        "        if load is not self._load:\n",
        "        if load is None:\n",
    ),
    Mutant(
        "operations queued during a load come before the deleted topics are forgotten",
        COORDINATOR,
        "self._submit_first(shard, QueuedOperation(operations.FORGET_TOPICS, None, gone, self._internal_context()))",
        "self.enqueue_for_shard(operations.FORGET_TOPICS, shard.partition, gone, self._internal_context())",
    ),
    Mutant(
        "a topic that is deleted while a partition is loaded keeps its offsets there",
        COORDINATOR,
        "            if shard.state is not ShardState.INACTIVE:\n",
        "            if shard.is_active:\n",
    ),
    Mutant(
        "deleted topics are not remembered until they are forgotten",
        COORDINATOR,
        "                self._deleted_topics.delete(shard.partition, gone.deleted)\n",
        "",
    ),
    Mutant(
        "topics that were forgotten are forgotten again",
        COORDINATOR,
        "            if shard.partition in self._deleted_topics.partitions:\n"
        "                self._deleted_topics.forgotten(shard.partition)\n",
        "",
    ),
    Mutant(
        "a load that is tried again goes by the topics that exist then",
        DELETED_TOPICS,
        "self._before_load.setdefault(partition, existing)",
        "self._before_load[partition] = existing",
    ),
    Mutant(
        "a loaded group with too many members is left alone",
        COORDINATOR,
        "                self._enqueue_internal(operations.REBALANCE_OVERSIZED_GROUP, group.group_id)\n",
        "                pass\n",
    ),
)

TIMER_MUTANTS: Final = (
    Mutant(
        "the age of offsets is checked once",
        COORDINATOR,
        "        self._check_later(shard, left, deadline_after(now_ms, 1 if left else self._check_interval_ms))\n",
        "",
    ),
    Mutant(
        "the rest of many groups is checked one interval later",
        COORDINATOR,
        "deadline_after(now_ms, 1 if left else self._check_interval_ms)",
        "deadline_after(now_ms, self._check_interval_ms)",
    ),
    Mutant(
        "the age of offsets is checked twice after a reload",
        COORDINATOR,
        "            self._wheel.cancel(self._checks[shard.partition])\n",
        "            pass\n",
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
        "a timer that fired counts as running",
        GROUP_TIMERS,
        "self._running.pop(group_id, None)",
        "self._running.get(group_id, None)",
    ),
)

MUTANTS: Final = (*STATE_MACHINE_MUTANTS, *BATCH_MUTANTS, *SHARD_MUTANTS, *LOAD_MUTANTS, *TIMER_MUTANTS)
