"""Committed positions as C fields."""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t

from _wire.messages.offset_commit_record cimport OffsetCommitValue


@cython.final
cdef class CommittedOffset:
    cdef readonly int64_t offset
    cdef readonly int32_t leader_epoch
    cdef bint has_expire_timestamp
    cdef readonly int64_t commit_timestamp_ms
    cdef int64_t expire_timestamp
    cdef readonly str metadata
    cdef readonly bytes topic_id
    cdef tuple fields(self)


cdef CommittedOffset committed_offset(OffsetCommitValue stored, int16_t version)
cdef bytes offset_key(
    const char *group, Py_ssize_t group_bytes, const char *topic, Py_ssize_t topic_bytes, int32_t partition
)
cdef bytes offset_value(CommittedOffset committed)
cdef bytes known_id(bytes topic_id)
