"""Mutants of what carries decisions out: shards, their batches and loads, sessions and timers."""

from typing import Final

from tests.mutations.mutant import Mutant

STATE_MACHINE_MUTANTS: Final = (
    Mutant(
        "heartbeats are answered from sessions during a rebalance",
        "DecidedGroups.state_changed",
        "self.sessions.set_group(key, generation_id, False)",
        "self.sessions.set_group(key, generation_id, True)",
    ),
    Mutant(
        "heartbeats are never answered from sessions",
        "DecidedGroups.stored",
        "self.sessions.set_group(group_id, generation_id, True)",
        "self.sessions.set_group(group_id, generation_id, False)",
    ),
    Mutant(
        "heartbeats are answered from sessions before the generation is stored",
        "DecidedGroups.state_changed",
        "self._newly_stable[key] = generation_id",
        "self.sessions.set_group(key, generation_id, True)",
    ),
    Mutant(
        "heartbeats are answered from sessions for a generation that is over",
        "DecidedGroups.state_changed",
        "self._newly_stable.pop(key, None)",
        "pass",
    ),
    Mutant(
        "heartbeats of loaded groups are not answered from sessions",
        "GroupStateMachine._start_sessions",
        "group.membership.generation_id, has_fast_heartbeats(group))",
        "group.membership.generation_id, False)",
    ),
    Mutant(
        "the timer of a group is not set",
        "ShardQueue.advance",
        "self._timers.arm(key, machine.deadline_ms(key))",
        "self._timers.arm(key, None)",
    ),
    Mutant(
        "sessions outlive the unloading of their group",
        "GroupStateMachine.unload",
        "self.sessions.end_all(group_id)",
        "pass",
    ),
    Mutant(
        "timers outlive the unloading of their group",
        "Shard._forget_state",
        "self._timers.disarm_all(self.machine.states)",
        "pass",
    ),
    Mutant(
        "SyncGroup requests that wait are not answered when their group is unloaded",
        "waiting_requests",
        'for api, request_id in (("JoinGroup", member.awaiting_join), ("SyncGroup", member.awaiting_sync))',
        'for api, request_id in (("JoinGroup", member.awaiting_join),)',
    ),
)

BATCH_MUTANTS: Final = (
    Mutant(
        "a batch as large as the log takes is rejected",
        "Batch.check",
        "if batch.size_bytes > self.bytes_max:",
        "if batch.size_bytes >= self.bytes_max:",
    ),
    Mutant(
        "what follows a marker is stored before it",
        "Batch.store_marker",
        "self.stored.append(marker)\nself.last = None",
        "self.stored.append(marker)",
    ),
    Mutant(
        "decisions share no batch",
        "Batch.store_one",
        "if self.last is None or not self.last.extend_if_fits(decided, self.bytes_max):",
        "if True:",
    ),
)

