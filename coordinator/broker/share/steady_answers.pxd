"""What a steady request about records of a share group is answered, as C fields."""

cimport cython
from libc.stdint cimport int32_t

from _wire.share_frames cimport ShareFields


@cython.final
cdef class AnsweredPartition:
    cdef bytes topic_id
    cdef int32_t partition
    cdef int error                      # of a ShareFetch: of fetching
    cdef int acknowledge_error
    cdef object records                 # bytes or memoryview
    cdef list acquired


cdef AnsweredPartition answered_partition(bytes topic_id, int32_t partition)
cdef bint is_elsewhere(list partitions) except -1
cdef bytes node_endpoint(int32_t node_id, str host, int32_t port)
cdef bytes answer_of(
    const ShareFields *fields, list partitions, int32_t lock_timeout_ms, int32_t leader_id, int32_t leader_epoch,
    bytes endpoint,
)
