"""What became of the records that a member of a share group has acquired, as counters.

Kafka has no counterpart: it tells nobody why a record is delivered again.
"""

cimport cython
from libc.stdint cimport int64_t

cdef enum:
    NOTED_MAX = 5                       # ranges of records that are named, the first ones

RELEASED = RELEASED_BY
REJECTED = REJECTED_BY
LOCK_ENDED = LOCK_ENDED_BY
CLOSED = CLOSED_BY
DISCONNECTED = DISCONNECTED_BY


@cython.final
cdef class RecordCounts:
    def __init__(self):
        self.noted = []

    def deliver(self, list acquired not None):
        cdef int64_t first, last
        cdef int count
        for first, last, count in acquired:
            self.acquired += last - first + 1
            if count > 1:
                self.delivered_again += last - first + 1

    def add(self, RecordCounts other not None):
        cdef int64_t first, last
        cdef int count, ended_by
        self.acquired += other.acquired
        self.delivered_again += other.delivered_again
        self.accepted += other.accepted
        self.released += other.released
        self.rejected += other.rejected
        self.lock_ended += other.lock_ended
        self.closed += other.closed
        self.disconnected += other.disconnected
        self.archived += other.archived
        self.late += other.late
        self.renewed += other.renewed
        for first, last, count, ended_by in other.noted:
            self.note(first, last, count, ended_by)

    cdef int note(self, int64_t first, int64_t last, int count, int ended_by) except -1:
        cdef tuple before
        if self.noted:
            before = <tuple>self.noted[len(self.noted) - 1]
            if before[1] == first - 1 and before[2] == count and before[3] == ended_by:
                self.noted[len(self.noted) - 1] = (before[0], last, count, ended_by)
                return 0
        if len(self.noted) < NOTED_MAX:
            self.noted.append((first, last, count, ended_by))
        return 0

    cdef int ended(self, int64_t first, int64_t last, int count, bint is_archived, int ended_by) except -1:
        # `is_archived`: it was delivered as often as it may be.
        cdef int64_t records = last - first + 1
        if ended_by == REJECTED_BY:
            self.rejected += records
        elif ended_by == RELEASED_BY:
            self.released += records
        elif ended_by == LOCK_ENDED_BY:
            self.lock_ended += records
        elif ended_by == CLOSED_BY:
            self.closed += records
        else:
            self.disconnected += records
        if is_archived:
            self.archived += records
        if is_archived or ended_by == REJECTED_BY:
            self.note(first, last, count, ended_by)
        return 0
