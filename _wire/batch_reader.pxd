cimport cython
from libc.stdint cimport int64_t


@cython.final
cdef class Record:
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp_ms
    cdef readonly bytes key
    cdef readonly bytes value
    cdef readonly tuple headers
