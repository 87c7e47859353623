"""A connection, as C fields."""

from libc.stdint cimport int64_t

from _wire.frames cimport FrameSplitter
from coordinator.front.steady_connection cimport SteadyConnection
from coordinator.metrics.request_meter cimport monotonic_ns


cdef class Connection(SteadyConnection):
    cdef FrameSplitter splitter
    cdef object frames                  # deque of frames that have not been handled yet
    cdef Py_ssize_t frames_bytes
    cdef bint muted                     # the request in progress was answered; its throttle time is not over
    cdef bint running
    cdef bint reading_stopped
    cdef readonly str client_host
    cdef readonly int64_t last_heard_ms
    cdef readonly int64_t begun_ms      # since when the client has to send the rest of a request; 0: it has not
    cdef bint is_reported               # the dispatcher knows that requests are held here
    cdef public bint is_long            # the request in progress has so many elements that it is freed in steps
    cdef public object principal        # who sends the requests: as TLS or a login says before the first one
    cdef public object charge           # what measures the request in progress against quotas; None: nothing does
    cdef public object on_close         # called once if the client disconnects before the response
    cdef public object client_connection    # what members remember of it; None: none came by it

    cdef notify_members(self, problem)
    cdef str frame_limit(self)
    cdef note_unfinished(self)
    cdef int count_answered(self, object call) except -1
    cdef handle_next(self)
    cdef run(self, int64_t now_ms)
    cdef queue(self, list frames)
    cdef discard_frames(self)
    cdef bint has_queued_over(self, Py_ssize_t divisor) except -1

    cdef inline void read_clock(self) noexcept:
        if self.meter is not None:
            self.read_ns = monotonic_ns()

    cdef inline release_request(self):
        """Free a request with very many elements in steps."""
        if self.is_long:
            self.is_long = False
            messages, self.call.request = [self.call.request], None
            self.release(messages)
