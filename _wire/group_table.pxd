cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from _wire.siphash cimport Secret


cdef struct Entry:
    uint64_t hash                       # of the id
    int64_t commits
    int64_t last_commit_ms              # -1: none
    Py_ssize_t id_start                 # in the ids of the table
    uint16_t id_size


@cython.final
cdef class GroupTable:
    cdef readonly Py_ssize_t groups_max
    cdef readonly int64_t left_out      # records of groups that found no place
    cdef Py_ssize_t count
    cdef Entry *entries                 # in the order they came
    cdef Py_ssize_t room                # of entries
    cdef uint32_t *slots                # number of the entry + 1; 0: free
    cdef Py_ssize_t mask                # number of slots - 1
    cdef uint8_t *ids
    cdef Py_ssize_t ids_size
    cdef Py_ssize_t ids_room
    cdef Py_ssize_t last                # the entry that was found last: commits of a group come together
    cdef Secret secret

    cdef int add_commit(self, const uint8_t *group, Py_ssize_t size, bint is_deleted, int64_t timestamp_ms) except -1
    cdef Py_ssize_t find(self, const uint8_t *group, Py_ssize_t size) except -3
    cdef bint is_at(self, Py_ssize_t number, const uint8_t *group, Py_ssize_t size) noexcept
    cdef Py_ssize_t free_slot(self, uint64_t key) noexcept
    cdef int grow(self, Py_ssize_t room) except -1
    cdef int make_room(self, Py_ssize_t size) except -1
