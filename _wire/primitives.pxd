"""Kafka's primitive types over raw memory: the hot part, inlined into the modules that cimport it.

A Reader never looks past its end and never trusts a length or a count before it was held against the bytes that are
left. A Writer fills one bytes object that grows geometrically and is handed out without a copy. What is cold (errors,
growth) is in primitives.pyx.

Big endian throughout; a compact length is an unsigned varint of length + 1, where 0 means null (KIP-482).
"""

from cpython.buffer cimport Py_buffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_SET_ITEM
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport (
    INT16_MAX, INT32_MAX, INT64_MAX, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)
from libc.string cimport memcpy


cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 max_character)
    bint PyUnicode_IS_COMPACT_ASCII(object text) noexcept
    void *PyUnicode_DATA(object text) noexcept
    Py_ssize_t PyUnicode_GET_LENGTH(object text) noexcept

cdef extern from "arpa/inet.h":                     # one instruction each, which shifts are not at every -O level
    uint16_t htons(uint16_t value) noexcept nogil
    uint32_t htonl(uint32_t value) noexcept nogil
    uint16_t ntohs(uint16_t value) noexcept nogil
    uint32_t ntohl(uint32_t value) noexcept nogil

cdef enum:
    ASCII_MAX = 127
    UVARINT_BYTES_MAX = 5
    ELEMENTS_AT_FIRST = 5000            # of all arrays of a message, until `pause` is called first: about 0.5 ms
    ELEMENTS_IN_STEP = 500              # until it is called again


# -------------------------------------------------------------------------------------------------------------- reading

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


cdef inline uint16_t load_uint16(const uint8_t *p) noexcept nogil:
    cdef uint16_t value
    memcpy(&value, p, 2)
    return ntohs(value)


cdef inline uint32_t load_uint32(const uint8_t *p) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, p, 4)
    return ntohl(value)


cdef inline uint64_t load_uint64(const uint8_t *p) noexcept nogil:
    return (<uint64_t>load_uint32(p) << 32) | load_uint32(p + 4)


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


cdef inline bint is_ascii(const uint8_t *text, Py_ssize_t size) noexcept:
    """Whether no byte has its highest bit set. Tests eight bytes at a time; the last eight may overlap."""
    cdef uint64_t high_bits = <uint64_t>0x8080808080808080
    cdef uint64_t word, seen = 0
    cdef Py_ssize_t i = 0
    if size < 8:
        while i < size:
            seen |= text[i]
            i += 1
        return not seen & 0x80
    while i < size - 8:
        memcpy(&word, text + i, 8)
        seen |= word
        i += 8
    memcpy(&word, text + size - 8, 8)
    return not (seen | word) & high_bits


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


# -------------------------------------------------------------------------------------------------------------- writing

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
cdef int open_message_writer(Writer *w, MessageInfo *info) except -1      # with room for a message like the last one
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


cdef inline void store_uint16(uint8_t *p, uint16_t value) noexcept nogil:
    value = htons(value)
    memcpy(p, &value, 2)


cdef inline void store_uint32(uint8_t *p, uint32_t value) noexcept nogil:
    value = htonl(value)
    memcpy(p, &value, 4)


cdef inline void store_uint64(uint8_t *p, uint64_t value) noexcept nogil:
    store_uint32(p, <uint32_t>(value >> 32))
    store_uint32(p + 4, <uint32_t>value)


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


cdef inline uint8_t *store_uvarlong(uint8_t *p, uint64_t value) noexcept nogil:
    """Write at most ten bytes; return the position after the last."""
    while value >= 0x80:
        p[0] = <uint8_t>(value | 0x80)
        p += 1
        value >>= 7
    p[0] = <uint8_t>value
    return p + 1


cdef inline int write_uvarlong(Writer *w, uint64_t value) except -1:
    w.position = store_uvarlong(reserve(w, 10), value)
    return 0


cdef inline int write_uvarint(Writer *w, uint32_t value) except -1:
    return write_uvarlong(w, value)


cdef inline int write_varint(Writer *w, int32_t value) except -1:
    return write_uvarint(w, (<uint32_t>value << 1) ^ <uint32_t>(value >> 31))


cdef inline int write_varlong(Writer *w, int64_t value) except -1:
    return write_uvarlong(w, (<uint64_t>value << 1) ^ <uint64_t>(value >> 63))


cdef inline int uvarlong_size(uint64_t value) noexcept nogil:
    """The number of bytes that `write_uvarlong` writes."""
    cdef int size = 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline int varint_size(int32_t value) noexcept nogil:
    return uvarlong_size((<uint32_t>value << 1) ^ <uint32_t>(value >> 31))


cdef inline int varlong_size(int64_t value) noexcept nogil:
    return uvarlong_size((<uint64_t>value << 1) ^ <uint64_t>(value >> 63))


cdef inline int write_sized(Writer *w, const void *data, Py_ssize_t size, bint flexible, int length_bytes) except -1:
    """Write a length of `length_bytes` (2 or 4; if flexible, a varint of the length plus 1), followed by the bytes."""
    cdef uint8_t *p = reserve(w, size + UVARINT_BYTES_MAX)
    if flexible:
        p = store_uvarlong(p, <uint64_t>size + 1)
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


# ------------------------------------------------------------------------------------------------------------- messages

cdef struct MessageInfo:
    const char *name                    # JoinGroupRequest
    int16_t api_key                     # -1: no API, but a format inside other bytes
    int16_t version_min
    int16_t version_max
    int16_t flexible_from               # version_max + 1 if it never is
    Py_ssize_t last_bytes               # of the last one that was written: the next one is likely to need as many


cdef int check_version(MessageInfo *info, int version) except -1
cdef list as_list(object elements)                  # None, a list as it is, anything else iterable as a new list


# The implementations of == and repr() for structs and messages.
cdef object fields_are_equal(object one, object other)
cdef str fields_text(object one)


cdef class Message:
    """A top-level struct: a request, a response, or a record of an internal topic."""

    cdef int write(self, Writer *w, int16_t version) except -1
    cdef MessageInfo *info(self) noexcept
