"""The queue of a shard, and what a drain makes of the operations in it. Compiled: each request goes this way."""

from collections import deque
from functools import partial

from coordinator.core.stored_batch cimport StoredBatch
from coordinator.runtime.collected cimport Batch
from coordinator.wall_time cimport WallTime

from _wire.errors import ErrorCode
from coordinator.core.decision import NOTHING as NO_CHANGE, Reply
from coordinator.core.operation import Scope
from coordinator.logger import logger
from coordinator.runtime import batch as queued_ones, turns
from coordinator.runtime.deciding import failed
from coordinator.runtime.operation_under_way import WEIGHT_OF_STEPS, OperationUnderWay
from coordinator.runtime.shard_state import ShardState

cdef Py_ssize_t STEPS_BEGIN_AT = WEIGHT_OF_STEPS
cdef Py_ssize_t STEPS_MAX = turns.STEPS_AT_ONCE_MAX
cdef Py_ssize_t OF_APPEND = turns.APPEND_OPERATIONS
cdef Py_ssize_t KEYS_PER_OPERATION = turns.KEYS_PER_OPERATION
cdef object ACTIVE = ShardState.ACTIVE
cdef object NOTHING = NO_CHANGE
cdef object REPLY = Reply
cdef object QUEUED_OPERATION = queued_ones.QueuedOperation
cdef object PROJECTION_WRITE = queued_ones.ProjectionWrite
cdef object IN_PROGRESS = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
cdef object NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
cdef object SHARD_SCOPE = Scope.SHARD


