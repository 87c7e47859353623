"""Answers to OffsetFetch from what is committed."""

cimport cython

from libc.stdint cimport int32_t

from _wire.offset_fetch_frames cimport FetchedTopic, FetchFields
from coordinator.groups.sessions cimport SessionTable
from coordinator.groups.steady_commits cimport SteadyCommits


@cython.final
cdef class SteadyFetches:
    cdef SessionTable sessions
    cdef SteadyCommits commits          # whose topics are known
    cdef tuple shards

    cdef readonly int api_version       # of the last answer,
    cdef readonly int32_t error_codes   # and how many it had: each NONE, and that of the group only with others like it

    cpdef bytes answer(self, bytes frame)
    cdef object group_of(self, const FetchFields *fields)
    cdef object name_of(self, const FetchFields *fields, const FetchedTopic *topic)
