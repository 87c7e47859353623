cimport cython
from libc.stdint cimport int64_t


@cython.final
@cython.no_gc  # a trail is a tree
cdef class GroupTrail:
    cdef readonly int64_t seq
    cdef readonly int64_t created_seq
    cdef readonly dict members
    cdef dict owners                    # (topic, index) → who had it last
    cdef public int64_t rebalance_started_ms
    cdef readonly int64_t generation_started_ms
    cdef readonly int64_t partitions
    cdef readonly int64_t moved
    cdef readonly int64_t unowned

    cdef int number(self, bint is_creation) except -1
