cimport cython
from libc.stdint cimport int64_t

cdef enum:
    BOUNDS_MAX = 31


@cython.final
cdef class TimeHistogram:
    cdef readonly tuple bounds_ms
    cdef int64_t bounds_ns[BOUNDS_MAX]
    cdef int64_t counts[BOUNDS_MAX + 1]
    cdef int64_t sum_ns
    cdef int bound_count

    cdef void observe_ns(self, int64_t time_ns) noexcept


@cython.final
cdef class AppendMeter:
    cdef TimeHistogram times
    cdef int64_t began_ns
    cdef readonly int64_t failures, audit_events


@cython.final
cdef class DrainMeter:
    cdef object request, drain
    cdef TimeHistogram queue_times, processing_times
    cdef int64_t requested_ns


cdef class EventMeter:
    cdef public int64_t offset_commits
    cdef dict counted
