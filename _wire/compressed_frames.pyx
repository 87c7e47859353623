# cython: language_level=3, boundscheck=False, wraparound=False
"""Frames of LZ4 and zstd: whether they are whole, and what their headers and the sizes of their blocks say.

Formats: the LZ4 frame format 1.6, XXH32, and RFC 8878 (zstd). Nothing is decompressed here.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

cdef enum:
    LZ4_FLAGS = 4                       # offset in a frame
    LZ4_BLOCK_SIZE = 5
    LZ4_DESCRIPTOR_BYTES_MIN = 7
    LZ4_VERSION_MASK = 0xC0
    LZ4_VERSION = 0x40
    LZ4_INDEPENDENT_BLOCKS = 0x20
    LZ4_BLOCK_CHECKSUM = 0x10
    LZ4_CONTENT_SIZE = 0x08
    LZ4_CONTENT_CHECKSUM = 0x04
    LZ4_DICTIONARY_ID = 0x01

    ZSTD_DESCRIPTOR = 4                 # offset in a frame
    ZSTD_SIZE_BYTES = 4                 # of a magic number, a checksum, and the size of a frame to be skipped
    ZSTD_SKIPPED_BITS = 0x0F            # of the magic number of a frame to be skipped, any
    ZSTD_SINGLE_SEGMENT = 0x20
    ZSTD_RESERVED = 0x08
    ZSTD_CONTENT_CHECKSUM = 0x04
    ZSTD_BLOCK_HEADER_BYTES = 3
    ZSTD_REPEATED_BYTE = 1              # types of blocks
    ZSTD_RESERVED_TYPE = 3

cdef const uint8_t *LZ4_MAGIC = b"\x04\x22\x4d\x18"
cdef const uint8_t *ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
cdef const uint8_t *ZSTD_SKIPPED_MAGIC = b"\x50\x2a\x4d\x18"
cdef uint32_t *XXH32_PRIMES = [2654435761, 2246822519, 3266489917, 668265263, 374761393]


cdef inline uint64_t little_endian(const uint8_t *data, Py_ssize_t size) noexcept:
    cdef uint64_t value = 0
    while size > 0:
        size -= 1
        value = value << 8 | data[size]
    return value


# ------------------------------------------------------------------------------------------------------------------ LZ4

def lz4_single_block(data):
    cdef Py_buffer view
    cdef const uint8_t *frame
    cdef Py_ssize_t start, size, content_bytes_max
    cdef uint32_t flags, head
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    frame = <const uint8_t *>view.buf
    try:
        if end_of_lz4_frame(frame, view.len) != view.len:
            raise ValueError("bytes after an LZ4 frame")
        flags = frame[LZ4_FLAGS]
        start = first_lz4_block(flags)
        head = <uint32_t>little_endian(frame + start, 4)
        size = head & 0x7FFFFFFF
        content_bytes_max = lz4_block_bytes_max(frame[LZ4_BLOCK_SIZE])
        start += 4
        if (
            flags != (LZ4_VERSION | LZ4_INDEPENDENT_BLOCKS) or head == 0 or content_bytes_max == 0
            or start + size + 4 != view.len
            or frame[start - 5] != (xxh32_of_few(frame + LZ4_FLAGS, start - 5 - LZ4_FLAGS) >> 8 & 0xFF)
        ):
            return None
        return start, start + size, head != <uint32_t>size, content_bytes_max
    finally:
        PyBuffer_Release(&view)


cdef inline Py_ssize_t first_lz4_block(uint32_t flags) noexcept:
    return LZ4_DESCRIPTOR_BYTES_MIN + (8 if flags & LZ4_CONTENT_SIZE else 0) + (4 if flags & LZ4_DICTIONARY_ID else 0)


cdef inline Py_ssize_t lz4_block_bytes_max(uint8_t descriptor) noexcept:
    """0 if it is not one of the format."""
    cdef uint32_t code = descriptor >> 4
    return <Py_ssize_t>1 << (8 + 2 * code) if 4 <= code <= 7 and descriptor & 0x0F == 0 else 0


cdef Py_ssize_t end_of_lz4_frame(const uint8_t *data, Py_ssize_t size) except -1:
    cdef Py_ssize_t position
    cdef uint32_t block, flags
    if size < LZ4_DESCRIPTOR_BYTES_MIN or memcmp(data, LZ4_MAGIC, 4) != 0:
        raise ValueError("no LZ4 frame")
    flags = data[LZ4_FLAGS]
    if flags & LZ4_VERSION_MASK != LZ4_VERSION:
        raise ValueError("an LZ4 frame of an unknown version")
    if not flags & LZ4_INDEPENDENT_BLOCKS:
        raise ValueError("an LZ4 frame with dependent blocks, which Kafka's Java clients cannot read")
    position = first_lz4_block(flags)
    while True:
        if size - position < 4:
            raise ValueError("an LZ4 frame without an end")
        block = <uint32_t>little_endian(data + position, 4)
        position += 4
        if block == 0:
            break
        block = (block & 0x7FFFFFFF) + (4 if flags & LZ4_BLOCK_CHECKSUM else 0)
        if <Py_ssize_t>block > size - position:
            raise ValueError(f"an LZ4 block of {block} bytes, {size - position} left")
        position += block
    if flags & LZ4_CONTENT_CHECKSUM:
        if size - position < 4:
            raise ValueError("an LZ4 frame without its checksum")
        position += 4
    return position


def short_xxh32(data):
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len >= 16:
            raise ValueError(f"{view.len} bytes, fewer than 16 are allowed")
        return xxh32_of_few(<const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef inline uint32_t rotated(uint32_t value, int bits) noexcept:
    return value << bits | value >> (32 - bits)


cdef uint32_t xxh32_of_few(const uint8_t *data, Py_ssize_t size) noexcept:
    """XXH32 with seed 0 of fewer than 16 bytes, for which it needs no stripes."""
    cdef uint32_t digest = XXH32_PRIMES[4] + <uint32_t>size
    while size >= 4:
        digest = rotated(digest + <uint32_t>little_endian(data, 4) * XXH32_PRIMES[2], 17) * XXH32_PRIMES[3]
        data += 4
        size -= 4
    while size > 0:
        digest = rotated(digest + data[0] * XXH32_PRIMES[4], 11) * XXH32_PRIMES[0]
        data += 1
        size -= 1
    digest = (digest ^ digest >> 15) * XXH32_PRIMES[1]
    digest = (digest ^ digest >> 13) * XXH32_PRIMES[2]
    return digest ^ digest >> 16


# ----------------------------------------------------------------------------------------------------------------- zstd

def zstd_window_bytes(data):
    cdef Py_buffer view
    cdef Py_ssize_t position = 0
    cdef uint64_t window = 0, largest = 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while position < view.len or position == 0:
            position += end_of_zstd_frame(<const uint8_t *>view.buf + position, view.len - position, &window)
            largest = max(largest, window)
        return largest
    finally:
        PyBuffer_Release(&view)


cdef Py_ssize_t end_of_zstd_frame(const uint8_t *data, Py_ssize_t size, uint64_t *window) except -1:
    cdef Py_ssize_t position, block_bytes
    cdef uint32_t block = 0
    window[0] = 0
    if size < ZSTD_DESCRIPTOR + 1:
        raise ValueError("no zstd frame")
    if data[0] & ~ZSTD_SKIPPED_BITS == ZSTD_SKIPPED_MAGIC[0] and memcmp(data + 1, ZSTD_SKIPPED_MAGIC + 1, 3) == 0:
        if size < 2 * ZSTD_SIZE_BYTES:
            raise ValueError("a zstd frame without an end")
        block_bytes = <Py_ssize_t>little_endian(data + ZSTD_SIZE_BYTES, ZSTD_SIZE_BYTES)
        if block_bytes > size - 2 * ZSTD_SIZE_BYTES:
            raise ValueError(f"a zstd frame of {block_bytes} bytes to be skipped, {size - 2 * ZSTD_SIZE_BYTES} left")
        return 2 * ZSTD_SIZE_BYTES + block_bytes
    if memcmp(data, ZSTD_MAGIC, ZSTD_SIZE_BYTES) != 0:
        raise ValueError("no zstd frame")
    position = end_of_zstd_header(data, size, window)
    while not block & 1:                # the last one
        if size - position < ZSTD_BLOCK_HEADER_BYTES:
            raise ValueError("a zstd frame without an end")
        block = <uint32_t>little_endian(data + position, ZSTD_BLOCK_HEADER_BYTES)
        position += ZSTD_BLOCK_HEADER_BYTES
        if block >> 1 & 3 == ZSTD_RESERVED_TYPE:
            raise ValueError("a zstd block of an unknown type")
        block_bytes = 1 if block >> 1 & 3 == ZSTD_REPEATED_BYTE else block >> 3
        if block_bytes > size - position:
            raise ValueError(f"a zstd block of {block_bytes} bytes, {size - position} left")
        position += block_bytes
    if data[ZSTD_DESCRIPTOR] & ZSTD_CONTENT_CHECKSUM:
        if size - position < ZSTD_SIZE_BYTES:
            raise ValueError("a zstd frame without its checksum")
        position += ZSTD_SIZE_BYTES
    return position


cdef Py_ssize_t end_of_zstd_header(const uint8_t *data, Py_ssize_t size, uint64_t *window) except -1:
    cdef uint32_t flags = data[ZSTD_DESCRIPTOR]
    cdef bint is_single = flags & ZSTD_SINGLE_SEGMENT != 0
    cdef Py_ssize_t dictionary_bytes = (<Py_ssize_t>1 << (flags & 3)) >> 1
    cdef Py_ssize_t content_size_bytes = <Py_ssize_t>1 << (flags >> 6) if flags >> 6 or is_single else 0
    cdef Py_ssize_t position = ZSTD_DESCRIPTOR + 1
    cdef Py_ssize_t end = position + (not is_single) + dictionary_bytes + content_size_bytes
    cdef uint64_t base
    if flags & ZSTD_RESERVED:
        raise ValueError("a zstd frame of an unknown kind")
    if end > size:
        raise ValueError("a zstd frame without an end")
    if is_single:
        window[0] = little_endian(data + end - content_size_bytes, content_size_bytes)
        if content_size_bytes == 2:
            window[0] += 256
    else:
        base = <uint64_t>1 << (10 + (data[position] >> 3))
        window[0] = base + (base >> 3) * (data[position] & 7)
    return end
