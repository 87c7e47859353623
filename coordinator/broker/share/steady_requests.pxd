"""Steady requests about records of share groups, as C fields."""

cimport cython
from libc.stdint cimport int32_t, int64_t

from _wire.share_frames cimport ShareFields
from coordinator.broker.share.fetched_batches cimport FetchedBatches
from coordinator.broker.share.partition_core cimport SharePartitionCore
from coordinator.broker.share.record_counts cimport RecordCounts
from coordinator.broker.share.steady_answers cimport AnsweredPartition


@cython.final
cdef class SteadyShares:
    cdef dict sessions_by_member
    cdef dict share_partitions_by_key
    cdef dict waits                     # share partitions that fetches wait for
    cdef object image
    cdef object settings
    cdef object fetch_service
    cdef object now_ms
    cdef RecordCounts total             # since the start
    cdef int64_t enabled_at             # the version of the image at which share groups were served
    cdef int64_t max_bytes

    cpdef SteadyShareRequest read(self, bytes frame, waiting)
    cdef bint is_enabled(self) except -1
    cdef bint read_acknowledgements(self, SteadyShareRequest request, session) except -1
    cdef SharePartitionCore find(self, str group_id, bytes topic_id, int32_t partition)
    cdef int wake(self, SharePartitionCore share_partition) except -1
    cdef bint can_fetch(self, SteadyShareRequest request, session) except -1
    cdef int acknowledge(self, SteadyShareRequest request, Acknowledged acknowledged) except -1
    cdef int fetch(self, SteadyShareRequest request, session) except -1
    cdef int64_t acquire(
        self, SteadyShareRequest request, SharePartitionCore share_partition, int64_t part_bytes, int64_t left_records,
        bint is_first, AnsweredPartition answered,
    ) except -1
    cdef FetchedBatches read_log(
        self, SharePartitionCore share_partition, int64_t offset, int64_t size_bytes, bint is_first,
        AnsweredPartition answered,
    )


@cython.final
cdef class SteadyShareRequest:
    cdef SteadyShares shares
    cdef object waiting                 # who gets the answer
    cdef bytes frame
    cdef ShareFields fields             # of the frame, where it lies
    cdef str group_id
    cdef str member_id
    cdef object settings                # of the records of the group
    cdef int64_t now_ms                 # when it came
    cdef list acknowledged              # of Acknowledged
    cdef list fetched                   # share partitions that are read, in their order
    cdef list available_bytes           # of these
    cdef list answers                   # of AnsweredPartition
    cdef Py_ssize_t missing             # acknowledgements that are not stored yet, and one until all is begun
    cdef bint is_queued                 # `read` has returned: the answer is to be sent
    cdef readonly bytes answer          # None: it is not made yet
    cdef readonly int api_key
    cdef readonly int api_version
    cdef readonly list error_codes      # those that are counted of the answer

    cdef int ended(self) except -1
    cdef int make_answer(self) except -1


@cython.final
cdef class Acknowledged:
    """What a request acknowledges of a partition. Called with the answer when it is stored, or is not."""

    cdef SteadyShareRequest request
    cdef SharePartitionCore share_partition
    cdef bytes topic_id
    cdef int32_t partition
    cdef int32_t batch_count
    cdef Py_ssize_t first_batch         # where its batches begin in the frame
    cdef list changes
    cdef RecordCounts counts
    cdef int error
