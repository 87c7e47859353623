"""A door for Python to the primitives, which are C functions: one call reads or writes one value."""

from libc.stdint cimport uint8_t, uint32_t

from _wire.big_endian cimport *
from _wire.reader cimport *
from _wire.writer cimport *


def read(str kind, data, bint flexible=False, Py_ssize_t element_bytes_min=1):
    """(the value of this kind that `data` begins with, bytes it took)."""
    cdef Reader r
    open_reader(&r, data, 0, b"Primitive", 0)
    try:
        value = read_value(at(&r, b"value"), kind, flexible, element_bytes_min)
        return value, r.position - r.start
    finally:
        close_reader(&r)


cdef object read_value(Reader *r, str kind, bint flexible, Py_ssize_t element_bytes_min):
    if kind == "bool":
        return bool(read_bool(r))
    if kind == "int8":
        return read_int8(r)
    if kind == "int16":
        return read_int16(r)
    if kind == "uint16":
        return read_uint16(r)
    if kind == "int32":
        return read_int32(r)
    if kind == "uint32":
        return read_uint32(r)
    if kind == "int64":
        return read_int64(r)
    if kind == "float64":
        return read_float64(r)
    if kind == "uuid":
        return read_uuid(r)
    if kind == "uvarint":
        return read_uvarint(r)
    if kind == "uvarlong":
        return read_uvarlong(r)
    if kind == "varint":
        return read_varint(r)
    if kind == "varlong":
        return read_varlong(r)
    if kind == "string":
        return read_string(r, flexible)
    if kind == "nullable_string":
        return read_nullable_string(r, flexible)
    if kind == "bytes":
        return read_bytes(r, flexible)
    if kind == "nullable_bytes":
        return read_nullable_bytes(r, flexible)
    if kind == "count":
        return read_count(r, flexible, element_bytes_min)
    if kind == "nullable_count":
        return read_nullable_count(r, flexible, element_bytes_min)
    if kind == "tags":
        return skip_tags(r)
    raise KeyError(kind)


def write(str kind, value, bint flexible=False, Py_ssize_t first_buffer_bytes=8):
    """The bytes of the value. The writer begins with first_buffer_bytes, so that anything longer makes it grow."""
    cdef Writer w
    open_writer(&w, first_buffer_bytes, b"Primitive")
    try:
        write_value(to(&w, b"value"), kind, value, flexible)
        return finish_writer(&w)
    finally:
        close_writer(&w)


cdef int write_value(Writer *w, str kind, value, bint flexible) except -1:
    if kind == "bool":
        return write_bool(w, value)
    if kind == "int8":
        return write_int8(w, value)
    if kind == "int16":
        return write_int16(w, value)
    if kind == "uint16":
        return write_uint16(w, value)
    if kind == "int32":
        return write_int32(w, value)
    if kind == "uint32":
        return write_uint32(w, value)
    if kind == "int64":
        return write_int64(w, value)
    if kind == "float64":
        return write_float64(w, value)
    if kind == "uuid":
        return write_uuid(w, value)
    if kind == "uvarint":
        return write_uvarint(w, value)
    if kind == "uvarlong":
        return write_uvarlong(w, value)
    if kind == "varint":
        return write_varint(w, value)
    if kind == "varlong":
        return write_varlong(w, value)
    if kind == "string":
        return write_string(w, value, flexible)
    if kind == "nullable_string":
        return write_nullable_string(w, value, flexible)
    if kind == "bytes":
        return write_bytes(w, value, flexible)
    if kind == "nullable_bytes":
        return write_nullable_bytes(w, value, flexible)
    if kind == "count":
        return write_count(w, value, flexible)
    if kind == "nullable_count":
        return write_nullable_count(w, value, flexible)
    raise KeyError(kind)


def size_of_varint(value):
    return varint_size(value)


def size_of_varlong(value):
    return varlong_size(value)


def tagged(uint32_t tag, bytes value):
    """A tagged field with these bytes as its value."""
    cdef Writer w
    open_writer(&w, 8, b"Primitive")
    try:
        mark = begin_tag(&w, tag)
        write_raw(&w, <const uint8_t *>value, len(value))
        end_tag(&w, mark)
        return finish_writer(&w)
    finally:
        close_writer(&w)


def untagged(data):
    """(tag, value) of the tagged field that `data` is, then whether its value was all of it."""
    cdef Reader r
    cdef const uint8_t *outer_end = NULL
    open_reader(&r, data, 0, b"Primitive", 0)
    try:
        tag = open_tag(&r, &outer_end)
        value = (<const char *>r.position)[: r.end - r.position]
        r.position = r.end
        close_tag(&r, outer_end)
        return tag, value, r.position == r.end
    finally:
        close_reader(&r)
