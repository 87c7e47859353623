"""Steady requests at the head of the queue of a shard, handled by themselves. Compiled: it is most of what they take."""

from libc.stdint cimport int64_t

from coordinator.runtime.collected cimport Batch

from coordinator.logger import logger
from coordinator.runtime.batch import ProjectionWrite, QueuedOperation
from coordinator.runtime.shard import ShardState

cdef object ACTIVE = ShardState.ACTIVE
cdef object QUEUED_OPERATION = QueuedOperation
cdef object PROJECTION_WRITE = ProjectionWrite


def drain_steady(shard, int64_t now_ms, Py_ssize_t operations_max):
    cdef Batch batch
    cdef list steady = []
    local, queue, failed = shard.local, shard._queue, shard._failed
    if not can_drain(shard, local, <dict>failed):
        return None
    batch = Batch(local.batch_bytes_max)
    machine = shard.machine
    while queue and len(steady) < operations_max:
        first = queue[0]
        if type(first) is QUEUED_OPERATION or type(first) is PROJECTION_WRITE or <dict>failed:
            break
        try:
            if not first.handle(machine, batch, now_ms):
                break
            steady.append(first)
        except Exception:
            shard._steady_failed(first, now_ms)
        queue.popleft()
    # What clients send when they are answered has the next drain.
    is_done = not queue and not <dict>failed
    if batch.stored:
        problem = local.append_at_once(batch.stored, now_ms)
        if problem is not None:
            shard._append_failed(batch, problem)
            return None
        for answered in steady:
            try:
                answered.send()
            except Exception:
                logger.exception("unhandled exception while sending a response", partition=shard.partition)
    return len(steady) if is_done else None


cdef bint can_drain(shard, local, dict failed) except -1:
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
        and not failed
    )
