"""What a share partition knows of its log without asking it: how much there is to read, and how much of it at once.

Compiled: each fetch asks for both.
"""

cimport cython
from libc.stdint cimport int64_t

from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.log.partition.log_end cimport LogEnd

cdef enum:
    FIRST_BYTES = 1 << 17
    FIRST_BYTES_MIN = 1 << 13
    SPARE = 4                           # a read is larger by a part of this than if all records were as those before
    FORGOTTEN = 8                       # what part of the difference to smaller records each read takes over
    NOWHERE = -1

READ_FIRST_BYTES = FIRST_BYTES
READ_FIRST_BYTES_MIN = FIRST_BYTES_MIN


@cython.final
cdef class LogReading:
    def __init__(self, LogEnd log not None):
        self.log = log
        self.record_bytes = FIRST_BYTES
        self.offset = NOWHERE

    cpdef int64_t first_bytes(self, int64_t records) noexcept:
        cdef int64_t expected_bytes = min(records, <int64_t>FIRST_BYTES) * self.record_bytes
        return min(max(expected_bytes + expected_bytes // SPARE, <int64_t>FIRST_BYTES_MIN), <int64_t>FIRST_BYTES)

    cpdef int64_t available_bytes(self, int64_t offset, int64_t served_bytes) except -1:
        cdef int64_t left_bytes
        if offset != self.offset:
            self.count(offset)
        left_bytes = served_bytes - self.skipped_bytes
        if left_bytes <= 0 and self.is_summed and offset < <int64_t>self.log.high_watermark:
            # Compaction may have made batches larger since they were counted.
            self.count(offset)
            left_bytes = served_bytes - self.skipped_bytes
        return max(left_bytes, 0)

    cdef int count(self, int64_t offset) except -1:
        self.skipped_bytes = self.log.appended_bytes - <int64_t>self.log.bytes_from(offset)
        self.offset, self.is_summed = offset, False
        return 0

    cpdef bint begins_before_log(self, int64_t offset) except -1:
        return offset == self.offset and offset < <int64_t>self.log.log_start_offset

    cpdef int forget(self) except -1:
        self.offset = NOWHERE
        return 0

    cpdef int was_read(self, int64_t from_offset, FetchedBatches read, int64_t target, int64_t next_offset) except -1:
        cdef int64_t last = read.last(), record_bytes
        if last >= target:
            record_bytes = read.bytes_through(target) // (target - from_offset + 1) + 1
            if self.is_measured and record_bytes < self.record_bytes:
                # To read twice is dearer than to read some more.
                record_bytes = self.record_bytes - (self.record_bytes - record_bytes) // FORGOTTEN
            self.record_bytes, self.is_measured = record_bytes, True
        if from_offset == self.offset and from_offset < next_offset <= last + 1:
            self.skipped_bytes += read.bytes_before(next_offset)
            self.offset, self.is_summed = next_offset, True
        return 0
