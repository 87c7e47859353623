from libc.stdint cimport int64_t


cdef int drain_shards(coordinator, tuple shards, partitions, int64_t now_ms) except -1
