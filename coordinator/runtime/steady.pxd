from libc.stdint cimport int64_t

from coordinator.runtime.shard_drains cimport ShardDrains


cdef int drain_shards(ShardDrains coordinator, tuple shards, partitions, int64_t now_ms) except -1
