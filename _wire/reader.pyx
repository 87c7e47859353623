"""Reads Kafka's primitive types, the cold part: errors, and what is called once per message."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer

from _wire.steps cimport ELEMENTS_IN_STEP
from _wire.texts cimport PyUnicode_DecodeUTF8

from _wire.errors import MalformedMessage
from _wire.field_paths import with_indexes


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
