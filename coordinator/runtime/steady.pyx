"""Steady requests at the head of the queue of a shard, handled by themselves. Compiled: most of what they take."""

cimport cython
from libc.stdint cimport int64_t

from coordinator.runtime.collected cimport Batch
from coordinator.runtime.shard_drains cimport ShardDrains
from coordinator.runtime.shard_queue cimport ShardQueue
from coordinator.wall_time cimport WallTime

from coordinator.logger import logger
from coordinator.runtime import turns
from coordinator.runtime.batch import ProjectionWrite, QueuedOperation
from coordinator.runtime.shard import ShardState

cdef Py_ssize_t OPERATIONS_AT_ONCE = turns.OPERATIONS_AT_ONCE
cdef object ACTIVE = ShardState.ACTIVE
cdef object QUEUED_OPERATION = QueuedOperation
cdef object PROJECTION_WRITE = ProjectionWrite


@cython.final
cdef class SteadyDrain:
    def __init__(self, ShardDrains coordinator not None, scheduler, now_ms, WallTime wall not None):
        self.coordinator, self.scheduler, self.now_ms, self.wall = coordinator, scheduler, now_ms, wall
        self.call_soon = None if scheduler is None else scheduler.call_soon
        self.queued_in = {}

    cdef int submit(self, Py_ssize_t partition, request) except -1:
        """Queue a request in the shard of a partition, and have it handled soon."""
        (<ShardQueue>self.coordinator.shards[partition]).submit(request)
        if self.call_soon is None:
            self.coordinator.drain_later(partition)
            return 0
        if not self.queued_in:
            self.call_soon(self.drain)
        self.queued_in[partition] = None
        return 0

    def drain(self):
        cdef int64_t now_ms
        cdef dict queued_in = self.queued_in
        self.queued_in = {}
        if self.scheduler.is_abandoned:
            return
        now_ms = self.now_ms()
        self.wall.follow(now_ms)
        drain_shards(self.coordinator, self.coordinator.shards, queued_in, now_ms)


cdef int drain_shards(ShardDrains coordinator, tuple shards, partitions, int64_t now_ms) except -1:
    """Handle steady requests that were queued in these partitions, unless others have to be handled anyway."""
    cdef Py_ssize_t left = OPERATIONS_AT_ONCE
    for partition in partitions:
        shard = shards[partition]
        used = None if left <= 0 or coordinator._dirty else drain_steady(shard, now_ms, left)
        if used is None:
            coordinator.drain_later(partition)
        else:
            left -= <Py_ssize_t>used
    return 0


cdef object drain_steady(ShardQueue shard, int64_t now_ms, Py_ssize_t operations_max):
    """As `drain` and `release`, of the steady requests at the head of the queue; returns how many these were.

    None if there may be more to do, or nothing could be done: `drain` has to go on with the shard.
    """
    cdef Batch batch
    cdef Py_ssize_t used = 0
    cdef dict failed = shard._failed
    local, queue = shard.local, shard._queue
    if not can_drain(shard, local):
        return None
    batch = Batch(local.batch_bytes_max)
    machine = shard.machine
    while queue and used < operations_max:
        first = queue[0]
        if type(first) is QUEUED_OPERATION or type(first) is PROJECTION_WRITE or failed:
            break
        try:
            if not first.handle(machine, batch, now_ms):
                break
            used += 1
        except Exception:
            shard._steady_failed(first, now_ms)
        queue.popleft()
    # What clients send when they are answered has the next drain.
    is_done = not queue and not failed
    if batch.stored:
        problem = local.append_at_once(batch.stored, now_ms)
        if problem is not None:
            shard._append_failed(batch, problem)
            return None
        for answered in batch.replies:
            try:
                answered.send()
            except Exception:
                logger.exception("unhandled exception while sending a response", partition=shard.partition)
    return used if is_done else None


cdef bint can_drain(ShardQueue shard, local) except -1:
    """Whether nothing comes before the queue, and an append of the state alone would be complete when written."""
    return (
        shard.state is ACTIVE
        and local is not None
        and local.appends_at_once
        and shard.has_files
        and shard._in_flight is None
        and shard._appended is None
        and shard._under_way is None
        and not shard._is_partial
        and not shard._failed
    )
