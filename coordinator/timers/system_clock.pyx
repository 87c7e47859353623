"""The system clock. Compiled, because each request reads it, and no int object of nanoseconds is made that way."""

import time

from libc.stdint cimport int64_t
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

cdef enum:
    MS_PER_SECOND = 1_000
    NANOSECONDS_PER_MS = 1_000_000
    NANOSECONDS_PER_SECOND = 1_000_000_000


cdef inline int64_t monotonic_ns() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * <int64_t>NANOSECONDS_PER_SECOND + now.tv_nsec


def wall_clock_ms():
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec * <int64_t>MS_PER_SECOND + now.tv_nsec // NANOSECONDS_PER_MS


cdef class SystemClock:
    cdef int64_t epoch_ns

    def __init__(self):
        self.epoch_ns = time.time_ns() - monotonic_ns()

    def now_ms(self):
        return (self.epoch_ns + monotonic_ns()) // NANOSECONDS_PER_MS
