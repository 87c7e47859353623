"""Reads Kafka's primitive types from raw memory: the hot part, inlined into the modules that cimport it.

A Reader never looks past its end and never trusts a length or a count before it was held against the bytes that are
left. A compact length is an unsigned varint of length + 1, where 0 means null (KIP-482). What is cold (errors) is in
reader.pyx.
"""

from cpython.buffer cimport Py_buffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.list cimport PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport (
    INT16_MAX, INT32_MAX, INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.string cimport memcpy

from _wire.big_endian cimport load_uint16, load_uint32, load_uint64
from _wire.texts cimport ASCII_MAX, PyUnicode_DATA, PyUnicode_New, is_ascii


cdef struct Reader:
    const uint8_t *start                # offsets in errors count from here
    const uint8_t *position
    const uint8_t *end
    const char *message                 # for errors only: what is read, in which version, which field of it
    const char *field
    PyObject *target                    # for errors only: the Message that is filled, borrowed; NULL if there is none
    int16_t version
    int64_t elements_left               # how many elements all arrays that are still to come may have together
    int64_t left_in_step                # how many elements are read until the next call of `pause`
    PyObject *pause                     # borrowed; NULL if it is never called
    Py_buffer view                      # held between open_reader and close_reader


# The cold half. Each of these raises MalformedMessage, always.
cdef int raise_truncated(Reader *r, Py_ssize_t wanted) except -1
cdef int raise_malformed(Reader *r, str why) except -1
cdef int raise_bad_length(Reader *r, int64_t length) except -1
cdef int raise_bad_count(Reader *r, int64_t count, Py_ssize_t element_bytes_min) except -1
cdef int raise_too_many(Reader *r) except -1
cdef int raise_bad_utf8(Reader *r, object error) except -1
cdef str decode_non_ascii(Reader *r, const uint8_t *text, Py_ssize_t size)

# Borrow the bytes of any buffer from `start` on; every open_reader needs its close_reader.
cdef int open_reader(Reader *r, object data, Py_ssize_t start, const char *message, int16_t version) except -1
cdef void close_reader(Reader *r) noexcept
cdef int end_message(Reader *r) except -1           # raises an error for bytes after the last field
cdef list read_int32_array(Reader *r, bint flexible)
cdef int skip_some_tags(Reader *r) except -1
cdef int pause_reading(Reader *r) except -1         # calls `pause`, which may raise or come back much later


cdef inline void reader_over(
    Reader *r, const uint8_t *data, Py_ssize_t size, const char *message, int16_t version
) noexcept:
    """A reader over memory that the caller keeps alive; needs no close_reader."""
    r.start = r.position = data
    r.end = data + size
    r.message = message
    r.field = b""
    r.target = NULL
    r.version = version
    r.elements_left = r.left_in_step = INT64_MAX
    r.pause = NULL


cdef inline Reader *at(Reader *r, const char *field) noexcept:
    """Set the name of the field that is read next, for errors."""
    r.field = field
    return r


cdef inline Py_ssize_t bytes_left(Reader *r) noexcept:
    return r.end - r.position


cdef inline const uint8_t *take(Reader *r, Py_ssize_t size) except NULL:
    cdef const uint8_t *taken = r.position
    if size < 0 or size > r.end - taken:
        raise_truncated(r, size)
    r.position = taken + size
    return taken


cdef inline int8_t read_int8(Reader *r) except? -1:
    return <int8_t>take(r, 1)[0]


cdef inline bint read_bool(Reader *r) except? -1:
    return take(r, 1)[0] != 0


cdef inline int16_t read_int16(Reader *r) except? -1:
    return <int16_t>load_uint16(take(r, 2))


cdef inline uint16_t read_uint16(Reader *r) except? 0xFFFF:
    return load_uint16(take(r, 2))


cdef inline int32_t read_int32(Reader *r) except? -1:
    return <int32_t>load_uint32(take(r, 4))


cdef inline uint32_t read_uint32(Reader *r) except? 0xFFFFFFFF:
    return load_uint32(take(r, 4))


cdef inline int64_t read_int64(Reader *r) except? -1:
    return <int64_t>load_uint64(take(r, 8))


cdef inline double read_float64(Reader *r) except? -1:
    cdef uint64_t bits = load_uint64(take(r, 8))
    cdef double value
    memcpy(&value, &bits, 8)
    return value


cdef inline bytes read_uuid(Reader *r):
    """Read 16 bytes."""
    return PyBytes_FromStringAndSize(<const char *>take(r, 16), 16)


cdef inline uint32_t read_uvarint(Reader *r) except? 0xFFFFFFFF:
    """Seven bits a byte, lowest first; at most five bytes, and nothing above bit 31."""
    cdef const uint8_t *p = r.position
    cdef uint32_t value, byte
    cdef int shift = 7
    if p < r.end and p[0] < 0x80:                   # nearly every length, count and tag
        r.position = p + 1
        return p[0]
    value = take(r, 1)[0] & 0x7F
    while True:
        byte = take(r, 1)[0]
        if shift == 28 and byte > 0x0F:
            raise_malformed(r, "varint of more than 32 bits")
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7


cdef inline uint64_t read_uvarlong(Reader *r) except? 0xFFFFFFFFFFFFFFFF:
    """As read_uvarint, at most ten bytes, and nothing above bit 63."""
    cdef uint64_t value = 0, byte
    cdef int shift = 0
    while True:
        byte = take(r, 1)[0]
        if shift == 63 and byte > 0x01:
            raise_malformed(r, "varint of more than 64 bits")
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7


cdef inline int32_t read_varint(Reader *r) except? -1:
    """Zigzag: small negative numbers stay short."""
    cdef uint32_t value = read_uvarint(r)
    return <int32_t>((value >> 1) ^ (0 - (value & 1)))


cdef inline int64_t read_varlong(Reader *r) except? -1:
    """Zigzag, 64 bits."""
    cdef uint64_t value = read_uvarlong(r)
    return <int64_t>((value >> 1) ^ (0 - (value & 1)))


cdef inline Py_ssize_t read_string_length(Reader *r, bint flexible) except? -2:
    """-1 for null. Kafka's strings have at most 32767 bytes, also with compact lengths."""
    cdef int64_t length = <int64_t>read_uvarint(r) - 1 if flexible else read_int16(r)
    if length < -1 or length > INT16_MAX:
        raise_bad_length(r, length)
    return length


cdef inline Py_ssize_t read_bytes_length(Reader *r, bint flexible) except? -2:
    """-1 for null."""
    cdef int64_t length = <int64_t>read_uvarint(r) - 1 if flexible else read_int32(r)
    if length < -1 or length > INT32_MAX:
        raise_bad_length(r, length)
    return length


cdef inline str decode_utf8(Reader *r, Py_ssize_t size):
    cdef const uint8_t *text = take(r, size)
    cdef object ascii
    if is_ascii(text, size):                        # names and ids: half the time of the general decoder
        ascii = PyUnicode_New(size, ASCII_MAX)
        memcpy(PyUnicode_DATA(ascii), text, size)
        return <str>ascii
    return decode_non_ascii(r, text, size)


cdef inline str read_string(Reader *r, bint flexible):
    cdef Py_ssize_t length = read_string_length(r, flexible)
    if length < 0:
        raise_malformed(r, "null, but not nullable")
    return decode_utf8(r, length) if length else ""


cdef inline str read_nullable_string(Reader *r, bint flexible):
    cdef Py_ssize_t length = read_string_length(r, flexible)
    if length <= 0:
        return "" if length == 0 else None
    return decode_utf8(r, length)


cdef inline bytes read_bytes(Reader *r, bint flexible):
    cdef Py_ssize_t length = read_bytes_length(r, flexible)
    if length < 0:
        raise_malformed(r, "null, but not nullable")
    return PyBytes_FromStringAndSize(<const char *>take(r, length), length)


cdef inline bytes read_nullable_bytes(Reader *r, bint flexible):
    cdef Py_ssize_t length = read_bytes_length(r, flexible)
    return None if length < 0 else PyBytes_FromStringAndSize(<const char *>take(r, length), length)


cdef inline int count_elements(Reader *r, Py_ssize_t count) except -1:
    r.elements_left -= count
    if r.elements_left < 0:
        raise_too_many(r)
    return 0


cdef inline Py_ssize_t read_nullable_count(Reader *r, bint flexible, Py_ssize_t element_bytes_min) except? -2:
    """Read the count of an array, -1 for null; reject it if the remaining bytes cannot hold that many elements."""
    cdef int64_t count = <int64_t>read_uvarint(r) - 1 if flexible else read_int32(r)
    if count < -1 or count > (r.end - r.position) // element_bytes_min:
        raise_bad_count(r, count, element_bytes_min)
    if count > 0:
        count_elements(r, count)
    return count


cdef inline Py_ssize_t read_count(Reader *r, bint flexible, Py_ssize_t element_bytes_min) except -1:
    cdef Py_ssize_t count = read_nullable_count(r, flexible, element_bytes_min)
    if count < 0:
        raise_malformed(r, "null, but not nullable")
    return count


cdef inline int count_read(Reader *r, Py_ssize_t count) except -1:
    """Count elements that were read; where a step ends, `pause` is called."""
    r.left_in_step -= count
    if r.left_in_step <= 0:
        pause_reading(r)
    return 0


cdef inline void put_element(list elements, Py_ssize_t i, object element) noexcept:
    """Replace a None: arrays are read into lists of None, so that an error can show the elements read so far."""
    Py_INCREF(element)
    PyList_SET_ITEM(elements, i, element)
    Py_DECREF(None)


cdef inline uint32_t read_tag_count(Reader *r) except? 0xFFFFFFFF:
    """Read the number of tagged fields. Each has at least two bytes, its tag and its size."""
    cdef uint32_t count = read_uvarint(r)
    if count > (r.end - r.position) // 2:
        raise_bad_count(r, count, 2)
    count_elements(r, count)
    return count


cdef inline uint32_t open_tag(Reader *r, const uint8_t **outer_end) except? 0xFFFFFFFF:
    """Enter the next tagged field, and return its tag. Until `close_tag` the reader ends with the field."""
    cdef uint32_t tag = read_uvarint(r)
    cdef uint32_t size = read_uvarint(r)
    if size > r.end - r.position:
        raise_truncated(r, size)
    outer_end[0] = r.end
    r.end = r.position + size
    return tag


cdef inline int close_tag(Reader *r, const uint8_t *outer_end) except -1:
    if r.position != r.end:
        raise_malformed(r, "tagged field is longer than its value")
    r.end = outer_end
    return 0


cdef inline int skip_tags(Reader *r) except -1:
    """Skip unknown tagged fields; there are rarely any."""
    if r.position < r.end and r.position[0] == 0:
        r.position += 1
        return 0
    return skip_some_tags(r)
