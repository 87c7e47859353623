"""Records that are appended together, as C fields."""

cimport cython


@cython.final
cdef class StoredBatch:
    cdef readonly object producer
    cdef readonly list records
    cdef readonly Py_ssize_t size_bytes

    cpdef bint extend_if_fits(self, StoredBatch other, Py_ssize_t bytes_max) except -1


cdef StoredBatch plain_batch(list records)
