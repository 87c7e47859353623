"""Frames out of a stream of bytes."""


cdef class FrameSplitter:
    cdef readonly Py_ssize_t frame_bytes_max
    cdef bytearray begun                # the bytes of a frame that is not whole yet, with its length

    cdef bint has_begun(self) noexcept
    cpdef list feed(self, object data)
    cdef Py_ssize_t split(self, object data, list frames) except -1
    cdef int check_next(self, list frames) except -1
