"""Pieces of the window of a share partition: records that were acquired together, their states and their locks.

Counterparts in Kafka: `InFlightBatch` and `InFlightState`. A piece has one state until a part of it gets another one,
and from then on a state per offset. A lock is a deadline; the caller has the clock.
"""

from libc.stdlib cimport free, malloc

import cython

AVAILABLE = AVAILABLE_STATE
ACQUIRED = ACQUIRED_STATE
ACKNOWLEDGED = ACKNOWLEDGED_STATE
ARCHIVED = ARCHIVED_STATE


@cython.final
cdef class Lock:
    pass


@cython.final
cdef class Piece:
    def __dealloc__(self):
        free(self.records)

    cdef int split(self) except -1:
        cdef Py_ssize_t index, size = self.last - self.first + 1
        if self.records != NULL:
            return 0
        self.records = <Record *>malloc((size if size else 1) * sizeof(Record))
        if self.records == NULL:
            raise MemoryError
        for index in range(size):
            self.records[index] = self.whole
        self.locks = [self.lock] * size
        self.lock = None
        return 0
