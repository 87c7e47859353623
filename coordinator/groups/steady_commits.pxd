"""Commits of steady members as C fields."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from _wire.commit_frames cimport CommitFields
from _wire.heartbeat_frames cimport Span
from coordinator.core.stored_batch cimport StoredBatch
from coordinator.groups.sessions cimport Session, SessionTable
from coordinator.runtime.steady cimport SteadyDrain
from coordinator.wall_time cimport WallTime


cdef str ascii_text(const Span *span)


@cython.final
cdef class CachedTopic:
    cdef str name
    cdef int32_t partitions
    cdef bytes topic_id


@cython.final
cdef class SteadyCommits:
    cdef SessionTable sessions
    cdef object environment
    cdef WallTime wall
    cdef Py_ssize_t partition_count     # of the coordinator
    cdef SteadyDrain drain
    cdef object as_operation            # (waiting, frame, names of its topics) → what the core decides instead
    cdef int64_t elements_max
    cdef dict topics                    # name, or id as bytes → KnownTopic; only topics that exist
    cdef uint64_t topics_cached_at       # the changes that were counted then

    cpdef SteadyCommit read(self, bytes frame, object waiting, int64_t now_ms)
    cdef Session session_of(self, const CommitFields *fields, int64_t now_ms)
    cdef list topics_of(self, const CommitFields *fields, SteadyCommit commit)
    cdef CachedTopic topic_of(self, object key, bint is_id)


@cython.final
cdef class SteadyCommit:
    cdef SteadyCommits commits
    cdef object waiting                 # who gets the answer
    cdef bytes frame
    cdef CommitFields fields            # of the frame, where it lies
    cdef list topics                    # the names of its topics, in their order
    cdef Py_ssize_t answer_bytes
    cdef Py_ssize_t written_max         # the most that its records take, written
    cdef readonly str key               # the group id
    cdef readonly str member_id
    cdef readonly object request_id     # None: nobody has registered it
    cdef readonly bytes answer
    cdef readonly int32_t partitions
    cdef readonly int api_version

    cdef StoredBatch read_offsets(self, dict by_topic, int64_t at_ms, dict accepted)
    cdef bint is_too_long(self, Py_ssize_t metadata_bytes) except -1
