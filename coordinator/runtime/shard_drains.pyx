"""The shards of a coordinator are drained when they have work. Compiled: each iteration of the loop does."""

from coordinator.core.partitioning cimport partition_for
from coordinator.runtime.shard_queue cimport ShardQueue

from collections import deque

from coordinator.runtime import turns
from coordinator.runtime.batch import QueuedOperation

cdef Py_ssize_t OPERATIONS_AT_ONCE = turns.OPERATIONS_AT_ONCE
cdef object QUEUED_OPERATION = QueuedOperation
cdef Py_ssize_t FILES_AT_ONCE = turns.FILES_AT_ONCE


cdef class ShardDrains:
    def __init__(self, request_iteration):
        self.shards, self._loading = (), deque()
        self._dirty, self._rebuilding = {}, {}
        self._request_iteration = request_iteration

    @property
    def is_dirty(self):
        return len(self._dirty) > 0

    def submit(self, operation, str key not None, request, context):
        cdef tuple shards = self.shards
        shard = shards[<Py_ssize_t>partition_for(key, len(shards))]
        (<ShardQueue>shard).submit(QUEUED_OPERATION(operation, key, request, context))
        self.mark(shard)

    def _enqueue(self, ShardQueue shard not None, queued):
        shard.submit(queued)
        self.mark(shard)

    def _mark_dirty(self, ShardQueue shard not None):
        self.mark(shard)

    def drain_later(self, Py_ssize_t partition):
        self.mark(self.shards[partition])

    cdef int mark(self, shard) except -1:
        if not self._dirty:
            self._request_iteration()
        self._dirty[(<ShardQueue>shard).partition] = shard
        return 0

    def drain(self, now_ms):
        if self._loading:
            self._load_next_slice(now_ms)
        if self._rebuilding:
            self._rebuild_next_slice(now_ms)
        if self._dirty:
            self.drain_dirty(now_ms)

    cdef int drain_dirty(self, now_ms) except -1:
        cdef Py_ssize_t left = OPERATIONS_AT_ONCE, files_left = FILES_AT_ONCE, used
        cdef dict deferred = {}, shards
        cdef list drained
        cdef ShardQueue shard
        while self._dirty and left > 0:
            shards, self._dirty = self._dirty, {}
            drained = []
            for shard in shards.values():
                if left <= 0 or (files_left <= 0 and not shard.has_files):
                    deferred[shard.partition] = shard
                    continue
                used = shard.drain_queue(now_ms, left)
                drained.append(shard)
                files_left -= shard.made_files
                if used >= left:
                    self._dirty[shard.partition] = shard    # there may be more in its queue
                left -= used
            for shard in drained:
                shard.release_appended()
                if shard.failed_keys.due:
                    self._rebuilding[shard.partition] = shard
                    self._request_iteration()
                if shard.needs_retry:
                    self._retry_later(shard, now_ms)
                self._drained(shard, now_ms)
        if deferred or self._dirty:
            self._dirty = {**deferred, **self._dirty}
            self._request_iteration()
        return 0
