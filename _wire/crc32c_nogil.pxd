from libc.stdint cimport uint8_t, uint32_t


cdef uint32_t crc32c(const uint8_t *data, Py_ssize_t size) noexcept nogil