cdef class ShardQueue:
    def __init__(self, partition, machine, store, timers, responses, failed_keys, *, request_drain, projection, local):
        self.partition, self.machine, self.projection = partition, machine, projection
        self.state, self.store, self.local = ShardState.INACTIVE, store, local
        self.failed_keys, self._failed = failed_keys, failed_keys.by_key
        self._timers, self._responses, self._request_drain = timers, responses, request_drain
        self._queue, self._drained_ms = deque(), 0
        self.submit = self._queue.append
        self.has_files = local is None

    @property
    def is_in_flight(self):
        return self._in_flight is not None or self._is_partial or self._under_way is not None

    @property
    def is_idle(self):
        return self.state is ACTIVE and not self._queue and not self.is_in_flight

    @property
    def is_quiet(self):
        return (
            self.state is ACTIVE
            and not self._queue
            and not self._failed
            and self._appended is None
            and not self.is_in_flight
        )

    def drain(self, now_ms, Py_ssize_t operations_max):
        return self.drain_queue(now_ms, operations_max)

    cdef Py_ssize_t drain_queue(self, now_ms, Py_ssize_t operations_max) except -1:
        cdef Batch batch
        cdef Py_ssize_t used
        if self.state is not ACTIVE:
            return 0 if self._is_activating else self._refuse_all()
        if self._in_flight is not None:
            return 0
        if self._appended is not None:
            self.release_appended()     # a batch that was appended since the last call
        self.made_files, self._drained_ms = False, now_ms
        under_way = self._under_way
        is_projected_first = under_way is None and self._queue and type(self._queue[0]) is PROJECTION_WRITE
        if is_projected_first:
            self.write_held(now_ms)     # such records begin where a batch of the log begins
            if self.state is not ACTIVE:
                return 0
        batch = Batch(self.store.batch_bytes_max) if under_way is None else under_way.batch
        try:
            used = self.handle_queued(now_ms, operations_max, batch)
        except Exception:
            logger.exception("unhandled exception in a batch; reloading the partition", partition=self.partition)
            self._fail_batch(batch)
            return operations_max
        if self._under_way is not None:
            return operations_max
        is_stored = self.append(batch, now_ms)
        if is_projected_first:
            self.write_held(now_ms)
        return used + OF_APPEND if is_stored else used

    cdef Py_ssize_t handle_queued(self, now_ms, Py_ssize_t operations_max, Batch batch) except -1:
        """Go on with the operation under way, and handle what is queued; returns how many operations it counts as."""
        cdef Py_ssize_t used = 0
        if self._under_way is not None:
            # What is queued begins a batch of its own: records of the projection alone would have to come first.
            self.go_on(operations_max)
            return operations_max       # there may be more in the queue
        if self.failed_keys.rebuilt:
            self._serve_rebuilt(now_ms)
        queue = self._queue
        while queue and used < operations_max:
            queued = queue.popleft()
            if type(queued) is not QUEUED_OPERATION:
                if type(queued) is PROJECTION_WRITE:
                    queued.write(self.machine.states, now_ms)
                    continue
                try:
                    is_handled = queued.key not in self._failed and queued.handle(self.machine, batch, now_ms)
                except Exception:
                    self._steady_failed(queued, now_ms)
                    is_handled = True
                if is_handled:
                    used += 1
                    continue
                queued = queued.as_operation()
            used += 1 + self.handle(queued, now_ms, batch)
            if self._under_way is not None:
                used += self.go_on(operations_max - used)
            if self._under_way is not None:
                return operations_max
            if queued.key is None:
                if queued.operation.scope is SHARD_SCOPE:
                    used += <Py_ssize_t>len(self.machine.states) // KEYS_PER_OPERATION
                if self._is_partial:
                    queue.appendleft(queued)
                    used = max(used, operations_max)
        return used

    cdef Py_ssize_t go_on(self, Py_ssize_t operations_max) except -1:
        """Go on with the operation under way; returns how many operations its steps count as."""
        used = self._under_way.go_on(operations_max)
        if self._under_way.has_ended:
            self._under_way = None
        return used

    cdef Py_ssize_t handle(self, queued, now_ms, Batch batch) except -1:
        """Handle an operation; returns the weight of its decision."""
        cdef WallTime wall
        cdef Py_ssize_t weight
        context, key = queued.context, queued.key
        wall = context.environment.wall
        context.now_ms, context.wall_ms = now_ms, now_ms + wall.step_ms
        is_asked = context.request_id is not None
        if key in self._failed:
            self.failed_keys.asked(queued, key, now_ms)
            self._fail(queued, IN_PROGRESS)
            return 0
        if is_asked:
            batch.queued.append(queued)
        decided = self.decide(queued, key, batch)
        if decided is None:
            self._is_partial = False
            self._abandon(queued, now_ms)
            return 0
        decision, records = <tuple>decided
        weight = decision.weight
        events = decision.events
        if key is None:
            self._apply_to_all(queued, decision, batch)
        elif not events and is_asked and not decision.effects:
            batch.replies.extend(decision.replies)      # there is nothing to apply, as for each read
        elif weight >= STEPS_BEGIN_AT:
            self._under_way = OperationUnderWay(batch, self._apply_in_steps(queued, key, decision, batch))
        elif not self.apply(key, decision, records, now_ms, batch):
            self._fail(queued, NOT_AVAILABLE)
        elif (events and not decision.no_step_follows) or not is_asked:
            self.advance(key, context, batch)
        return weight

    def decide(self, queued, key, Batch batch not None):
        try:
            decision = self.machine.decide(queued)
        except Exception as problem:
            return failed(self.machine, queued, batch, problem)
        if key is None or not decision.events or <Py_ssize_t>decision.weight >= STEPS_BEGIN_AT:
            return decision, ()
        return self.with_records(queued, key, decision, batch)

    def with_records(self, queued, key, decision, Batch batch not None):
        try:
            records = self.machine.records(key, decision)
            if records and queued.operation.is_divisible:
                records = batch.divided(records)
            batch.check(records)
            return decision, records
        except Exception as problem:
            return failed(self.machine, queued, batch, problem)

    cdef int apply(self, key, decision, records, now_ms, Batch batch) except -1:
        """Apply and store a decision about a key; 0 if that broke an invariant: the key failed."""
        cdef StoredBatch stored
        projected = 0 if self.projection is None else len(self.projection.records)
        try:
            self.machine.apply(key, decision, now_ms)
        except Exception:
            self.failed_keys.fail(key, now_ms, decision, projected)
            return 0
        batch.replies.extend(decision.replies)
        for stored in records:
            batch.store_one(stored)
        return 1

    cdef int advance(self, key, context, Batch batch) except -1:
        """Take the steps that the state of a key requires, until there is none."""
        cdef Py_ssize_t step
        machine = self.machine
        for step in range(STEPS_MAX + 1):
            decision = NOTHING
            try:
                decision = machine.advance(key, context)
                if not decision.events:
                    self._timers.arm(key, machine.deadline_ms(key))
                    return 0
                if step == STEPS_MAX:
                    raise AssertionError(f"more than {STEPS_MAX} steps at once, the last: {decision.events}")
                records = machine.records(key, decision)
            except Exception:
                self.failed_keys.fail(key, context.now_ms, decision)
                return 0
            if not self.apply(key, decision, records, context.now_ms, batch):
                return 0
        return 0

    def apply_now(self, key, decision, records, now_ms, Batch batch not None):
        return bool(self.apply(key, decision, records, now_ms, batch))

    def advance_now(self, key, context, Batch batch not None):
        self.advance(key, context, batch)

    cdef bint append(self, Batch batch, now_ms) except -1:
        """Append a batch; returns whether it has anything to store."""
        projected = () if self.projection is None else self.projection.pop_records()
        if not projected and not batch.stored:
            self._appended = batch
            return False
        new_files = None if self.has_files else self.local
        if new_files is not None:
            self.made_files = new_files.makes_files(projected, batch.stored)
        self._in_flight = batch
        self.is_appending = True
        self.store.append(projected, batch.stored, now_ms, partial(self._append_completed, batch))
        self.is_appending = False
        if new_files is not None:
            self.has_files = new_files.has_files
        return True

    def _append_completed(self, Batch batch not None, problem):
        if batch is not self._in_flight:
            return                      # the partition was unloaded meanwhile
        self._in_flight = None
        if problem is None:
            self._appended = batch
        else:
            self._append_failed(batch, problem)
        if not self.is_appending:
            self._request_drain(self)

    def release(self):
        self.release_appended()

    cdef int release_appended(self) except -1:
        cdef Batch batch = self._appended
        if batch is None:
            return 0
        self._appended = None
        self.machine.stored()
        answer = self._responses.reply
        for reply in batch.replies:
            try:
                if type(reply) is REPLY:
                    answer(reply.request_id, reply.response)
                else:
                    reply.send()
            except Exception:
                logger.exception("unhandled exception while sending a response", partition=self.partition)
        return 0
