"""Records that are written but for their place in a batch: the length and the offset delta, which depend on it.

Each is the size of what is written (an int32 of this machine), then its key and its value with their lengths, and the
number of its headers, 0; a size of 0 ends them. All records of the batch have its timestamp.
"""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    WRITTEN_SIZE_BYTES = 4
    PLACE_BYTES = 2                     # attributes and timestamp delta, beside the offset delta


cdef inline Py_ssize_t length_bytes(uint64_t value) noexcept:
    """Of the zigzag varint of a number that is not negative."""
    cdef Py_ssize_t size = 1
    value <<= 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef inline uint8_t *put_length(uint8_t *out, uint64_t value) noexcept:
    """A zigzag varint of a number that is not negative."""
    value <<= 1
    while value >= 0x80:
        out[0] = <uint8_t>(value & 0x7F | 0x80)
        value >>= 7
        out += 1
    out[0] = <uint8_t>value
    return out + 1


cdef inline const uint8_t *read_length(const uint8_t *p, Py_ssize_t *value) noexcept:
    """What `put_length` wrote, or the -1 of a null."""
    cdef uint64_t bits = 0
    cdef int shift = 0
    while p[0] & 0x80:
        bits |= <uint64_t>(p[0] & 0x7F) << shift
        shift += 7
        p += 1
    bits |= <uint64_t>p[0] << shift
    value[0] = -1 if bits & 1 else <Py_ssize_t>(bits >> 1)
    return p + 1


cdef inline int32_t written_size(const uint8_t *written) noexcept:
    """Of the record that begins here, without this size."""
    cdef int32_t size
    memcpy(&size, written, WRITTEN_SIZE_BYTES)
    return size


cdef inline void set_written_size(uint8_t *written, Py_ssize_t size) noexcept:
    cdef int32_t stored = <int32_t>size
    memcpy(written, &stored, WRITTEN_SIZE_BYTES)


cdef inline Py_ssize_t size_in_batch(Py_ssize_t size, Py_ssize_t position) noexcept:
    """Of a record of this written size that follows `position` others in its batch."""
    size += PLACE_BYTES + length_bytes(position)
    return length_bytes(size) + size


cdef inline uint8_t *put_in_batch(uint8_t *out, const uint8_t *written, Py_ssize_t position) noexcept:
    cdef Py_ssize_t size = written_size(written)
    out = put_length(out, size + PLACE_BYTES + length_bytes(position))
    out[0] = out[1] = 0
    out = put_length(out + PLACE_BYTES, position)
    memcpy(out, written + WRITTEN_SIZE_BYTES, size)
    return out + size
