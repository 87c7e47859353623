"""The fetches of steady requests, as C fields."""

from libc.stdint cimport int32_t, int64_t

from _wire.share_frames cimport ShareFields
from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.broker.share.partition_core cimport SharePartitionCore
from coordinator.broker.share.steady_answers cimport AnsweredPartition


cdef class SteadyFetch:
    cdef ShareFields fields             # of the frame, where it lies
    cdef str group_id
    cdef str member_id
    cdef object settings                # of the records of the group
    cdef int64_t now_ms                 # when it came
    cdef list fetched                   # share partitions that are read, in their order
    cdef list available_bytes           # of these
    cdef list answers                   # of AnsweredPartition


cdef class SteadyFetches:
    cdef dict share_partitions_by_key
    cdef dict waits                     # share partitions that fetches wait for
    cdef object image
    cdef object settings
    cdef object fetch_service
    cdef int64_t max_bytes
    cdef int64_t enabled_at             # the version of the image at which share groups were served
    cdef dict settings_by_group         # as they were then

    cdef bint is_enabled(self) except -1
    cdef object settings_of(self, str group_id)
    cdef SharePartitionCore find(self, str group_id, bytes topic_id, int32_t partition)
    cdef bint can_fetch(self, SteadyFetch request, session) except -1
    cdef int fetch(self, SteadyFetch request, session) except -1
    cdef int64_t acquire(
        self, SteadyFetch request, SharePartitionCore share_partition, int64_t part_bytes, int64_t left_records,
        bint is_first, AnsweredPartition answered,
    ) except -1
    cdef FetchedBatches read_log(
        self, SharePartitionCore share_partition, int64_t offset, int64_t size_bytes, bint is_first,
        AnsweredPartition answered,
    )
