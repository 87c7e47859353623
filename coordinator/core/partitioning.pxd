from libc.stdint cimport uint32_t

cdef uint32_t hash_of(str text) except? 0xFFFFFFFF
