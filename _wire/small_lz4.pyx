# cython: language_level=3, boundscheck=False, wraparound=False
"""LZ4 frames of a few KiB, as most batches of the audit are.

The library fills 16 KiB of memory for each block before it begins: for a few KiB that takes as long as their
compression. What is longer is left to it. Formats: the LZ4 frame format 1.6 and the LZ4 block format.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    /* How many bytes of two words are the same, from the lower address on; `difference` is not 0. */
    static inline int same_low_bytes(uint64_t difference) {
    #if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return __builtin_ctzll(difference) >> 3;
    #else
        return __builtin_clzll(difference) >> 3;
    #endif
    }
    """
    int same_low_bytes(uint64_t difference) noexcept nogil

cdef enum:
    BLOCK_MAX = 8 * 1024 + 32 + 16      # of content that cannot be compressed: a byte more for each 255
    TABLE_BITS = 11
    MULTIPLIER = 2654435761             # of Fibonacci hashing
    MATCH_BYTES_MIN = 4
    LITERALS_AT_THE_END = 5
    MATCHES_END_BEFORE = 12             # no match begins in so many bytes at the end of a block
    LENGTH_IN_TOKEN = 15
    MISSES_LOG = 3                      # after each 8 places in a row without a match, the steps are a byte longer
    FRAME_HEADER_BYTES = 7
    BLOCK_HEAD_BYTES = 4                # its size, whose highest bit says that it is stored as it is
    STORED_BLOCK = 0x8000_0000

SMALL_BYTES_MAX = SMALL_MAX

cdef const uint8_t *FRAME_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"     # independent blocks up to 64 KiB, no checksums


def small_lz4_frame(data):
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len > SMALL_MAX:
            raise ValueError(f"{view.len} bytes, at most {SMALL_MAX} are allowed")
        return small_frame(<const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef bytes small_frame(const uint8_t *content, Py_ssize_t size):
    cdef uint8_t[BLOCK_MAX] block
    cdef Py_ssize_t block_bytes = compress_block(content, size, &block[0])
    cdef uint32_t head = <uint32_t>block_bytes
    cdef bytes frame
    cdef uint8_t *out
    if block_bytes < size:
        content = &block[0]
    else:
        block_bytes = size
        head = <uint32_t>size | STORED_BLOCK
    frame = PyBytes_FromStringAndSize(
        NULL, FRAME_HEADER_BYTES + (BLOCK_HEAD_BYTES + block_bytes if size else 0) + BLOCK_HEAD_BYTES
    )
    out = <uint8_t *>PyBytes_AS_STRING(frame)
    memcpy(out, FRAME_HEADER, FRAME_HEADER_BYTES)
    out += FRAME_HEADER_BYTES
    if size:
        put_head(out, head)
        memcpy(out + BLOCK_HEAD_BYTES, content, block_bytes)
        out += BLOCK_HEAD_BYTES + block_bytes
    put_head(out, 0)                    # no block follows
    return frame


cdef inline void put_head(uint8_t *out, uint32_t value) noexcept:
    """Little-endian."""
    out[0], out[1], out[2], out[3] = value & 0xFF, value >> 8 & 0xFF, value >> 16 & 0xFF, value >> 24


cdef inline uint32_t four_bytes(const uint8_t *data) noexcept:
    cdef uint32_t value
    memcpy(&value, data, 4)
    return value


cdef Py_ssize_t compress_block(const uint8_t *data, Py_ssize_t size, uint8_t *out) noexcept:
    """Write the block of at most SMALL_MAX bytes, for which `out` has room; return its size."""
    cdef uint16_t[1 << TABLE_BITS] table            # hash of four bytes → where they were last, 0: not yet
    cdef Py_ssize_t at = 1, literals_from = 0, before, length, misses = 0, last_match = size - MATCHES_END_BEFORE
    cdef uint8_t *begin = out
    cdef uint32_t four, slot
    memset(&table[0], 0, sizeof(table))
    while at <= last_match:
        four = four_bytes(data + at)
        slot = <uint32_t>(four * <uint32_t>MULTIPLIER) >> (32 - TABLE_BITS)
        before = table[slot]
        table[slot] = <uint16_t>at
        if before == 0 or four_bytes(data + before) != four:
            misses += 1
            at += 1 + (misses >> MISSES_LOG)
            continue
        misses = 0
        while at > literals_from and before > 0 and data[at - 1] == data[before - 1]:
            at -= 1                     # what was stepped over
            before -= 1
        length = MATCH_BYTES_MIN + same_bytes(
            data + at + MATCH_BYTES_MIN, data + before + MATCH_BYTES_MIN,
            size - LITERALS_AT_THE_END - at - MATCH_BYTES_MIN,
        )
        out = put_literals(out, data + literals_from, at - literals_from, length - MATCH_BYTES_MIN)
        out[0], out[1] = (at - before) & 0xFF, (at - before) >> 8
        out = put_length(out + 2, length - MATCH_BYTES_MIN)
        at += length
        literals_from = at
    out = put_literals(out, data + literals_from, size - literals_from, 0)
    return out - begin


cdef inline Py_ssize_t same_bytes(const uint8_t *one, const uint8_t *other, Py_ssize_t most) noexcept:
    """How many bytes are the same, of `most`; the second begins before the first."""
    cdef Py_ssize_t count = 0
    cdef uint64_t first, second
    while most - count >= 8:
        memcpy(&first, one + count, 8)
        memcpy(&second, other + count, 8)
        if first != second:
            return count + same_low_bytes(first ^ second)
        count += 8
    while count < most and one[count] == other[count]:
        count += 1
    return count


cdef inline uint8_t *put_literals(uint8_t *out, const uint8_t *data, Py_ssize_t count, Py_ssize_t match_bytes) noexcept:
    """A token, and the bytes before a match of MATCH_BYTES_MIN and so many more."""
    out[0] = <uint8_t>(min(count, LENGTH_IN_TOKEN) << 4 | min(match_bytes, LENGTH_IN_TOKEN))
    out = put_length(out + 1, count)
    memcpy(out, data, count)
    return out + count


cdef inline uint8_t *put_length(uint8_t *out, Py_ssize_t length) noexcept:
    """What of a length does not fit into its token."""
    length -= LENGTH_IN_TOKEN
    while length >= 0:
        out[0] = <uint8_t>min(length, 255)
        out += 1
        length -= 255
    return out
