"""Writes Kafka's primitive types: the hot part, inlined into the modules that cimport it.

A Writer fills one bytes object that grows geometrically and is handed out without a copy. What is cold (errors,
growth) is in writer.pyx.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport INT16_MAX, INT32_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from _wire.big_endian cimport store_uint16, store_uint32, store_uint64
from _wire.texts cimport PyUnicode_AsUTF8AndSize, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_IS_COMPACT_ASCII
from _wire.unsigned_varints cimport put_varint, varint_bytes

cdef enum:
    UVARINT_BYTES_MAX = 5
    SMALL_BUFFER_BYTES = 1 << 16        # below, growing by 4 instead of 2 saves copies and wastes little for a moment


cdef struct Writer:
    PyObject *buffer                    # a bytes object of its own, shortened and handed out by finish_writer
    uint8_t *start                      # its first byte; moves when the buffer grows
    uint8_t *position
    uint8_t *end
    PyObject *apart                     # NULL, or a list of (position, records) that are sent from where they are
    Py_ssize_t apart_bytes
    int64_t left_in_step                # as in Reader
    PyObject *pause
    const char *message                 # for errors only, as in Reader
    const char *field


cdef int open_writer(Writer *w, Py_ssize_t size, const char *message) except -1
cdef void close_writer(Writer *w) noexcept          # frees what finish_writer did not hand out
cdef bytes finish_writer(Writer *w)                 # what was written, without a copy; the writer is closed after it
cdef int grow(Writer *w, Py_ssize_t size) except -1
cdef int write_int32_array(Writer *w, list values, bint flexible) except -1
cdef int write_nullable_records(Writer *w, object value, bint flexible) except -1   # any buffer of bytes
cdef int write_records(Writer *w, object value, bint flexible) except -1
cdef int raise_null(Writer *w) except -1            # ValueError: None in a field that is not nullable
cdef int raise_too_long(Writer *w, Py_ssize_t size, Py_ssize_t size_max) except -1
cdef int close_long_tag(Writer *w, Py_ssize_t mark, Py_ssize_t size) except -1
cdef int pause_writing(Writer *w) except -1


cdef inline Writer *to(Writer *w, const char *field) noexcept:
    """Set the name of the field that is written next, for errors."""
    w.field = field
    return w


cdef inline Py_ssize_t bytes_written(Writer *w) noexcept:
    return w.position - w.start


cdef inline uint8_t *reserve(Writer *w, Py_ssize_t size) except NULL:
    """Reserve `size` bytes, which count as written. The pointer is valid until the next write."""
    cdef uint8_t *room
    if size > w.end - w.position:
        grow(w, size)
    room = w.position
    w.position = room + size
    return room


cdef inline int write_int8(Writer *w, int8_t value) except -1:
    reserve(w, 1)[0] = <uint8_t>value
    return 0


cdef inline int write_bool(Writer *w, bint value) except -1:
    reserve(w, 1)[0] = 1 if value else 0
    return 0


cdef inline int write_int16(Writer *w, int16_t value) except -1:
    store_uint16(reserve(w, 2), <uint16_t>value)
    return 0


cdef inline int write_uint16(Writer *w, uint16_t value) except -1:
    store_uint16(reserve(w, 2), value)
    return 0


cdef inline int write_int32(Writer *w, int32_t value) except -1:
    store_uint32(reserve(w, 4), <uint32_t>value)
    return 0


cdef inline int write_uint32(Writer *w, uint32_t value) except -1:
    store_uint32(reserve(w, 4), value)
    return 0


cdef inline int write_int64(Writer *w, int64_t value) except -1:
    store_uint64(reserve(w, 8), <uint64_t>value)
    return 0


cdef inline int write_float64(Writer *w, double value) except -1:
    cdef uint64_t bits
    memcpy(&bits, &value, 8)
    store_uint64(reserve(w, 8), bits)
    return 0


cdef inline int write_raw(Writer *w, const void *data, Py_ssize_t size) except -1:
    memcpy(reserve(w, size), data, size)
    return 0


cdef inline int write_uuid(Writer *w, bytes value) except -1:
    if value is None:
        raise_null(w)
    if PyBytes_GET_SIZE(value) != 16:
        raise_too_long(w, PyBytes_GET_SIZE(value), 16)
    return write_raw(w, PyBytes_AS_STRING(value), 16)


cdef inline int write_uvarlong(Writer *w, uint64_t value) except -1:
    w.position = put_varint(reserve(w, 10), value)
    return 0


cdef inline int write_uvarint(Writer *w, uint32_t value) except -1:
    return write_uvarlong(w, value)


cdef inline int write_varint(Writer *w, int32_t value) except -1:
    return write_uvarint(w, (<uint32_t>value << 1) ^ <uint32_t>(value >> 31))


cdef inline int write_varlong(Writer *w, int64_t value) except -1:
    return write_uvarlong(w, (<uint64_t>value << 1) ^ <uint64_t>(value >> 63))


cdef inline int varint_size(int32_t value) noexcept nogil:
    return varint_bytes((<uint32_t>value << 1) ^ <uint32_t>(value >> 31))


cdef inline int varlong_size(int64_t value) noexcept nogil:
    return varint_bytes((<uint64_t>value << 1) ^ <uint64_t>(value >> 63))


cdef inline int write_sized(Writer *w, const void *data, Py_ssize_t size, bint flexible, int length_bytes) except -1:
    """Write a length of `length_bytes` (2 or 4; if flexible, a varint of the length plus 1), followed by the bytes."""
    cdef uint8_t *p = reserve(w, size + UVARINT_BYTES_MAX)
    if flexible:
        p = put_varint(p, <uint64_t>size + 1)
    elif length_bytes == 2:
        store_uint16(p, <uint16_t>size)
        p += 2
    else:
        store_uint32(p, <uint32_t>size)
        p += 4
    memcpy(p, data, size)
    w.position = p + size
    return 0


cdef inline int write_nullable_string(Writer *w, str value, bint flexible) except -1:
    cdef const char *text
    cdef Py_ssize_t size
    if value is None:
        return write_uvarint(w, 0) if flexible else write_int16(w, -1)
    if PyUnicode_IS_COMPACT_ASCII(value):
        text, size = <const char *>PyUnicode_DATA(value), PyUnicode_GET_LENGTH(value)
    else:
        text = PyUnicode_AsUTF8AndSize(value, &size)
    if size > INT16_MAX:
        raise_too_long(w, size, INT16_MAX)
    return write_sized(w, text, size, flexible, 2)


cdef inline int write_string(Writer *w, str value, bint flexible) except -1:
    if value is None:
        raise_null(w)
    return write_nullable_string(w, value, flexible)


cdef inline int write_nullable_bytes(Writer *w, bytes value, bint flexible) except -1:
    cdef Py_ssize_t size
    if value is None:
        return write_uvarint(w, 0) if flexible else write_int32(w, -1)
    size = PyBytes_GET_SIZE(value)
    if size >= INT32_MAX:
        raise_too_long(w, size, INT32_MAX - 1)
    return write_sized(w, PyBytes_AS_STRING(value), size, flexible, 4)


cdef inline int write_bytes(Writer *w, bytes value, bint flexible) except -1:
    if value is None:
        raise_null(w)
    return write_nullable_bytes(w, value, flexible)


cdef inline int write_nullable_count(Writer *w, list elements, bint flexible) except -1:
    """Write the count before the elements of an array."""
    cdef Py_ssize_t count = -1 if elements is None else len(elements)
    if count >= INT32_MAX:
        raise_too_long(w, count, INT32_MAX - 1)
    return write_uvarint(w, <uint32_t>(count + 1)) if flexible else write_int32(w, <int32_t>count)


cdef inline int write_count(Writer *w, list elements, bint flexible) except -1:
    if elements is None:
        raise_null(w)
    return write_nullable_count(w, elements, flexible)


cdef inline int count_written(Writer *w, Py_ssize_t count) except -1:
    """As count_read. Until it returns, nothing may point into the buffer."""
    w.left_in_step -= count
    if w.left_in_step <= 0:
        pause_writing(w)
    return 0


cdef inline Py_ssize_t begin_tag(Writer *w, uint32_t tag) except -1:
    """Write the tag and leave one byte for the size; give the mark to end_tag after the value."""
    write_uvarint(w, tag)
    reserve(w, 1)
    return bytes_written(w)


cdef inline int end_tag(Writer *w, Py_ssize_t mark) except -1:
    """Fill in the size of the value written since begin_tag."""
    cdef Py_ssize_t size = bytes_written(w) - mark
    if size >= 0x80:
        return close_long_tag(w, mark, size)
    w.start[mark - 1] = <uint8_t>size
    return 0
