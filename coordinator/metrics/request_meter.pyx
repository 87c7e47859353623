"""Counts of requests, errors and times per API, as C integers that the connections write and a scrape reads."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from _wire.messages.offset_commit cimport (
    OffsetCommitResponse, OffsetCommitResponsePartition, OffsetCommitResponseTopic,
)
from _wire.messages.offset_fetch cimport (
    OffsetFetchResponse, OffsetFetchResponseGroup, OffsetFetchResponsePartitions, OffsetFetchResponseTopics,
)

from coordinator.metrics.error_paths import error_paths

cdef enum:
    NANOSECONDS_PER_SECOND = 1_000_000_000

TIME_BOUNDS_MS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 500, 1_000, 5_000, 30_000, 120_000)

cdef int64_t BOUNDS_NS[TIMES - 1]
assert len(TIME_BOUNDS_MS) == TIMES - 1
for position, bound_ms in enumerate(TIME_BOUNDS_MS):
    BOUNDS_NS[position] = <int64_t>(bound_ms * 1e6)


cdef int64_t monotonic_ns() noexcept:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * <int64_t>NANOSECONDS_PER_SECOND + now.tv_nsec


@cython.final
cdef class RequestMeter:

    def __cinit__(self):
        self.apis = <ApiCounts *>PyMem_Calloc(APIS, sizeof(ApiCounts))
        if self.apis == NULL:
            raise MemoryError
        self.error_paths = tuple([error_paths(key) for key in range(APIS)])

    def __dealloc__(self):
        PyMem_Free(self.apis)

    cdef void heartbeat(self, int api_key, int version) noexcept:
        """Count a heartbeat that its connection answered at once, with NONE."""
        self.answered(api_key, version, 0)
        self.apis[api_key].errors[1] += 1

    cdef void without_errors(self, int api_key, int version, int64_t time_ns, int64_t codes) noexcept:
        """Count a request whose answer had so many error codes, each of them NONE."""
        self.answered(api_key, version, time_ns)
        self.apis[api_key].errors[1] += codes

    cdef void with_errors(self, int api_key, int version, int64_t time_ns, list codes) noexcept:
        """Count a request whose answer had these error codes."""
        cdef int code
        self.answered(api_key, version, time_ns)
        for code in codes:
            count(&self.apis[api_key], code)

    cdef void answered(self, int api_key, int version, int64_t time_ns) noexcept:
        """Count a request whose answer took `time_ns`."""
        cdef ApiCounts *api
        cdef int bound = 0
        if not (0 <= api_key < APIS and 0 <= version < VERSIONS):
            return
        api = &self.apis[api_key]
        api.requests[version] += 1
        api.total_ns += time_ns
        while bound < TIMES - 1 and time_ns > BOUNDS_NS[bound]:
            bound += 1
        api.times[bound] += 1

    cdef int64_t count_errors(self, int api_key, object response) except -1:
        """Count each error code of a response, NONE too; but its own NONE only if there is no other code in it.

        Returns how many there were, but not of the two responses of groups that are counted by themselves.
        """
        cdef ApiCounts *api
        cdef Py_ssize_t counted = 0
        if 0 <= api_key < APIS:
            api = &self.apis[api_key]
            if type(response) is OffsetCommitResponse:
                count_commits(api, <OffsetCommitResponse>response)
                return 0
            if type(response) is OffsetFetchResponse and (<OffsetFetchResponse>response).groups:
                count_fetches(api, <OffsetFetchResponse>response)
                return 0
            for path in <tuple>self.error_paths[api_key]:
                if path or not counted or response.error_code:
                    counted += count_along(api, response, <tuple>path, 0)
        return counted

    def requests(self):
        return [
            (key, version, self.apis[key].requests[version])
            for key in range(APIS) for version in range(VERSIONS) if self.apis[key].requests[version]
        ]

    def errors(self):
        return [
            (key, code - 1, self.apis[key].errors[code])
            for key in range(APIS) for code in range(ERRORS) if self.apis[key].errors[code]
        ]

    def times(self):
        counts = [(key, [self.apis[key].times[bound] for bound in range(TIMES)]) for key in range(APIS)]
        return [(key, times, self.apis[key].total_ns / 1e6) for key, times in counts if any(times)]


# The two responses with an error for each partition that steady groups get, without a Python object per partition.

cdef int count_commits(ApiCounts *api, OffsetCommitResponse response) except -1:
    for topic in response.topics:
        for partition in (<OffsetCommitResponseTopic?>topic).partitions:
            count(api, (<OffsetCommitResponsePartition?>partition).error_code)
    return 0


cdef int count_fetches(ApiCounts *api, OffsetFetchResponse response) except -1:
    for group in response.groups:
        count(api, (<OffsetFetchResponseGroup?>group).error_code)
        for topic in (<OffsetFetchResponseGroup>group).topics:
            for partition in (<OffsetFetchResponseTopics?>topic).partitions:
                count(api, (<OffsetFetchResponsePartitions?>partition).error_code)
    return 0


cdef inline void count(ApiCounts *api, int code) noexcept:
    if -1 <= code < ERRORS - 1:
        api.errors[code + 1] += 1


cdef Py_ssize_t count_along(ApiCounts *api, object struct, tuple path, Py_ssize_t depth) except -1:
    """Count the error codes at the end of a path of lists; return how many there were."""
    cdef Py_ssize_t counted = 0
    if depth < len(path):
        for element in getattr(struct, <str>path[depth]) or ():
            counted += count_along(api, element, path, depth + 1)
        return counted
    count(api, struct.error_code)
    return 1


@cython.final
cdef class ListenerMeter:

    def __init__(self, RequestMeter requests not None):
        self.requests = requests