SHARD_MUTANTS: Final = (
    Mutant(
        "records that are too large are appended",
        "with_records",
        "batch.check(records)\nreturn decision, records",
        "return decision, records",
    ),
    Mutant(
        "records that are too large are found after the events are applied",
        "with_records",
        "batch.check(records)\nreturn decision, records",
        ("machine.apply(key, decision, queued.context.now_ms)\nbatch.check(records)\nreturn Decision(), records"),
    ),
    Mutant(
        "an operation that fails is not answered",
        "deciding.failed",
        "batch.replies.append(Reply(queued.context.request_id, error))",
        "pass",
    ),
    Mutant(
        "a marker is not stored",
        "Shard._apply_to_all",
        "batch.store_marker(decision.marker)",
        "pass",
    ),
    Mutant(
        "a timer that is due changes nothing",
        "ShardQueue.handle",
        "elif (events and not decision.no_step_follows) or not is_asked:",
        "elif events and not decision.no_step_follows:",
    ),
    Mutant(
        "only the first step that follows is taken",
        "ShardQueue.advance",
        "if not self.apply(key, decision, records, context.now_ms, batch):\n    return 0",
        "self.apply(key, decision, records, context.now_ms, batch)\nreturn 0",
    ),
    Mutant(
        "the records of a step that follows are not stored",
        "ShardQueue.advance",
        "if not self.apply(key, decision, records, context.now_ms, batch):",
        "if not self.apply(key, decision, (), context.now_ms, batch):",
    ),
    Mutant(
        "a rebalance that no member joins has too many steps",
        "STEPS_AT_ONCE_MAX",
        "STEPS_AT_ONCE_MAX: Final = 16",
        "STEPS_AT_ONCE_MAX: Final = 2",
    ),
    Mutant(
        "steps that never end are not reported",
        "ShardQueue.advance",
        'raise AssertionError(f"more than',
        'logger.debug(f"more than',
    ),
    Mutant(
        "the audit is appended only with records",
        "ShardQueue.append",
        "if not projected and not batch.stored:",
        "if not batch.stored:",
    ),
    Mutant(
        "operations are decided while a batch is in flight",
        "ShardQueue.drain_queue",
        "if self._in_flight is not None:\n    return 0",
        "",
    ),
    Mutant(
        "replies are sent while their batch is in flight",
        "ShardQueue.append",
        "self._in_flight = batch",
        "self._in_flight = self._appended = batch",
    ),
    Mutant(
        "an append that fails later counts as stored",
        "ShardQueue._append_completed",
        "if problem is None:\n    self._appended = batch",
        "if problem is None or not self.is_appending:\n    self._appended = batch",
    ),
    Mutant(
        "an append that completes after the partition was unloaded counts",
        "ShardQueue._append_completed",
        "if batch is not self._in_flight:",
        "if batch is None:",
    ),
    Mutant(
        "a drain forgets the batch that was appended before",
        "ShardQueue.drain_queue",
        "self.release_appended()",
        "pass",
    ),
    Mutant(
        "a batch in flight is forgotten when its partition is unloaded",
        "Shard.unload",
        "self._fail_all(batch, ErrorCode.NOT_COORDINATOR)",
        "self._fail_all(Batch(0), ErrorCode.NOT_COORDINATOR)",
    ),
    Mutant(
        "a shard is not drained when its append completes later",
        "ShardQueue._append_completed",
        "self._request_drain(self)",
        "pass",
    ),
    Mutant(
        "topics count as forgotten while that is in flight",
        "ShardQueue.is_idle",
        "return self.state is ACTIVE and not self._queue and not self.is_in_flight",
        "return self.state is ACTIVE and not self._queue",
    ),
    Mutant(
        "the first operation of a failed batch is not answered",
        "Shard._fail_all",
        "for queued in batch.queued:",
        "for queued in batch.queued[1:]:",
    ),
    Mutant(
        "requests that wait are not answered when a batch fails",
        "Shard._fail_all",
        "for request_id in (*waiting, *replies):",
        "for request_id in replies:",
    ),
    Mutant(
        "requests that a failed batch would have answered are not answered",
        "Shard._fail_all",
        "for request_id in (*waiting, *replies):",
        "for request_id in waiting:",
    ),
    Mutant(
        "operations queued behind a failed batch are not answered",
        "Shard._fail_all",
        "self._responses.fail(request_id, error)\n        self._refuse_all()",
        "self._responses.fail(request_id, error)",
    ),
    Mutant(
        "a partition whose append failed is not loaded again",
        "Shard._fail_batch",
        "self.state, self.needs_retry = ShardState.FAILED, True\nself._fail_all(",
        "self.state = ShardState.FAILED\nself._fail_all(",
    ),
)

