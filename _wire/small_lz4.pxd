from libc.stdint cimport uint8_t

cdef enum:
    SMALL_MAX = 8 * 1024


# Up to SMALL_MAX bytes as a frame of one block.
cdef bytes small_frame(const uint8_t *content, Py_ssize_t size)
