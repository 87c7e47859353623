from libc.stdint cimport int64_t

from coordinator.broker.share.pieces cimport Piece


cdef class InFlightWindow:
    cdef readonly int64_t start_offset, end_offset
    cdef readonly int64_t complete_count
    cdef readonly int64_t deadline_ms   # no lock ends before it
    cdef list pieces
    cdef bint may_have_available
    cdef int64_t gap_start, gap_end     # where stored states leave holes; gap_start -1: nowhere

    cdef int64_t in_flight(self)
    cdef bint has_gap(self) noexcept
    cdef bint has_no_records(self)
    cpdef int64_t next_fetch_offset(self) except? -1
    cpdef bint can_acquire(self, int record_locks_max) except -1
    cdef Py_ssize_t index_after(self, int64_t offset)
    cdef int put(self, Piece piece) except -1
    cdef int keep_until(self, int64_t deadline_ms) noexcept
    cdef int move_gap(self, int64_t offset) noexcept
    cdef int64_t counted(self, int64_t first, int64_t last) noexcept
    cdef int archive_holes(self, int64_t fetch_offset, int64_t base) except -1
    cdef bint archive_range(self, int64_t first, int64_t last, Py_ssize_t index, int state, bint is_counted) except -1
    cpdef bint advance(self) except -1
    cdef bint starts_with_done(self)
