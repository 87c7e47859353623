cimport cython
from libc.stdint cimport int64_t


cdef enum:
    RELEASED_BY = 1                     # by the member itself, as all that follow are
    REJECTED_BY = 2
    LOCK_ENDED_BY = 3
    CLOSED_BY = 4                       # it closed its share session
    DISCONNECTED_BY = 5


@cython.final
cdef class RecordCounts:
    cdef readonly int64_t acquired, delivered_again, accepted, released, rejected
    cdef readonly int64_t lock_ended, closed, disconnected, archived
    cdef public int64_t late, renewed
    cdef readonly list noted

    cdef int note(self, int64_t first, int64_t last, int count, int ended_by) except -1
    cdef int ended(self, int64_t first, int64_t last, int count, bint is_archived, int ended_by) except -1
