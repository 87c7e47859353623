"""Encoded answers that are kept, and sent to clients with the same question: ApiVersions, Metadata, FindCoordinator.

Each client asks these with each connection, mostly in the same words as all others of its kind. The answer that was
encoded for one of them is sent to the next, until what it was made of changes. A handler says of an answer whether it
is one of these (`RequestContext.is_repeatable`): it has no error, it depends on the words of the question, the listener
and `version_now` alone, and to make it changes nothing.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from coordinator.groups.sessions cimport SessionTable

cdef enum:
    API_AND_VERSION_BYTES = 4
    CORRELATION_ID_BYTES = 4
    LENGTH_BYTES = 4
    QUESTION_BYTES_MAX = 1 << 10
    ANSWER_BYTES_MAX = 1 << 14
    KEPT_BYTES_MAX = 1 << 22            # of all together: clients choose what they ask
    OBJECTS_BYTES = 400                 # of an answer beside its bytes: the objects, its place in a dictionary


@cython.final
cdef class Question:
    """What a request asks, for its answer to be kept."""


@cython.final
cdef class RepeatedAnswer:
    cdef bytes to(self, bytes question):
        """The answer with the correlation id of this request."""
        cdef bytes answer = PyBytes_FromStringAndSize(PyBytes_AS_STRING(self.frame), PyBytes_GET_SIZE(self.frame))
        memcpy(
            PyBytes_AS_STRING(answer) + LENGTH_BYTES,
            PyBytes_AS_STRING(question) + API_AND_VERSION_BYTES,
            CORRELATION_ID_BYTES,
        )
        return answer


@cython.final
cdef class RepeatedAnswers:
    """`version_now` gives a number that is another one whenever an answer may be another one."""

    def __init__(self, SessionTable sessions not None, version_now):
        self.sessions = sessions
        self.version_now = version_now
        self.version = None
        self.by_endpoint = {}

    @property
    def kept_bytes(self):
        return self.bytes_kept

    cdef bint has_steps(self):
        """Whether something stands between requests and their handlers, and has to see each of them."""
        return self.sessions.leaves_heartbeats or self.sessions.leaves_requests or self.sessions.asks_authorizer

    cdef RepeatedAnswer find(self, bytes frame, object endpoint):
        """The answer to this request; None: its handler has to answer."""
        cdef dict kept
        if self.has_steps() or not self.by_endpoint:
            return None
        if self.version_now() != self.version:
            self.forget()
            return None
        kept = <dict>self.by_endpoint.get(endpoint)
        return None if kept is None else <RepeatedAnswer>kept.get(without_correlation_id(frame))

    cdef Question question(self, bytes frame, object endpoint):
        """What is needed to keep the answer that a handler gives; None if it cannot be kept."""
        cdef Question question
        cdef Py_ssize_t size = PyBytes_GET_SIZE(frame)
        if self.has_steps() or not API_AND_VERSION_BYTES + CORRELATION_ID_BYTES < size <= QUESTION_BYTES_MAX:
            return None
        question = Question.__new__(Question)
        question.asked = without_correlation_id(frame)
        question.endpoint = endpoint
        question.version = self.version_now()
        return question

    cdef int keep(self, Question question, bytes frame, tuple software, int64_t error_codes) except -1:
        """Keep the frame of an answer, unless what it was made of has changed since it was asked for."""
        cdef RepeatedAnswer answer
        cdef dict kept
        cdef Py_ssize_t size = PyBytes_GET_SIZE(frame) + PyBytes_GET_SIZE(question.asked) + OBJECTS_BYTES
        version = self.version_now()
        if version != question.version or self.has_steps() or PyBytes_GET_SIZE(frame) > ANSWER_BYTES_MAX:
            return 0
        if version != self.version or self.bytes_kept + size > KEPT_BYTES_MAX:
            self.forget()
            self.version = version
        answer = RepeatedAnswer.__new__(RepeatedAnswer)
        answer.frame, answer.software, answer.error_codes = frame, software, error_codes
        kept = <dict>self.by_endpoint.setdefault(question.endpoint, {})
        if question.asked not in kept:
            self.bytes_kept += size
        kept[question.asked] = answer
        return 0

    cdef forget(self):
        self.by_endpoint = {}
        self.bytes_kept = 0


cdef bytes without_correlation_id(bytes frame):
    """The API, its version, the client id and the body of a request."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(frame) - CORRELATION_ID_BYTES
    cdef bytes rest
    cdef const char *begin = PyBytes_AS_STRING(frame)
    if size < API_AND_VERSION_BYTES:
        return b""
    rest = PyBytes_FromStringAndSize(begin, size)
    memcpy(
        PyBytes_AS_STRING(rest) + API_AND_VERSION_BYTES,
        begin + API_AND_VERSION_BYTES + CORRELATION_ID_BYTES,
        size - API_AND_VERSION_BYTES,
    )
    return rest
