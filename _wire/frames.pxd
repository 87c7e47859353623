"""Splits a stream of bytes into frames."""


cdef class FrameSplitter:
    cdef readonly Py_ssize_t frame_bytes_max
    cdef bytearray begun                # the bytes of an incomplete frame, with its length field

    cdef bint has_begun(self) noexcept
    cpdef list feed(self, object data)
    cdef Py_ssize_t split(self, object data, list frames) except -1
    cdef int check_next(self, list frames) except -1
