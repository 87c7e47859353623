from libc.stdint cimport int64_t


cdef struct Bounds:
    int64_t base_offset
    int64_t last_offset
    Py_ssize_t position


cdef class FetchedBatches:
    cdef readonly object data
    cdef Bounds *bounds
    cdef Py_ssize_t count

    cdef int64_t last(self) noexcept
    cpdef Py_ssize_t bytes_before(self, int64_t offset) except -1
    cpdef Py_ssize_t bytes_through(self, int64_t offset) except -1
    cpdef around(self, int64_t first, int64_t last)
    cdef int64_t end_of_batch_with(self, int64_t offset) noexcept
