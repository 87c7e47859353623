"""A connection of a listener with a login: nothing but the login is handled before it, and when its session is over."""

from libc.stdint cimport int64_t, uint8_t

from coordinator.front.connection cimport Connection
from coordinator.groups.sessions cimport SessionTable
from coordinator.metrics.request_meter cimport ListenerMeter


cdef class SaslConnection(Connection):
    """A connection of a listener with a login. `dispatcher` is its LoginGate, which gives it its `login`."""

    cdef public object login
    cdef readonly int64_t session_end_ms    # from when on only a login is handled: 0 before there was one
    cdef Py_ssize_t frame_bytes_max         # after the login
    cdef bint is_held                       # its login has failed: nothing more is read

    def __init__(
        self, dispatcher, endpoint, SessionTable sessions not None, now_ms, frame_bytes_max, receive_bytes_max,
        ListenerMeter meter=None,
    ):
        Connection.__init__(self, dispatcher, endpoint, sessions, now_ms, receive_bytes_max, meter)
        self.frame_bytes_max = frame_bytes_max

    def log_in(self, principal, int64_t session_end_ms):
        """Handle the requests of this principal from now on."""
        self.principal = principal
        self.session_end_ms = session_end_ms
        self.splitter.frame_bytes_max = self.frame_bytes_max

    def begin_login(self, Py_ssize_t receive_bytes_max):
        """Handle nothing but a login, once more."""
        self.session_end_ms = 0
        self.splitter.frame_bytes_max = receive_bytes_max

    def respond(self, bytes response not None):
        """Send an encoded response to the frame in progress, then handle the next one."""
        if not self.closing and self.busy:
            self.buffer_response(response)
            self.handle_next()

    def hold(self):
        """Read nothing more."""
        self.is_held = True
        self.discard_frames()
        if not self.reading_stopped and not self.closing:
            self.reading_stopped = True
            self.transport.pause_reading()

    def close_after(self, bytes response not None):
        """Send an encoded response to the frame in progress, if it is not empty, and close."""
        if not self.closing:
            if response:
                self.buffer_response(response)
            self.close()

    cdef str frame_limit(self):
        if self.splitter.frame_bytes_max == self.frame_bytes_max:
            return Connection.frame_limit(self)
        return "sasl.server.max.receive.size, before the login,"

    cdef bint has_queued_over(self, Py_ssize_t divisor) except -1:
        return self.is_held or Connection.has_queued_over(self, divisor)

    cdef Py_ssize_t answer_heartbeat(
        self, const uint8_t *frame, Py_ssize_t frame_bytes, int64_t now_ms, uint8_t *answer
    ) noexcept:
        if now_ms >= self.session_end_ms:
            return 0
        return Connection.answer_heartbeat(self, frame, frame_bytes, now_ms, answer)

    cdef bint try_steady(self, bytes frame, int64_t now_ms) except -1:
        return now_ms < self.session_end_ms and Connection.try_steady(self, frame, now_ms)
