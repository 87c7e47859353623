from libc.stdint cimport uint32_t

cdef uint32_t hash_of(str text) except? 0xFFFFFFFF
cpdef uint32_t partition_for(str name, uint32_t partitions) except? 0xFFFFFFFF
