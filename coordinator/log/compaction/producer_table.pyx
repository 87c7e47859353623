# cython: language_level=3, boundscheck=False, wraparound=False
"""What a cleaning knows of the producers in a log, by id. Clients may invent ids, so their hash has a secret."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from _wire.siphash cimport little_endian_word, siphash

cdef enum:
    FIRST_SLOTS = 64


cdef class ProducerTable:

    def __cinit__(self, bytes secret):
        if PyBytes_GET_SIZE(secret) != 16:
            raise ValueError("the secret has 16 bytes")
        self.secret.low = little_endian_word(<const uint8_t *>PyBytes_AS_STRING(secret), 8)
        self.secret.high = little_endian_word(<const uint8_t *>PyBytes_AS_STRING(secret) + 8, 8)
        self.slot_count = FIRST_SLOTS
        self.slots = <Producer *>calloc(self.slot_count, sizeof(Producer))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.slots)

    cdef Producer *find(self, int64_t producer_id) noexcept nogil:
        cdef Producer *slot = self.slot_of(producer_id)
        return slot if slot.is_used else NULL

    cdef Producer *entry(self, int64_t producer_id) noexcept nogil:
        cdef Producer *slot = self.slot_of(producer_id)
        cdef Producer *old
        cdef Py_ssize_t i, old_count
        if slot.is_used:
            return slot
        if 4 * (self.producers + 1) > 3 * self.slot_count:
            old, old_count = self.slots, self.slot_count
            self.slots = <Producer *>calloc(2 * old_count, sizeof(Producer))
            if self.slots == NULL:
                self.slots = old
                return NULL
            self.slot_count = 2 * old_count
            for i in range(old_count):
                if old[i].is_used:
                    self.slot_of(old[i].producer_id)[0] = old[i]
            free(old)
            slot = self.slot_of(producer_id)
        slot.producer_id = producer_id
        slot.open_since = slot.last_data_offset = slot.last_timestamp_ms = slot.epoch = -1
        slot.is_used = True
        self.producers += 1
        return slot

    cdef Producer *slot_of(self, int64_t producer_id) noexcept nogil:
        cdef uint64_t hash = siphash(&self.secret, <const uint8_t *>&producer_id, 8).low
        cdef Py_ssize_t i = <Py_ssize_t>(hash % <uint64_t>self.slot_count)
        while self.slots[i].is_used and self.slots[i].producer_id != producer_id:
            i += 1
            if i == self.slot_count:
                i = 0
        return &self.slots[i]

    cdef void begin_pass(self) noexcept nogil:
        """Forget where in its transactions each producer is: the log is read again."""
        cdef Py_ssize_t i
        for i in range(self.slot_count):
            self.slots[i].is_aborting = False
            self.slots[i].has_aborted_batches = self.slots[i].has_committed_batches = False
