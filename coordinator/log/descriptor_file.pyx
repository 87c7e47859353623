"""A file by its descriptor, and reads and writes of it. Compiled, because each fetch and each append makes one."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals, PyErr_SetFromErrno
from libc.errno cimport EINTR, EIO, errno
from libc.stdint cimport int64_t
from posix.types cimport off_t

cdef extern from "<unistd.h>" nogil:
    ssize_t pread(int descriptor, void *data, size_t size, off_t position)
    ssize_t pwrite(int descriptor, const void *data, size_t size, off_t position)

cdef enum:
    NO_DESCRIPTOR = -1

CLOSED = NO_DESCRIPTOR


cdef class DescriptorFile:
    cdef public int _descriptor
    cdef public bint _is_read_only
    cdef public bint was_used

    def __cinit__(self):
        self._descriptor = NO_DESCRIPTOR
        self.was_used = True

    def read_at(self, int64_t position, Py_ssize_t size):
        cdef int descriptor = self._descriptor
        cdef bytes data = PyBytes_FromStringAndSize(NULL, size)
        cdef Py_ssize_t done
        if descriptor == NO_DESCRIPTOR:
            descriptor = self._used()
        self.was_used = True
        done = read_all(descriptor, PyBytes_AS_STRING(data), size, position)
        return data if done == size else data[:done]

    def write_at(self, data, int64_t position):
        cdef Py_buffer view
        cdef int descriptor = self._descriptor
        if descriptor == NO_DESCRIPTOR or self._is_read_only:
            descriptor = self._used_to_write()
        self.was_used = True
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            write_all(descriptor, <const char *>view.buf, view.len, position)
        finally:
            PyBuffer_Release(&view)


cdef Py_ssize_t read_all(int descriptor, char *data, Py_ssize_t size, int64_t position) except -1:
    """Returns how much there is up to the end of the file."""
    cdef Py_ssize_t done = 0
    cdef ssize_t was_read
    while done < size:
        with nogil:
            was_read = pread(descriptor, data + done, size - done, position + done)
        if was_read < 0 and errno == EINTR:
            PyErr_CheckSignals()
        elif was_read < 0:
            PyErr_SetFromErrno(OSError)
        elif was_read == 0:
            break
        else:
            done += was_read
    return done


cdef int write_all(int descriptor, const char *data, Py_ssize_t left, int64_t position) except -1:
    cdef ssize_t written
    while left > 0:
        with nogil:
            written = pwrite(descriptor, data, left, position)
        if written < 0 and errno == EINTR:
            PyErr_CheckSignals()
        elif written < 0:
            PyErr_SetFromErrno(OSError)
        elif written == 0:
            raise OSError(EIO, "pwrite wrote 0 bytes")
        else:
            data += written
            left -= written
            position += written
    return 0
