cimport cython
from libc.stdint cimport int64_t


@cython.final
@cython.no_gc  # a state is a tree
cdef class GroupAuditState:
    cdef readonly int64_t seq
    cdef readonly int64_t created_seq
    cdef readonly dict members
    cdef readonly dict owners           # (topic, index) → the member that owned it last
    cdef set unassigned                 # partitions without an owner in the last generation; None if there are none
    cdef public int64_t rebalance_started_ms
    cdef readonly int64_t generation_started_ms
    cdef readonly int64_t partitions
    cdef readonly int64_t moved
    cdef readonly int64_t unowned
    cdef readonly int64_t nameable_partitions
    cdef readonly int64_t stored_seq
    cdef readonly int64_t stored_generation_id
    cdef readonly object stored_state
    cdef readonly tuple stored_member_ids
    cdef readonly int64_t commits
    cdef readonly int64_t committed_partitions

    cdef int start_event(self, bint is_never_void) except -1
    cdef int set_stored(self, group) except -1
    cdef int count_commit(self, offsets) except -1
