"""The system clock. Compiled, because each request reads it, and no int object of nanoseconds is made that way."""

import time

from libc.stdint cimport int64_t
from posix.types cimport clockid_t
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

cdef enum:
    MS_PER_SECOND = 1_000
    NANOSECONDS_PER_MS = 1_000_000
    NANOSECONDS_PER_SECOND = 1_000_000_000


cdef inline int64_t read_ns(clockid_t clock_id) noexcept:
    cdef timespec now
    clock_gettime(clock_id, &now)
    return now.tv_sec * <int64_t>NANOSECONDS_PER_SECOND + now.tv_nsec


def wall_clock_ms():
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return now.tv_sec * <int64_t>MS_PER_SECOND + now.tv_nsec // NANOSECONDS_PER_MS


cdef class SystemClock:
    cdef int64_t epoch_ns
    cdef readonly clockid_t clock_id

    def __init__(self, bint counts_suspension=False):
        self.clock_id = getattr(time, "CLOCK_BOOTTIME", CLOCK_MONOTONIC) if counts_suspension else CLOCK_MONOTONIC
        self.epoch_ns = time.time_ns() - read_ns(self.clock_id)

    def now_ms(self):
        return (self.epoch_ns + read_ns(self.clock_id)) // NANOSECONDS_PER_MS
