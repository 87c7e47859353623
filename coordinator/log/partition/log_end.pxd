"""The end of a log, as C fields."""

from libc.stdint cimport int64_t


cdef class LogEnd:
    cdef public object config
    cdef public object segments
    cdef public object _flush_trigger
    cdef public int64_t log_end_offset
    cdef public int64_t appended_bytes

    cpdef _appended(self, int64_t last_offset, int64_t size_bytes)
