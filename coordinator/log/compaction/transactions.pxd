from libc.stdint cimport int64_t, uint8_t

from coordinator.log.compaction.producer_table cimport Producer, ProducerTable
from coordinator.log.compaction.raw_batches cimport Head, Problem


cdef struct AbortedTransaction:
    int64_t producer_id
    int64_t first_offset
    int64_t last_offset                 # of its marker


cdef class Transactions:
    cdef ProducerTable table
    cdef AbortedTransaction *aborted
    cdef Py_ssize_t aborted_count
    cdef Py_ssize_t aborted_capacity
    cdef Py_ssize_t next_aborted
    cdef int64_t pass_from_offset
    cdef int64_t next_offset
    cdef int64_t live_after_ms
    cdef Py_ssize_t producers_max

    cdef Problem scan_batch(self, const Head *head, const uint8_t *batch) noexcept nogil
    cdef Problem add_aborted(self, const Producer *producer, int64_t last_offset) noexcept nogil
    cdef void meet_aborted(self, int64_t up_to_offset) noexcept nogil
    cdef bint is_aborted(self, const Head *head) noexcept nogil
    cdef Problem meet_marker(self, const Head *head, const uint8_t *batch, bint *is_done) noexcept nogil
    cdef bint is_last_of_live_producer(self, const Head *head) noexcept nogil


cdef object corrupt_batch(Problem problem, Py_ssize_t position)
