"""What a share partition knows of its log, as C fields."""

cimport cython
from libc.stdint cimport int64_t

from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.log.partition.log_end cimport LogEnd


@cython.final
cdef class LogReading:
    cdef LogEnd log
    cdef int64_t record_bytes           # of a record, in the last reads; at first so many that all is read that may be
    cdef bint is_measured
    cdef int64_t offset
    cdef int64_t skipped_bytes          # of the log before `offset`, of all that were ever appended to it
    cdef bint is_summed                 # whether they are the sum of what was read, and not found in the log

    cpdef int64_t first_bytes(self, int64_t records) noexcept
    cpdef int64_t available_bytes(self, int64_t offset, int64_t served_bytes) except -1
    cpdef bint begins_before_log(self, int64_t offset) except -1
    cpdef int forget(self) except -1
    cpdef int was_read(self, int64_t from_offset, FetchedBatches read, int64_t target, int64_t next_offset) except -1
    cdef int count(self, int64_t offset) except -1
