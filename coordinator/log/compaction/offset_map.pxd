from libc.stdint cimport int64_t, uint8_t, uint64_t

from _wire.siphash cimport Hash, Secret


cdef struct Slot:                       # 24 bytes, as in Kafka
    Hash hash
    int64_t offset_and_one              # 0: the slot is free


cdef class OffsetMap:
    cdef Slot *slots
    cdef Py_ssize_t slot_count
    cdef Py_ssize_t slots_max
    cdef Py_ssize_t keys_max
    cdef double load_factor
    cdef Secret secret
    cdef readonly Py_ssize_t keys
    cdef readonly int64_t latest_offset

    cdef int put_key(self, const uint8_t *key, Py_ssize_t size, int64_t offset) noexcept nogil
    cdef int64_t offset_of(self, const uint8_t *key, Py_ssize_t size) noexcept nogil
    cdef void advance_to(self, int64_t offset) noexcept nogil
    cdef Slot *slot_of(self, Hash hash) noexcept nogil
    cdef bint grow(self) noexcept nogil


cdef enum:
    PUT = 1
    FULL = 0
    NO_MEMORY = -1
