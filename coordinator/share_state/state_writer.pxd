"""Writes of the states of share partitions, as C fields."""

cimport cython
from libc.stdint cimport int32_t, int64_t

from coordinator.core.stored_batch cimport StoredBatch
from coordinator.runtime.steady cimport SteadyDrain


@cython.final
cdef class StateWriter:
    cdef object of
    cdef str key
    cdef bytes record_key               # of an update, as it is stored
    cdef object coordinator
    cdef object topics
    cdef int64_t existed_at             # the version of the topics at which the partition existed
    cdef object as_operation            # (request, stored) → what the core decides instead
    cdef object ask                     # the same, when nobody decides
    cdef SteadyDrain drain
    cdef Py_ssize_t partition           # of the state topic; -1: not known yet

    cdef bint exists(self) except -1
    cdef int write(
        self, int32_t state_epoch, int32_t leader_epoch, int64_t start_offset, int64_t delivery_complete_count,
        list batches, stored
    ) except -1


@cython.final
cdef class StateWrite:
    cdef StateWriter writer
    cdef int32_t state_epoch
    cdef int32_t leader_epoch
    cdef int64_t start_offset
    cdef int64_t delivery_complete_count
    cdef list batches
    cdef object stored                  # gets the error when it is stored, or is not
    cdef readonly str key
    cdef readonly object request_id     # None: nobody has registered it

    cdef object request(self)
    cdef bint is_update_of(self, state) except -1
    cdef StoredBatch update(self, after, bytes batches)
