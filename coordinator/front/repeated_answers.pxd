"""Encoded answers that are kept, and sent to clients with the same question."""

cimport cython

from libc.stdint cimport int64_t

from coordinator.groups.sessions cimport SessionTable


@cython.final
cdef class Question:
    cdef bytes asked                    # the frame without its correlation id
    cdef object endpoint
    cdef object version                 # of what answers are made of, when it was asked


@cython.final
cdef class RepeatedAnswer:
    cdef bytes frame                    # with the correlation id of the first who asked
    cdef readonly tuple software        # what the client said of itself with the question; None: nothing
    cdef readonly int64_t error_codes   # in it, each of them NONE

    cdef bytes to(self, bytes question)


@cython.final
cdef class RepeatedAnswers:
    cdef SessionTable sessions
    cdef object version_now
    cdef object version                 # of what the kept answers were made of
    cdef dict by_endpoint               # endpoint → what was asked → RepeatedAnswer
    cdef Py_ssize_t bytes_kept

    cdef bint has_steps(self)
    cdef forget(self)
    cdef RepeatedAnswer find(self, bytes frame, object endpoint)
    cdef Question question(self, bytes frame, object endpoint)
    cdef int keep(self, Question question, bytes frame, tuple software, int64_t error_codes) except -1
