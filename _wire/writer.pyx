"""Writes Kafka's primitive types, the cold part: errors, growing buffers, and what is called once per message."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT64_MAX
from libc.string cimport memmove

from _wire.steps cimport ELEMENTS_IN_STEP


cdef extern from "Python.h":
    int _PyBytes_Resize(PyObject **buffer, Py_ssize_t size) except -1

cdef enum:
    STEP_BYTES = 1 << 20                # of the buffer, above which it does not grow twice in one step
    APART_BYTES_MIN = 1 << 14           # fewer bytes of records are copied faster than they are sent by themselves


cdef int open_writer(Writer *w, Py_ssize_t size, const char *message) except -1:
    """Open a writer with space for `size` bytes."""
    buffer = PyBytes_FromStringAndSize(NULL, size)
    Py_INCREF(buffer)
    w.buffer = <PyObject *>buffer
    w.start = w.position = <uint8_t *>PyBytes_AS_STRING(buffer)
    w.end = w.start + size
    w.apart = NULL
    w.apart_bytes = 0
    w.left_in_step = INT64_MAX
    w.pause = NULL
    w.message = message
    w.field = b""
    return 0


cdef void close_writer(Writer *w) noexcept:
    Py_XDECREF(w.buffer)
    w.buffer = NULL


cdef bytes finish_writer(Writer *w):
    cdef Py_ssize_t size = bytes_written(w)
    _PyBytes_Resize(&w.buffer, size)
    finished = <bytes>w.buffer
    close_writer(w)
    return finished


cdef int grow(Writer *w, Py_ssize_t size) except -1:
    """Make space for `size` more bytes. The buffer grows by a factor, so that n writes copy O(n) bytes."""
    cdef Py_ssize_t written = bytes_written(w)
    cdef Py_ssize_t held = w.end - w.start
    cdef Py_ssize_t capacity = max(held * (4 if held < SMALL_BUFFER_BYTES else 2), written + size)
    _PyBytes_Resize(&w.buffer, capacity)
    w.start = <uint8_t *>PyBytes_AS_STRING(<object>w.buffer)
    w.position = w.start + written
    w.end = w.start + capacity
    if capacity > STEP_BYTES:
        w.left_in_step = 0          # few elements may have long texts: the next one ends the step
    return 0


cdef int write_nullable_records(Writer *w, object value, bint flexible) except -1:
    cdef Py_buffer view
    if value is None:
        return write_uvarint(w, 0) if flexible else write_int32(w, -1)
    PyObject_GetBuffer(value, &view, PyBUF_SIMPLE)
    try:
        if view.len >= INT32_MAX:
            raise_too_long(w, view.len, INT32_MAX - 1)
        if w.apart == NULL or view.len < APART_BYTES_MIN:
            return write_sized(w, view.buf, view.len, flexible, 4)
        if flexible:
            write_uvarint(w, <uint32_t>view.len + 1)
        else:
            write_int32(w, <int32_t>view.len)
        (<list>w.apart).append((bytes_written(w), value))
        w.apart_bytes += view.len
        return 0
    finally:
        PyBuffer_Release(&view)


cdef int write_records(Writer *w, object value, bint flexible) except -1:
    if value is None:
        raise_null(w)
    return write_nullable_records(w, value, flexible)


cdef int write_int32_array(Writer *w, list values, bint flexible) except -1:
    cdef Py_ssize_t i
    cdef uint8_t *p
    write_count(w, values, flexible)
    p = reserve(w, 4 * PyList_GET_SIZE(values))
    for i in range(PyList_GET_SIZE(values)):
        store_uint32(p + 4 * i, <uint32_t>to_int32(<object>PyList_GET_ITEM(values, i)))
    return count_written(w, PyList_GET_SIZE(values))


cdef inline int32_t to_int32(object value) except? -1:
    """Accept an int only: converting another object could run code that changes the array being written."""
    if not isinstance(value, int):
        raise TypeError(f"an int is wanted, not {type(value).__name__}")
    return <int32_t>value


cdef str field_name(Writer *w):
    return f"{w.message.decode('ascii')}.{w.field.decode('ascii')}"


cdef int raise_null(Writer *w) except -1:
    raise ValueError(f"{field_name(w)} is None, but not nullable in this version")


cdef int raise_too_long(Writer *w, Py_ssize_t size, Py_ssize_t size_max) except -1:
    raise ValueError(f"{field_name(w)} has length {size}, allowed is {size_max}")


cdef int pause_writing(Writer *w) except -1:
    w.left_in_step = ELEMENTS_IN_STEP
    if w.pause != NULL:
        (<object>w.pause)(w.end - w.start)
    return 0


cdef int close_long_tag(Writer *w, Py_ssize_t mark, Py_ssize_t size) except -1:
    """Move the value because its size needs more than the one reserved byte."""
    cdef int more = varint_bytes(size) - 1
    cdef uint8_t *value
    reserve(w, more)
    value = w.start + mark
    memmove(value + more, value, size)
    put_varint(value - 1, size)
    return 0
