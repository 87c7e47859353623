"""Records that are appended together, as C fields."""

cimport cython


@cython.final
cdef class StoredBatch:
    cdef readonly object producer
    cdef list pairs                     # of key and value; None: the records are in `pieces`
    cdef list pieces                    # bytes of records (`_wire/written_records.pxd`); None: they are in `pairs`
    cdef Py_ssize_t count
    cdef readonly Py_ssize_t size_bytes

    cdef list as_pairs(self)
    cpdef bint extend_if_fits(self, StoredBatch other, Py_ssize_t bytes_max) except -1


cdef StoredBatch written_batch(bytes piece, Py_ssize_t count, Py_ssize_t records_bytes)