LOAD_MUTANTS: Final = (
    Mutant(
        "a partition that could not be read is not loaded again",
        "Shard._loading_failed",
        "self._forget_state()\nself.state, self.needs_retry = ShardState.FAILED, True",
        "self._forget_state()\nself.state = ShardState.FAILED",
    ),
    Mutant(
        "the delay before a partition is loaded again grows without bound",
        "CoordinatorRuntime._retry_later",
        "shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)",
        "shard.retry_ms = shard.retry_ms * 2",
    ),
    Mutant(
        "the delay before a partition is loaded again stays long",
        "Shard._activated",
        "self.state, self.retry_ms = ShardState.ACTIVE, LOAD_RETRY_MS_AT_FIRST",
        "self.state = ShardState.ACTIVE",
    ),
    Mutant(
        "a long log is read in one slice",
        "WaitingSteps.run",
        "elif is_time_over():\n    break",
        "",
    ),
    Mutant(
        "the audit of a load is appended twice",
        "WaitingSteps.run",
        "while not self.is_waiting:",
        "while True:",
    ),
    Mutant(
        "a partition is served before the audit of its load is appended",
        "WaitingSteps.run",
        "self._waits_for = waits_for",
        "self._waits_for = waits_for\nreturn True",
    ),
    Mutant(
        "what comes while a partition is activated is refused",
        "ShardQueue.drain_queue",
        "return 0 if self._is_activating else self._refuse_all()",
        "return self._refuse_all()",
    ),
    Mutant(
        "a partition that is unloaded while it is activated keeps its requests",
        "Shard.unload",
        "self._is_activating = False",
        "pass",
    ),
    Mutant(
        "all partitions are loaded in one slice",
        "CoordinatorRuntime._load_next_slice",
        "if self._loading and is_time_over():",
        "if False:",
    ),
    Mutant(
        "a committed offset that a tombstone removed comes back in the replay",
        "StoredGroups._apply_offset",
        "return offset is None or producer is not None",
        "return False",
    ),
    Mutant(
        "the tombstone of a group that changes its kind takes its offsets away",
        "StoredGroups._remove_group",
        "self._group(group_id).offsets = group.offsets",
        "pass",
    ),
    Mutant(
        "a commit during a transaction does not replace what that has pending",
        "StoredGroups.offsets_of_topic",
        "offsets.by_topic.setdefault(topic, {}), offsets.pending is None",
        "offsets.by_topic.setdefault(topic, {}), True",
    ),
    Mutant(
        "a batch of __consumer_offsets may lie anywhere",
        "BatchReplay._begin_batch",
        "if not self.next_offset <= batch.base_offset <= batch.last_offset < self._end_offset:",
        "if False:",
    ),
    Mutant(
        "the coordinator is not notified when the audit of a load is appended",
        "WaitingSteps._resume",
        "self._answered()",
        "pass",
    ),
    Mutant(
        "the loop spins until the audit of a load is appended",
        "CoordinatorRuntime._load_next_slice",
        "if shard.load_is_waiting:\n    waiting += 1\n    continue",
        "if shard.load_is_waiting:\n    waiting += 1\n    self._request_iteration()\n    continue",
    ),
    Mutant(
        "the loop spins until a read of a rebuild is answered",
        "CoordinatorRuntime._rebuild_next_slice",
        "if not (idle.is_in_flight or idle.failed_keys.is_waiting)",
        "if not idle.is_in_flight",
    ),
    Mutant(
        "a partition is served though the audit of its load was not appended",
        "Shard._load_steps",
        "if problem is not None:\n    raise problem",
        "",
    ),
    Mutant(
        "a partition that was unloaded is served when the audit of its load is appended",
        "WaitingSteps._resume",
        "if answered is self._waits_for:",
        "if True:",
    ),
    Mutant(
        "operations queued during a load come before the deleted topics are forgotten",
        "GroupCoordinator._loaded",
        "self._submit_first(shard, QueuedOperation(operations.FORGET_TOPICS, None, gone, self._internal_context()))",
        "self.enqueue_for_shard(operations.FORGET_TOPICS, shard.partition, gone, self._internal_context())",
    ),
    Mutant(
        "a topic that is deleted while a partition is loaded keeps its offsets there",
        "GroupCoordinator.topics_deleted",
        "if shard.state is not ShardState.INACTIVE:",
        "if shard.is_active:",
    ),
    Mutant(
        "deleted topics are not remembered until they are forgotten",
        "GroupCoordinator.topics_deleted",
        "self._deleted_topics.delete(shard.partition, gone.deleted)",
        "",
    ),
    Mutant(
        "topics that were forgotten are forgotten again",
        "GroupCoordinator._drained",
        ("if shard.partition in self._deleted_topics.partitions:\n    self._deleted_topics.forgotten(shard.partition)"),
        "",
    ),
    Mutant(
        "a load that is tried again goes by the topics that exist then",
        "DeletedTopics.load_begins",
        "self._before_load.setdefault(partition, existing)",
        "self._before_load[partition] = existing",
    ),
    Mutant(
        "a loaded group with too many members is left alone",
        "GroupCoordinator._loaded",
        "self._enqueue_internal(operations.REBALANCE_OVERSIZED_GROUP, group.group_id)",
        "pass",
    ),
)

TIMER_MUTANTS: Final = (
    Mutant(
        "the age of offsets is checked once",
        "GroupCoordinator._check_offsets",
        "self._check_later(shard, left, deadline_after(now_ms, 1 if left else self._check_interval_ms))",
        "",
    ),
    Mutant(
        "the rest of many groups is checked one interval later",
        "GroupCoordinator._check_offsets",
        "deadline_after(now_ms, 1 if left else self._check_interval_ms)",
        "deadline_after(now_ms, self._check_interval_ms)",
    ),
    Mutant(
        "the age of offsets is checked twice after a reload",
        "GroupCoordinator._check_later",
        "self._wheel.cancel(self._checks[shard.partition])",
        "pass",
    ),
    Mutant(
        "a timer is not cancelled",
        "KeyTimers.arm",
        "self._wheel.cancel(running[1])",
        "",
    ),
    Mutant(
        "a timer is not moved",
        "KeyTimers.arm",
        "if running[0] == deadline_ms:",
        "if deadline_ms is not None:",
    ),
    Mutant(
        "a timer that fired counts as running",
        "KeyTimers.fired",
        "self._running.pop(timer.key, None)",
        "self._running.get(timer.key, None)",
    ),
)

MUTANTS: Final = (*STATE_MACHINE_MUTANTS, *BATCH_MUTANTS, *SHARD_MUTANTS, *LOAD_MUTANTS, *TIMER_MUTANTS)
