"""Committed positions as C fields."""

cimport cython
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

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
cdef Py_ssize_t written_offset_max(Py_ssize_t group_bytes, Py_ssize_t topic_bytes)
cdef uint8_t *put_offset(
    uint8_t *out, const char *group, Py_ssize_t group_bytes, const char *topic, Py_ssize_t topic_bytes,
    int32_t partition, CommittedOffset committed
) except NULL
cdef bytes id_or_none(bytes topic_id)
