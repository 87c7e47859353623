"""Steady requests about records of share groups, as C fields."""

cimport cython
from libc.stdint cimport int32_t, int64_t

from coordinator.broker.share.partition_core cimport SharePartitionCore
from coordinator.broker.share.record_counts cimport RecordCounts
from coordinator.broker.share.steady_fetches cimport SteadyFetch, SteadyFetches


@cython.final
cdef class SteadyShares(SteadyFetches):
    cdef dict sessions_by_member
    cdef RecordCounts total             # since the start
    cdef int64_t elements_max           # of a request
    cdef int32_t node_id

    cpdef SteadyShareRequest read(self, bytes frame, waiting, int64_t now_ms)
    cdef bint read_acknowledgements(self, SteadyShareRequest request, session) except -1
    cdef int acknowledge(self, SteadyShareRequest request, Acknowledged acknowledged) except -1
    cdef int wake(self, SharePartitionCore share_partition) except -1


@cython.final
cdef class SteadyShareRequest(SteadyFetch):
    cdef SteadyShares shares
    cdef object waiting                 # who gets the answer
    cdef bytes frame
    cdef list acknowledged              # of Acknowledged
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
