cimport cython

from coordinator.runtime.shard_drains cimport ShardDrains
from coordinator.wall_time cimport WallTime


@cython.final
cdef class SteadyDrain:
    cdef ShardDrains coordinator
    cdef object scheduler
    cdef object call_soon               # calls back when all data of the iteration was read
    cdef object now_ms
    cdef WallTime wall
    cdef dict queued_in                 # partition → None: where requests were queued since it called back last

    cdef int submit(self, Py_ssize_t partition, request) except -1
