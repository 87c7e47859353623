"""The queue of a shard, as C fields."""

from coordinator.core.stored_batch cimport StoredBatch
from coordinator.runtime.collected cimport Batch


cdef class ShardQueue:
    cdef readonly object partition
    cdef public object machine
    cdef public object projection
    cdef public object state
    cdef public object store
    cdef readonly object local
    cdef public object _timers
    cdef public object _responses
    cdef readonly object _request_drain
    cdef readonly object _queue
    cdef readonly object submit
    cdef public Batch _in_flight
    cdef public Batch _appended
    cdef public bint has_files
    cdef public bint made_files
    cdef public bint needs_retry
    cdef public object _drained_ms
    cdef bint is_appending              # the store is being called: what it completes meanwhile is not completed later
    cdef public bint _is_partial
    cdef public bint _is_activating
    cdef public object _under_way
    cdef public object failed_keys
    cdef public dict _failed

    cdef Py_ssize_t drain_queue(self, now_ms, Py_ssize_t operations_max) except -1
    cdef Py_ssize_t handle_queued(self, now_ms, Py_ssize_t operations_max, Batch batch) except -1
    cdef Py_ssize_t go_on(self, Py_ssize_t operations_max) except -1
    cdef Py_ssize_t handle(self, queued, now_ms, Batch batch) except -1
    cdef int apply(self, key, decision, records, now_ms, Batch batch) except -1
    cdef int advance(self, key, context, Batch batch) except -1
    cdef bint append(self, Batch batch, now_ms) except -1
    cdef int release_appended(self) except -1
