# cython: language_level=3, boundscheck=False, wraparound=False
"""Snappy as Kafka's clients frame it, decompressed into memory of a known size.

Formats: github.com/google/snappy/blob/main/format_description.txt, and SnappyOutputStream of org.xerial.snappy.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from _wire.big_endian cimport load_uint32

cdef enum:
    XERIAL_HEADER_BYTES = 16
    XERIAL_MAGIC_BYTES = 8
    XERIAL_SIZE_BYTES = 4

cdef const uint8_t *XERIAL_MAGIC = b"\x82SNAPPY\x00"


cdef struct Block:
    const uint8_t *data                 # after the size of the content
    const uint8_t *end
    uint32_t content_bytes


# --------------------------------------------------------------------------------------------------------------- snappy

def snappy_content_bytes(data):
    cdef Py_buffer view
    cdef Py_ssize_t total = 0
    cdef Py_ssize_t position
    cdef Block block
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        position = first_block(&view)
        while position < view.len:
            position = next_block(&view, position, &block)
            total += block.content_bytes
        return total
    finally:
        PyBuffer_Release(&view)


def decompress_snappy_into(data, out):
    cdef Py_buffer view, into
    cdef Py_ssize_t position, written = 0
    cdef Block block
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(out, &into, PyBUF_WRITABLE)
        try:
            position = first_block(&view)
            while position < view.len:
                position = next_block(&view, position, &block)
                if block.content_bytes > into.len - written:
                    raise ValueError(f"snappy block of {block.content_bytes} bytes, {into.len - written} left for it")
                if not decode_block(&block, <uint8_t *>into.buf + written):
                    raise ValueError("snappy block that cannot be decompressed")
                written += block.content_bytes
            return written
        finally:
            PyBuffer_Release(&into)
    finally:
        PyBuffer_Release(&view)


cdef bint is_framed(Py_buffer *view) noexcept:
    return view.len >= XERIAL_MAGIC_BYTES and memcmp(view.buf, XERIAL_MAGIC, XERIAL_MAGIC_BYTES) == 0


cdef Py_ssize_t first_block(Py_buffer *view) except -1:
    if view.len == 0:
        raise ValueError("no bytes")
    if not is_framed(view):
        return 0                                    # the whole is one block
    if view.len < XERIAL_HEADER_BYTES:
        raise ValueError(f"snappy header of {view.len} bytes")
    return XERIAL_HEADER_BYTES


cdef Py_ssize_t next_block(Py_buffer *view, Py_ssize_t position, Block *block) except -1:
    """Find the block at `position`; return the position after it."""
    cdef const uint8_t *data = <const uint8_t *>view.buf
    cdef Py_ssize_t left = view.len - position
    cdef Py_ssize_t size = left
    cdef uint64_t content = 0
    cdef int shift = 0
    if is_framed(view):
        if left < XERIAL_SIZE_BYTES:
            raise ValueError(f"{left} bytes after the last snappy block")
        size = <int32_t>load_uint32(data + position)
        position += XERIAL_SIZE_BYTES
        if size < 0 or size > left - XERIAL_SIZE_BYTES:
            raise ValueError(f"snappy block of {size} bytes, {left - XERIAL_SIZE_BYTES} left")
    block.data = data + position
    block.end = block.data + size
    while True:
        if block.data == block.end or shift > 28:
            raise ValueError("snappy block without the size of its content")
        content |= <uint64_t>(block.data[0] & 0x7F) << shift
        block.data += 1
        if block.data[-1] < 0x80:
            break
        shift += 7
    if content > 0xFFFFFFFF:
        raise ValueError("snappy block whose content is larger than 4 GiB")
    block.content_bytes = <uint32_t>content
    return position + size


cdef bint decode_block(Block *block, uint8_t *out) noexcept:
    """Whether the block was whole, and had the content that it says."""
    cdef const uint8_t *p = block.data
    cdef const uint8_t *end = block.end
    cdef uint8_t *start = out
    cdef uint8_t *out_end = out + block.content_bytes
    cdef uint32_t tag, extra
    cdef Py_ssize_t size, distance
    while p < end:
        tag = p[0]
        p += 1
        if tag & 3 == 0:
            size = (tag >> 2) + 1
            if size > 60:
                extra = <uint32_t>size - 60
                if end - p < <Py_ssize_t>extra:
                    return False
                size = <Py_ssize_t>little_endian(p, extra) + 1
                p += extra
            if size > end - p or size > out_end - out:
                return False
            memcpy(out, p, size)
            p += size
            out += size
            continue
        extra = 4 if tag & 3 == 3 else tag & 3      # bytes of the distance
        if end - p < <Py_ssize_t>extra:
            return False
        distance = <Py_ssize_t>little_endian(p, extra)
        p += extra
        if tag & 3 == 1:
            size = ((tag >> 2) & 7) + 4
            distance |= <Py_ssize_t>(tag >> 5) << 8
        else:
            size = (tag >> 2) + 1
        if distance == 0 or distance > out - start or size > out_end - out:
            return False
        copy_within(out, distance, size)
        out += size
    return out == out_end


cdef inline uint32_t little_endian(const uint8_t *p, uint32_t size) noexcept:
    cdef uint32_t value = p[0]
    if size > 1:
        value |= <uint32_t>p[1] << 8
    if size > 2:
        value |= <uint32_t>p[2] << 16
    if size > 3:
        value |= <uint32_t>p[3] << 24
    return value


cdef inline void copy_within(uint8_t *out, Py_ssize_t distance, Py_ssize_t size) noexcept:
    """Copy from `distance` bytes before `out`. What overlaps repeats, so each step may copy twice as much."""
    cdef const uint8_t *source = out - distance
    while size > distance:
        memcpy(out, source, distance)
        out += distance
        size -= distance
        distance *= 2
    memcpy(out, source, size)
