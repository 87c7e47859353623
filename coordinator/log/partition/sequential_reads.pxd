from libc.stdint cimport int64_t

from coordinator.log.partition.log_end cimport LogEnd


cpdef view_on(LogEnd log, int64_t offset, int64_t max_bytes, int64_t limit)
