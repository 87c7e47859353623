# cython: language_level=3, boundscheck=False, wraparound=False
"""Key → offset of its last record, in a bounded amount of memory (Kafka's SkimpyOffsetMap).

A key is known by its hash alone, so two keys with one hash would lose records. Clients choose the keys. Kafka takes
MD5, for which anybody can make such keys. This takes SipHash with a secret that is new for each map and 128 bits of
output: who does not know the secret cannot make two keys collide, nor many fall into one place and slow the map down.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free

from _wire.siphash cimport Hash, little_endian_word, siphash

cdef enum:
    FIRST_SLOTS = 1 << 12
    SECRET_BYTES = 16

SLOT_BYTES = sizeof(Slot)


cdef class OffsetMap:

    def __cinit__(self, Py_ssize_t buffer_bytes, double load_factor, bytes secret):
        cdef bint has_room = buffer_bytes >= <Py_ssize_t>sizeof(Slot)
        if PyBytes_GET_SIZE(secret) != SECRET_BYTES or not 0 < load_factor <= 1 or not has_room:
            raise ValueError("an offset map has a secret of 16 bytes, a load factor of at most 1, and room for a slot")
        self.secret.low = little_endian_word(<const uint8_t *>PyBytes_AS_STRING(secret), 8)
        self.secret.high = little_endian_word(<const uint8_t *>PyBytes_AS_STRING(secret) + 8, 8)
        self.load_factor = load_factor
        self.slots_max = buffer_bytes // <Py_ssize_t>sizeof(Slot)
        self.slot_count = min(self.slots_max, FIRST_SLOTS)
        # One slot stays free, so that a search ends.
        self.keys_max = min(<Py_ssize_t>(self.slots_max * load_factor), self.slots_max - 1)
        self.latest_offset = -1
        self.slots = <Slot *>calloc(self.slot_count, sizeof(Slot))
        if self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.slots)

    def put(self, bytes key, int64_t offset):
        cdef int result = self.put_key(<const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key), offset)
        if result == NO_MEMORY:
            raise MemoryError
        return result == PUT

    def get(self, bytes key):
        return self.offset_of(<const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))

    @property
    def size_bytes(self):
        return self.slot_count * sizeof(Slot)

    cdef int put_key(self, const uint8_t *key, Py_ssize_t size, int64_t offset) noexcept nogil:
        """PUT; FULL if the key is new and no key has room; NO_MEMORY."""
        cdef Hash hash = siphash(&self.secret, key, size)
        cdef Slot *slot = self.slot_of(hash)
        if slot.offset_and_one == 0:
            if self.keys >= self.keys_max:
                return FULL
            if self.keys + 1 > self.slot_count * self.load_factor and self.slot_count < self.slots_max:
                if not self.grow():
                    return NO_MEMORY
                slot = self.slot_of(hash)
            slot.hash = hash
            self.keys += 1
        slot.offset_and_one = offset + 1
        self.latest_offset = offset
        return PUT

    cdef int64_t offset_of(self, const uint8_t *key, Py_ssize_t size) noexcept nogil:
        """-1 if there is none."""
        return self.slot_of(siphash(&self.secret, key, size)).offset_and_one - 1

    cdef void advance_to(self, int64_t offset) noexcept nogil:
        """Note that all records up to `offset` have been put."""
        if offset > self.latest_offset:
            self.latest_offset = offset

    cdef Slot *slot_of(self, Hash hash) noexcept nogil:
        """The slot with the hash, or the free one that it would take."""
        cdef Py_ssize_t i = <Py_ssize_t>(hash.low % <uint64_t>self.slot_count)
        cdef Slot *slot = &self.slots[i]
        while slot.offset_and_one != 0 and (slot.hash.low != hash.low or slot.hash.high != hash.high):
            i += 1
            if i == self.slot_count:
                i = 0
            slot = &self.slots[i]
        return slot

    cdef bint grow(self) noexcept nogil:
        """Take twice as many slots, at most `slots_max`."""
        cdef Slot *old = self.slots
        cdef Py_ssize_t old_count = self.slot_count
        cdef Py_ssize_t count = min(2 * old_count, self.slots_max)
        cdef Py_ssize_t i
        cdef Slot *slots = <Slot *>calloc(count, sizeof(Slot))
        if slots == NULL:
            return False
        self.slots, self.slot_count = slots, count
        for i in range(old_count):
            if old[i].offset_and_one != 0:
                self.slot_of(old[i].hash)[0] = old[i]
        free(old)
        return True
