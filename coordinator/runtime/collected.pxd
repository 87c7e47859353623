"""The batch of one drain, as C fields."""

from coordinator.core.stored_batch cimport StoredBatch


cdef class Batch:
    cdef readonly Py_ssize_t bytes_max
    cdef readonly list queued
    cdef readonly list stored
    cdef readonly list replies
    cdef StoredBatch last               # of `stored`; None: there is none, or it is a marker

    cdef int store_one(self, StoredBatch decided) except -1
