"""The shards of a coordinator that have work, as C fields."""


cdef class ShardDrains:
    cdef public tuple shards
    cdef public dict _dirty             # partition → shard that has to be drained
    cdef public object _loading         # shards that are read, or wait for it
    cdef public dict _rebuilding        # partition → shard with keys that failed alone and are due to be rebuilt
    cdef public object _request_iteration

    cdef int drain_dirty(self, now_ms) except -1
    cdef int mark(self, shard) except -1
