cimport cython
from libc.stdint cimport int64_t

cdef enum:
    APIS = 128                          # API keys below it are counted
    VERSIONS = 32
    ERRORS = 256                        # error codes -1 to 254
    TIMES = 16                          # bounds of the histogram, and +Inf


cdef struct ApiCounts:
    int64_t requests[VERSIONS]
    int64_t errors[ERRORS]
    int64_t times[TIMES]
    int64_t total_ns


cdef int64_t monotonic_ns() noexcept


@cython.final
cdef class RequestMeter:
    cdef ApiCounts *apis
    cdef tuple error_paths

    cdef void heartbeat(self, int api_key, int version) noexcept
    cdef void without_errors(self, int api_key, int version, int64_t time_ns, int64_t codes) noexcept
    cdef void with_errors(self, int api_key, int version, int64_t time_ns, list codes) noexcept
    cdef void answered(self, int api_key, int version, int64_t time_ns) noexcept
    cdef int64_t count_errors(self, int api_key, object response) except -1


@cython.final
cdef class ListenerMeter:
    cdef readonly RequestMeter requests
    cdef public int64_t created, closed, rejected, bytes_in, bytes_out
