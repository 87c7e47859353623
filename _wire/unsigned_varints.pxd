"""Unsigned varints, the lengths and counts of flexible versions (KIP-482): 7 bits a byte, the lowest ones first."""

from libc.stdint cimport uint8_t, uint64_t


cdef inline Py_ssize_t varint_bytes(uint64_t number) noexcept nogil:
    cdef Py_ssize_t size = 1
    while number >= 0x80:
        number >>= 7
        size += 1
    return size


cdef inline uint8_t *put_varint(uint8_t *out, uint64_t number) noexcept nogil:
    """Returns the position after it."""
    while number >= 0x80:
        out[0] = <uint8_t>(number & 0x7F | 0x80)
        number >>= 7
        out += 1
    out[0] = <uint8_t>number
    return out + 1
