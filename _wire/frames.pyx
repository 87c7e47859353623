"""Splits a stream of bytes into frames: an int32 length, followed by that number of bytes.

A length is held against the limit as soon as it is there, and memory is taken for bytes that came, never for bytes
that were announced.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t

from _wire.big_endian cimport load_uint32

cdef enum:
    LENGTH_BYTES = 4


class FrameTooLarge(Exception):
    """A peer announced a frame of more bytes than allowed (a negative length counts as huge): its connection is of no
    use any more. `frames` are the whole frames that came before it in the same bytes.
    """

    def __init__(self, frame_bytes, frame_bytes_max, frames):
        super().__init__(f"frame of {frame_bytes} bytes, allowed are {frame_bytes_max}")
        self.frame_bytes = frame_bytes
        self.frame_bytes_max = frame_bytes_max
        self.frames = frames


cdef class FrameSplitter:
    def __init__(self, Py_ssize_t frame_bytes_max):
        self.frame_bytes_max = frame_bytes_max
        self.begun = bytearray()

    @property
    def begun_bytes(self):
        return PyByteArray_GET_SIZE(self.begun)

    cdef bint has_begun(self) noexcept:
        return PyByteArray_GET_SIZE(self.begun) != 0

    cpdef list feed(self, object data):
        """Return the complete frames in order. After a frame that is too large, always raise FrameTooLarge."""
        cdef list frames = []
        cdef Py_ssize_t used
        if not self.has_begun():
            used = self.split(data, frames)
            if used < len(data):
                self.begun += memoryview(data)[used:]
        else:
            self.begun += data
            used = self.split(self.begun, frames)
            del self.begun[:used]
        self.check_next(frames)
        return frames

    cdef Py_ssize_t split(self, object data, list frames) except -1:
        """Append the complete frames of `data`; return their size in bytes."""
        cdef Py_buffer view
        cdef Py_ssize_t used = 0, frame_bytes
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        cdef const uint8_t *start = <const uint8_t *>view.buf
        try:
            while view.len - used >= LENGTH_BYTES:
                frame_bytes = load_uint32(start + used)
                if frame_bytes > self.frame_bytes_max or frame_bytes > view.len - used - LENGTH_BYTES:
                    break
                frames.append(PyBytes_FromStringAndSize(<const char *>start + used + LENGTH_BYTES, frame_bytes))
                used += LENGTH_BYTES + frame_bytes
        finally:
            PyBuffer_Release(&view)
        return used

    cdef int check_next(self, list frames) except -1:
        """Raise FrameTooLarge if the incomplete frame will be too large."""
        cdef Py_ssize_t frame_bytes
        if PyByteArray_GET_SIZE(self.begun) >= LENGTH_BYTES:
            frame_bytes = load_uint32(<const uint8_t *>PyByteArray_AS_STRING(self.begun))
            if frame_bytes > self.frame_bytes_max:
                del self.begun[LENGTH_BYTES:]
                raise FrameTooLarge(frame_bytes, self.frame_bytes_max, frames)
        return 0
