# cython: language_level=3
"""CRC-32C of memory, without the GIL: what rewrites whole logs must not stop the event loop.

The package crc32c, which everything else uses, can only be called with the GIL.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    static uint32_t crc32c_tables[8][256];

    static void crc32c_fill_tables(void) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = byte;
            for (int bit = 0; bit < 8; bit++)
                crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);   /* the polynomial, reversed */
            crc32c_tables[0][byte] = crc;
        }
        for (int byte = 0; byte < 256; byte++)
            for (int table = 1; table < 8; table++) {
                uint32_t crc = crc32c_tables[table - 1][byte];
                crc32c_tables[table][byte] = (crc >> 8) ^ crc32c_tables[0][crc & 0xFF];
            }
    }

    /* Eight bytes at a time ("slicing by 8"). */
    static uint32_t crc32c_by_tables(uint32_t crc, const uint8_t *p, size_t size) {
        while (size >= 8) {
            uint32_t low = crc ^ (p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
            crc = crc32c_tables[7][low & 0xFF] ^ crc32c_tables[6][(low >> 8) & 0xFF]
                ^ crc32c_tables[5][(low >> 16) & 0xFF] ^ crc32c_tables[4][low >> 24]
                ^ crc32c_tables[3][p[4]] ^ crc32c_tables[2][p[5]] ^ crc32c_tables[1][p[6]] ^ crc32c_tables[0][p[7]];
            p += 8;
            size -= 8;
        }
        while (size--)
            crc = (crc >> 8) ^ crc32c_tables[0][(crc ^ *p++) & 0xFF];
        return crc;
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    __attribute__((target("sse4.2")))
    static uint32_t crc32c_by_instruction(uint32_t crc, const uint8_t *p, size_t size) {
        uint64_t wide = crc, word;
        while (size >= 8) {
            memcpy(&word, p, 8);
            wide = __builtin_ia32_crc32di(wide, word);
            p += 8;
            size -= 8;
        }
        crc = (uint32_t)wide;
        while (size--)
            crc = __builtin_ia32_crc32qi(crc, *p++);
        return crc;
    }
    static int crc32c_has_instruction(void) { return __builtin_cpu_supports("sse4.2") != 0; }
    #else
    #define crc32c_by_instruction crc32c_by_tables
    static int crc32c_has_instruction(void) { return 0; }
    #endif
    """
    void crc32c_fill_tables() noexcept nogil
    uint32_t crc32c_by_tables(uint32_t crc, const uint8_t *p, size_t size) noexcept nogil
    uint32_t crc32c_by_instruction(uint32_t crc, const uint8_t *p, size_t size) noexcept nogil
    int crc32c_has_instruction() noexcept nogil

crc32c_fill_tables()
cdef bint has_instruction = crc32c_has_instruction()


cdef uint32_t crc32c(const uint8_t *data, Py_ssize_t size) noexcept nogil:
    if has_instruction:
        return ~crc32c_by_instruction(0xFFFFFFFF, data, size)
    return ~crc32c_by_tables(0xFFFFFFFF, data, size)


def crc32c_of(data, *, bint by_tables=False):
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if by_tables:
            return <uint32_t>~crc32c_by_tables(0xFFFFFFFF, <const uint8_t *>view.buf, view.len)
        return crc32c(<const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
