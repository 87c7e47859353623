"""The fields of records of format 2, read without exceptions and without the GIL (KIP-98, "Record").

Each function returns the position after what it has read; NULL if that is malformed or does not end before `end`.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef inline const uint8_t *headers(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The end of the headers; NULL if they do not lie before `end`."""
    cdef int64_t count, size
    p = varint(p, end, &count)
    if p == NULL or count < 0 or count > (end - p) // 2:
        return NULL
    while count > 0:
        p = varint(p, end, &size)
        if p == NULL or size < 0 or size > end - p:
            return NULL
        p = nullable_bytes(p + size, end)
        if p == NULL:
            return NULL
        count -= 1
    return p


cdef inline const uint8_t *nullable_bytes(const uint8_t *p, const uint8_t *end) noexcept nogil:
    cdef int64_t size
    p = varint(p, end, &size)
    if p == NULL or size < -1 or size > end - p:
        return NULL
    return p if size < 0 else p + size


cdef inline const uint8_t *varint(const uint8_t *p, const uint8_t *end, int64_t *value) noexcept nogil:
    """The position after a zigzag varint of at most 32 bits; NULL if it is longer or cut short."""
    if p < end and p[0] < 0x80:                     # nearly every one
        value[0] = (p[0] >> 1) ^ -<int64_t>(p[0] & 1)
        return p + 1
    return long_varint(p, end, value, 28, 0x0F)


cdef inline const uint8_t *varlong(const uint8_t *p, const uint8_t *end, int64_t *value) noexcept nogil:
    """As `varint`, of at most 64 bits."""
    if p < end and p[0] < 0x80:
        value[0] = (p[0] >> 1) ^ -<int64_t>(p[0] & 1)
        return p + 1
    return long_varint(p, end, value, 63, 0x01)


cdef inline const uint8_t *long_varint(
    const uint8_t *p, const uint8_t *end, int64_t *value, int last_shift, uint8_t last_max
) noexcept nogil:
    cdef uint64_t bits = 0
    cdef int shift = 0
    while p < end:
        if shift == last_shift and p[0] > last_max:
            return NULL
        bits |= <uint64_t>(p[0] & 0x7F) << shift
        p += 1
        if p[-1] < 0x80:
            value[0] = <int64_t>((bits >> 1) ^ (0 - (bits & 1)))
            return p
        shift += 7
    return NULL
