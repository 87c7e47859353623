from libc.stdint cimport int64_t


cdef class WallTime:
    cdef readonly int64_t step_ms
    cdef object wall_ms
    cdef list on_step
