"""Kafka's primitive types, the cold part: errors, growing buffers, and what is called once per message."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.string cimport memmove

from abc import ABCMeta

from _wire.errors import MalformedMessage
from _wire.field_paths import with_indexes


cdef extern from "Python.h":
    int _PyBytes_Resize(PyObject **buffer, Py_ssize_t size) except -1


Buffer = bytes | bytearray | memoryview                 # what messages are decoded from, for annotations


# -------------------------------------------------------------------------------------------------------------- reading

cdef int raise_malformed(Reader *r, str why) except -1:
    cdef str field = r.field.decode("ascii")
    understood = None
    if r.target != NULL:
        understood = <object>r.target
        field = with_indexes(understood, field)
    raise MalformedMessage(r.message.decode("ascii"), r.version, field, r.position - r.start, why, understood)


cdef int raise_truncated(Reader *r, Py_ssize_t needed) except -1:
    return raise_malformed(r, f"truncated: {needed} bytes wanted, {r.end - r.position} left")


cdef int raise_bad_length(Reader *r, int64_t length) except -1:
    return raise_malformed(r, f"length {length} is not allowed")


cdef int raise_bad_count(Reader *r, int64_t count, Py_ssize_t element_bytes_min) except -1:
    if count < 0:
        return raise_malformed(r, f"count {count} is not allowed")
    return raise_malformed(
        r, f"truncated: {count} elements need {count * element_bytes_min} bytes at least, {r.end - r.position} left"
    )


cdef int raise_too_many(Reader *r) except -1:
    return raise_malformed(r, "more elements in all arrays together than allowed")


cdef str decode_non_ascii(Reader *r, const uint8_t *text, Py_ssize_t size):
    try:
        return <str>PyUnicode_DecodeUTF8(<const char *>text, size, NULL)
    except UnicodeDecodeError as error:
        r.position = text
        raise_bad_utf8(r, error)


cdef int raise_bad_utf8(Reader *r, object error) except -1:
    return raise_malformed(r, f"not UTF-8: {error.reason} at byte {error.start} of the string")


cdef int open_reader(Reader *r, object data, Py_ssize_t start, const char *message, int16_t version) except -1:
    PyObject_GetBuffer(data, &r.view, PyBUF_SIMPLE)
    if start < 0 or start > r.view.len:
        PyBuffer_Release(&r.view)
        raise ValueError(f"start {start} lies outside of the {r.view.len} bytes given")
    reader_over(r, <const uint8_t *>r.view.buf + start, r.view.len - start, message, version)
    return 0


cdef void close_reader(Reader *r) noexcept:
    PyBuffer_Release(&r.view)


cdef int end_message(Reader *r) except -1:
    if r.position != r.end:
        r.field = b""
        raise_malformed(r, f"{r.end - r.position} bytes after the last field")
    return 0


cdef list read_int32_array(Reader *r, bint flexible):
    cdef Py_ssize_t count = read_count(r, flexible, 4), i
    cdef const uint8_t *elements = take(r, 4 * count)
    cdef list values = [<int32_t>load_uint32(elements + 4 * i) for i in range(count)]
    count_read(r, count)
    return values


cdef int pause_reading(Reader *r) except -1:
    r.left_in_step = ELEMENTS_IN_STEP
    if r.pause != NULL:
        (<object>r.pause)()
    return 0


cdef int skip_some_tags(Reader *r) except -1:
    cdef const uint8_t *outer_end = NULL
    cdef Py_ssize_t tags = read_tag_count(r)
    for _ in range(tags):
        open_tag(r, &outer_end)
        r.position = r.end
        close_tag(r, outer_end)
    return 0


# -------------------------------------------------------------------------------------------------------------- writing

# Most group messages fit, so that the buffer does not grow. (pymalloc serves up to 512 bytes, including the header.)
cdef enum:
    FIRST_BUFFER_BYTES = 448
    STEP_BYTES = 1 << 20                # of the buffer, above which it does not grow twice in one step
    SPARE_BYTES = 128                   # a frame's length and header, and ids that are a little longer than the last
    SMALL_BUFFER_BYTES = 1 << 16        # below, growing by 4 instead of 2 saves copies and wastes little for a moment
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


cdef int open_message_writer(Writer *w, MessageInfo *info) except -1:
    cdef Py_ssize_t likely = info.last_bytes + SPARE_BYTES
    return open_writer(w, min(max(likely, FIRST_BUFFER_BYTES), SMALL_BUFFER_BYTES), info.name)


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
    cdef int more = uvarlong_size(size) - 1
    cdef uint8_t *value
    reserve(w, more)
    value = w.start + mark
    memmove(value + more, value, size)
    store_uvarlong(value - 1, size)
    return 0


# ------------------------------------------------------------------------------------------------------------- messages

cdef int check_version(MessageInfo *info, int version) except -1:
    if info == NULL:
        raise TypeError("only messages made from a definition have versions")
    if version < info.version_min or version > info.version_max:
        name = info.name.decode("ascii")
        raise ValueError(f"{name} has versions {info.version_min} to {info.version_max}, not {version}")
    return 0


cdef list as_list(object elements):
    return elements if elements is None or type(elements) is list else list(elements)


class Struct(metaclass=ABCMeta):
    """The type of structs for Python. In C they have no base class (codegen/modules.py has the reason), but FIELDS."""

    @classmethod
    def __subclasshook__(cls, other):
        return hasattr(other, "FIELDS") if cls is Struct else NotImplemented


cdef object fields_are_equal(object one, object other):
    if type(one) is not type(other):
        return NotImplemented
    return all(getattr(one, name) == getattr(other, name) for name in one.FIELDS)


cdef str fields_text(object one):
    fields = ", ".join(f"{name}={getattr(one, name)!r}" for name in one.FIELDS)
    return f"{type(one).__name__}({fields})"


cdef class Message:
    FIELDS = ()
    ARRAYS = ()

    cdef int write(self, Writer *w, int16_t version) except -1:
        raise NotImplementedError(type(self).__name__)

    def __eq__(self, other):
        return fields_are_equal(self, other)

    def __repr__(self):
        return fields_text(self)

    cdef MessageInfo *info(self) noexcept:
        return NULL

    def encode(self, int version):
        """Encode the body, without a header. Raises ValueError for an unknown version or an invalid value."""
        cdef Writer w
        cdef MessageInfo *info = self.info()
        check_version(info, version)
        open_message_writer(&w, info)
        try:
            self.write(&w, <int16_t>version)
            info.last_bytes = bytes_written(&w)
            return finish_writer(&w)
        finally:
            close_writer(&w)
