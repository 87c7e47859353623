"""Keys of records, which begin with a type and have names. Compiled: each record of each member has one."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcpy

from _wire.big_endian cimport store_uint16

cdef enum:
    NAME_BYTES_MAX = 0x7FFF
    NUMBER_BYTES = 2                    # of the type, and of the length of a name


cpdef bytes record_key(uint16_t key_type, str name, str second=None):
    cdef Py_ssize_t size, second_size = 0
    cdef const char *text = utf8_of(name, &size)
    cdef const char *second_text = NULL
    if second is not None:
        second_text = utf8_of(second, &second_size)
    cdef bytes key = PyBytes_FromStringAndSize(
        NULL, NUMBER_BYTES + NUMBER_BYTES + size + (0 if second is None else NUMBER_BYTES + second_size)
    )
    cdef uint8_t *p = <uint8_t *>PyBytes_AS_STRING(key)
    store_uint16(p, key_type)
    p = store_name(p + NUMBER_BYTES, text, size)
    if second is not None:
        store_name(p, second_text, second_size)
    return key


cdef const char *utf8_of(str name, Py_ssize_t *size) except NULL:
    cdef const char *text = PyUnicode_AsUTF8AndSize(name, size)
    if size[0] > NAME_BYTES_MAX:
        raise ValueError(f"a name of {size[0]} bytes is too long for a record")
    return text


cdef inline uint8_t *store_name(uint8_t *p, const char *text, Py_ssize_t size) noexcept:
    store_uint16(p, <uint16_t>size)
    memcpy(p + NUMBER_BYTES, text, size)
    return p + NUMBER_BYTES + size
