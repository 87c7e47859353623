"""What each request looks at of a share partition, as C fields."""

from libc.stdint cimport int32_t, int64_t

from coordinator.broker.share.in_flight cimport InFlightWindow
from coordinator.broker.share.reading cimport LogReading
from coordinator.log.partition.log_end cimport LogEnd


cdef class SharePartitionCore:
    cdef readonly object key
    cdef readonly LogEnd log
    cdef readonly object waiting
    cdef readonly LogReading reading
    cdef public InFlightWindow window
    cdef public object phase
    cdef public object load_error
    cdef public bint is_fetching
    cdef public object _parts
    cdef public object _tally
    cdef public int32_t _state_epoch
    cdef public int32_t _leader_epoch
    cdef object write_state
    cdef Py_ssize_t writes              # how many are under way; all of them say the same start
    cdef int64_t writes_start
    cdef list to_write                  # what waits for them, with what is called when it is stored
    cdef object timer
    cdef int64_t timer_ms               # when it is due; 0: none runs

    cdef bint can_fetch(self, int record_locks_max) except -1
    cdef int64_t bytes_available(self, bint is_committed) except -2
    cdef int arm(self) except -1
    cdef object current_tally(self)
    cdef int write_or_wait(self, list changes, stored) except -1
    cdef int send(self, list changes, stored) except -1
    cdef int written(self, stored, answer) except -1
