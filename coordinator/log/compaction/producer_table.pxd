from libc.stdint cimport int16_t, int64_t

from _wire.siphash cimport Secret


cdef struct Producer:
    int64_t producer_id
    int64_t open_since                  # first offset of the transaction whose marker has not come yet; -1: none
    int64_t last_data_offset            # of its last batch with data in its last epoch; -1: a marker raised the epoch
    int64_t last_timestamp_ms
    int16_t epoch
    bint is_used                        # the slot
    bint is_aborting                    # what follows belongs to an aborted transaction, up to its marker
    bint has_aborted_batches            # of that transaction, batches have been met
    bint has_committed_batches          # batches of a transaction that was not aborted have been met


cdef class ProducerTable:
    cdef Producer *slots
    cdef Py_ssize_t slot_count
    cdef readonly Py_ssize_t producers
    cdef Secret secret

    cdef Producer *find(self, int64_t producer_id) noexcept nogil       # NULL if it is not there
    cdef Producer *entry(self, int64_t producer_id) noexcept nogil      # made if it is not there; NULL: no memory
    cdef Producer *slot_of(self, int64_t producer_id) noexcept nogil
    cdef void begin_pass(self) noexcept nogil
