# cython: language_level=3, boundscheck=False, wraparound=False
"""Groups by id, with what they committed: 40 bytes each, 4 to 8 for its slot, and the id; none is a Python object.

Clients choose the ids, so the hash has a secret.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcmp, memcpy, memset

from _wire.siphash cimport siphash

from os import urandom

IDS_BYTES_MAX = 64 << 20

cdef enum:
    ENTRIES_AT_FIRST = 256
    IDS_AT_FIRST = 8192
    NOT_FOUND = -1


@cython.final
cdef class GroupTable:

    def __cinit__(self, Py_ssize_t groups_max):
        if not 0 < groups_max < 1 << 30:
            raise ValueError(f"groups_max {groups_max} is not allowed")
        self.groups_max = groups_max
        self.last = NOT_FOUND
        self.secret.low = int.from_bytes(urandom(8), "big")
        self.secret.high = int.from_bytes(urandom(8), "big")
        self.grow(ENTRIES_AT_FIRST)
        self.ids = <uint8_t *>resized(NULL, IDS_AT_FIRST)
        self.ids_room = IDS_AT_FIRST

    def __dealloc__(self):
        PyMem_Free(self.entries)
        PyMem_Free(self.slots)
        PyMem_Free(self.ids)

    def __len__(self):
        return self.count

    def __iter__(self):
        cdef Py_ssize_t number
        for number in range(self.count):
            yield (
                PyBytes_FromStringAndSize(<const char *>self.ids + self.entries[number].id_start,
                                          self.entries[number].id_size),
                self.entries[number].commits,
                self.entries[number].last_commit_ms,
            )

    cdef int add_commit(self, const uint8_t *group, Py_ssize_t size, bint is_deleted, int64_t timestamp_ms) except -1:
        cdef Py_ssize_t number = self.find(group, size)
        if number == NOT_FOUND:
            self.left_out += 1
        elif not is_deleted:
            self.entries[number].commits += 1
            if timestamp_ms > self.entries[number].last_commit_ms:
                self.entries[number].last_commit_ms = timestamp_ms
        return 0

    cdef Py_ssize_t find(self, const uint8_t *group, Py_ssize_t size) except -3:
        """The number of the group's entry, which is made if there is none; NOT_FOUND if there is no room."""
        cdef Entry *entry
        cdef uint64_t key
        cdef Py_ssize_t slot
        if self.last >= 0 and self.is_at(self.last, group, size):
            return self.last
        key = siphash(&self.secret, group, size).low
        slot = key & self.mask
        while self.slots[slot] != 0:
            if self.entries[self.slots[slot] - 1].hash == key and self.is_at(self.slots[slot] - 1, group, size):
                self.last = self.slots[slot] - 1
                return self.last
            slot = (slot + 1) & self.mask
        if self.count >= self.groups_max or self.ids_size + size > IDS_BYTES_MAX:
            return NOT_FOUND
        if self.count == self.room:
            self.grow(self.room * 2)
            slot = self.free_slot(key)
        self.make_room(size)
        entry = &self.entries[self.count]
        entry.hash, entry.commits, entry.last_commit_ms = key, 0, -1
        entry.id_start, entry.id_size = self.ids_size, size
        memcpy(self.ids + self.ids_size, group, size)
        self.ids_size += size
        self.last = self.count
        self.count += 1
        self.slots[slot] = self.count
        return self.last

    cdef bint is_at(self, Py_ssize_t number, const uint8_t *group, Py_ssize_t size) noexcept:
        cdef Entry *entry = &self.entries[number]
        return entry.id_size == size and memcmp(self.ids + entry.id_start, group, size) == 0

    cdef Py_ssize_t free_slot(self, uint64_t key) noexcept:
        cdef Py_ssize_t slot = key & self.mask
        while self.slots[slot] != 0:
            slot = (slot + 1) & self.mask
        return slot

    cdef int grow(self, Py_ssize_t room) except -1:
        """At most half of the slots are taken."""
        cdef Py_ssize_t number
        self.entries = <Entry *>resized(self.entries, room * sizeof(Entry))
        self.slots = <uint32_t *>resized(self.slots, 2 * room * sizeof(uint32_t))
        memset(self.slots, 0, 2 * room * sizeof(uint32_t))
        self.room = room
        self.mask = 2 * room - 1
        for number in range(self.count):
            self.slots[self.free_slot(self.entries[number].hash)] = <uint32_t>(number + 1)
        return 0

    cdef int make_room(self, Py_ssize_t size) except -1:
        cdef Py_ssize_t room = self.ids_room
        while room < self.ids_size + size:
            room *= 2
        if room != self.ids_room:
            self.ids = <uint8_t *>resized(self.ids, room)
            self.ids_room = room
        return 0


cdef void *resized(void *memory, size_t size) except NULL:
    cdef void *found = PyMem_Realloc(memory, size)
    if found == NULL:
        raise MemoryError
    return found
