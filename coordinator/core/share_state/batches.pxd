"""The states of records, packed, as C fields."""

from libc.stdint cimport int32_t, int64_t


cdef struct Batch:
    int64_t first
    int64_t last
    int32_t delivery_count
    int32_t delivery_state


cpdef bytes packed(batches)
cpdef Py_ssize_t count_of(bytes batches) except -1
cpdef bytes merged(bytes existing, bytes new, int64_t start_offset)
