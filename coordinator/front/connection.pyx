"""One client connection: request frames in, responses out in the order of the requests (Kafka's SocketServer).

As in Kafka, the next request of a connection is handled only after the response to the previous one. What
`SteadyConnection` cannot handle goes to the dispatcher.
"""

from collections import deque

from cpython.bytes cimport PyBytes_GET_SIZE
from libc.stdint cimport int64_t

from _wire.commit_frames cimport OFFSET_COMMIT
from _wire.frames cimport FrameSplitter
from _wire.headers cimport encode_response
from _wire.structs cimport Message
from coordinator.front.buffered_connection cimport BYTES_HELD_AT_MOST
from coordinator.groups.sessions cimport SessionTable
from coordinator.groups.steady_commits cimport SteadyCommit
from coordinator.metrics.request_meter cimport ListenerMeter

from _wire.frames import FrameTooLarge
from coordinator.core.client_connection import ClientConnection
from coordinator.security.principal import ANONYMOUS
from coordinator.front.foreign_protocols import too_large
from coordinator.front.long_messages import TooLong, not_in_steps

cdef enum:
    FRAMES_QUEUED_AT_MOST = 1000        # above this, reading pauses until responses have been sent
    BYTES_QUEUED_AT_MOST = 1 << 20      # of these frames; a single frame may be larger
    BYTES_IN_STEPS = 1 << 20            # a response that takes more is encoded in steps from its beginning
    BYTES_REPORTED_FROM = 1 << 16       # of requests held here; fewer are not told to the dispatcher


cdef int64_t connections_made = 0


cdef class Connection(SteadyConnection):
    """An asyncio protocol. `dispatcher` is the RequestDispatcher. Without a `meter` nothing is counted."""

    def __init__(
        self, dispatcher, endpoint, SessionTable sessions not None, now_ms, frame_bytes_max, ListenerMeter meter=None,
    ):
        global connections_made
        connections_made += 1
        self.serial = connections_made
        self.dispatcher = dispatcher
        self.endpoint = endpoint
        self.principal = ANONYMOUS
        self.sessions = sessions
        self.now_ms = now_ms
        self.splitter = FrameSplitter(frame_bytes_max)
        self.frames = deque()
        self.out = []
        self.client_host = ""
        self.client_host_bytes = b""
        self.software = ("", "")
        self.meter = meter

    def connection_made(self, transport):
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.client_host = f"/{peer[0]}" if peer else "/"
        self.client_host_bytes = self.client_host.encode()
        self.last_heard_ms = self.now_ms()
        if self.meter is not None:
            self.meter.created += 1
        self.dispatcher.opened(self)

    def connection_lost(self, problem):
        self.notify_members(problem)
        self.closing = True
        self.discard_frames()
        self.splitter = None
        if self.meter is not None:
            self.meter.closed += 1
        self.dispatcher.closed(self)
        if self.on_close is not None:
            on_close, self.on_close = self.on_close, None
            on_close()
        self.release_request()

    cdef notify_members(self, problem):
        """Let the members that came by this connection know that it is closed, and when its client's side closed it.

        Nothing is known of the client if this side closed it, or gave up because the other one did not answer.
        """
        cdef bint by_client = not self.closing and (problem is None or isinstance(problem, ConnectionError))
        if self.client_connection is None:
            if self.call is None:
                return
            self.client_connection = ClientConnection()    # the request in progress may be decided later
        self.client_connection.close(self.now_ms() if by_client else None)
        self.sessions.await_clients(self.client_connection.members)

    def eof_received(self):
        if not self.congested:
            self.note_unsent()          # they are sent first, if the client reads them
        return False

    def data_received(self, bytes data not None):
        cdef Py_ssize_t answered = 0
        if self.closing:
            return
        self.last_heard_ms = self.now_ms()
        if self.sessions.has_due_timer(self.last_heard_ms):
            self.dispatcher.fire_due()  # a session that has ended is over for the requests that come now
        if self.meter is not None:
            self.meter.bytes_in += PyBytes_GET_SIZE(data)
        if not (self.busy or self.congested or self.frames or self.splitter.has_begun()):
            answered = self.answer_heartbeats(data, self.splitter.frame_bytes_max, self.last_heard_ms)
            if answered == PyBytes_GET_SIZE(data):
                self.flush()
                return
        self.read_clock()
        try:
            frames = self.splitter.feed(memoryview(data)[answered:] if answered else data)
        except FrameTooLarge as problem:
            self.queue(problem.frames)
            self.run(self.last_heard_ms)
            self.reject(too_large(problem.frame_bytes, problem.frame_bytes_max, self.frame_limit()))
            return
        self.queue(frames)
        self.run(self.last_heard_ms)
        if frames:
            self.begun_ms = 0           # what is unfinished now is another request
        if self.has_queued_over(1) and not self.reading_stopped and not self.closing:
            self.reading_stopped = True
            self.transport.pause_reading()
        if self.splitter is not None and (
            self.splitter.has_begun() or self.begun_ms or self.is_reported or self.frames_bytes > BYTES_REPORTED_FROM
        ):
            self.note_unfinished()

    cdef str frame_limit(self):
        """The setting that limits the size of a request now."""
        return "socket.request.max.bytes"

    cdef note_unfinished(self):
        """Keep the time since when a request is unfinished, and report what is held here."""
        cdef Py_ssize_t held = self.splitter.begun_bytes + self.frames_bytes
        if self.reading_stopped or not self.splitter.has_begun():
            self.begun_ms = 0           # the client has nothing to send, or cannot send it
        elif not self.begun_ms:
            self.begun_ms = self.now_ms()
        if self.closing or not held:
            if self.is_reported:
                self.is_reported = False
                self.dispatcher.holds_requests(self, 0)
        elif self.begun_ms or held > BYTES_REPORTED_FROM or self.is_reported:
            self.is_reported = True
            self.dispatcher.holds_requests(self, held)

    def resume_writing(self):
        self.congested = False
        if self.closing:
            self.note_unsent()          # the last bytes keep the connection open
            return
        self.dispatcher.holds_responses(self, 0)
        self.read_clock()
        self.run(self.now_ms())

    def send_response(self, Message response not None):
        """Send the response to the request in progress, then handle the next one."""
        cdef object call = self.call
        cdef list apart = []
        cdef int64_t error_codes = 0
        if self.closing or not self.busy or self.muted:
            return
        try:
            if call.route.downgrade is not None:
                call.route.downgrade(response, call.api_version)
            if call.built_bytes > BYTES_IN_STEPS:
                raise TooLong           # one attempt to encode so much would copy it in vain
            if self.charge is None:
                frame = encode_response(call.correlation_id, response, call.api_version, apart, not_in_steps)
                self.buffer_apart(frame, apart)
            else:
                self.buffer_response(self.charge.encode(response, not_in_steps))
            if self.meter is not None:
                error_codes = self.meter.requests.count_errors(call.route.api.key, response)
            if self.question is not None and call.is_repeatable and self.charge is None and not apart:
                self.keep_answer(<bytes?>frame, error_codes)
        except TooLong:
            self.dispatcher.encode_in_steps(self, response)
            return
        except (ValueError, TypeError, OverflowError) as problem:
            self.reject_response(problem)
            return
        self.finish()

    def encode(self, Message response not None, list apart not None, pause not None):
        """Encode the response to the request in progress; `pause` is called after each step."""
        cdef object call = self.call
        if self.charge is not None:
            return self.charge.encode(response, pause)
        return encode_response(call.correlation_id, response, call.api_version, apart, pause)

    def send_encoded(self, Message response not None, list apart not None, bytes frame not None):
        """Send what `encode` made of the response, then handle the next request; the response is freed."""
        if self.closing or not self.busy or self.muted:
            return
        self.buffer_apart(frame, apart)
        if self.meter is not None:
            self.meter.requests.count_errors(self.call.route.api.key, response)
        self.release([response])
        self.finish()

    def send_frame(self, bytes frame not None):
        """Send a response that is encoded already, with its length, then handle the next request."""
        if self.closing or not self.busy or self.muted:
            return
        self.buffer_response(frame)
        self.finish()

    def reject_response(self, problem):
        """Close the connection, because of a defect of the server: the response cannot be encoded.

        It must not reach the caller, who may have further responses to send.
        """
        cdef object call = self.call
        self.reject(f"cannot encode the response to {call.route.api.name} version {call.api_version}: {problem}")

    def send_error_response(self, error):
        """Send the response that reports `error` in the API of the request in progress; without one, close."""
        if self.closing or not self.busy or self.muted:
            return
        response = self.dispatcher.error_response(self.call, error)
        if response is not None:
            self.send_response(response)

    def finish(self):
        """Complete the request in progress: its response has been sent, or it has none."""
        cdef object call = self.call
        if self.meter is not None and call is not None:
            self.read_clock()
            self.count_answered(call)
        if self.charge is not None:
            charge, self.charge = self.charge, None
            throttle_time_ms = charge.end()
            if throttle_time_ms > 0:
                self.release_request()
                self.dispatcher.mute(self, throttle_time_ms)
                return
        self.release_request()
        self.handle_next()

    cdef int count_answered(self, object call) except -1:
        cdef SteadyCommit commit
        cdef int64_t time_ns = self.read_ns - self.began_ns
        if type(call) is SteadyCommit:
            commit = <SteadyCommit>call
            self.meter.requests.without_errors(OFFSET_COMMIT, commit.api_version, time_ns, commit.partitions)
        elif self.is_steady_share:
            self.meter.requests.with_errors(call.api_key, call.api_version, time_ns, call.error_codes)
        else:
            self.meter.requests.answered(call.route.api.key, call.api_version, time_ns)
        return 0

    def release(self, list messages not None):
        """Free messages with very many elements in steps, as far as nobody else holds them in the next iteration."""
        self.dispatcher.release(self.client_host, messages)

    def mute(self, unmuting):
        """Handle no further request until `unmute` (KIP-219). `unmuting` is called if the client disconnects before."""
        self.busy = self.muted = True
        self.on_close = unmuting
        if self.call is not None:
            # It may be large, and a throttle time long.
            self.call.request = None
        if not self.running:
            self.flush()

    def unmute(self):
        """The throttle time is over."""
        if self.muted and not self.closing:
            self.muted = False
            self.last_heard_ms = self.now_ms()
            self.handle_next()

    cdef handle_next(self):
        self.busy = False
        self.call = None
        self.is_steady_share = False
        self.question = None
        self.on_close = None
        if self.running:
            return
        if self.out_bytes > BYTES_HELD_AT_MOST:
            self.flush()                # before the next request, which waits if the client does not read
        if self.frames or self.reading_stopped:
            self.run(self.now_ms())
        else:
            self.flush()

    def reject(self, str reason):
        """Close the connection because of `reason`, which is logged."""
        if not self.closing:
            self.closing = True
            self.discard_frames()
            if self.meter is not None:
                self.meter.rejected += 1
            self.dispatcher.rejected(self, reason)
            self.end()

    def abort(self, str reason):
        """Close the connection at once because of `reason`, which is logged; what is unsent is dropped.

        Also while it is being closed: the client may never read what is to be sent before.
        """
        self.closing = True
        self.discard_frames()
        if self.meter is not None:
            self.meter.rejected += 1
        self.dispatcher.rejected(self, reason)
        self.transport.abort()

    def close(self):
        """Close the connection after the buffered responses have been sent."""
        if not self.closing:
            self.closing = True
            self.discard_frames()
            self.end()

    cdef run(self, int64_t now_ms):
        """Handle the queued frames, until one of them has to wait for its response."""
        if self.running:
            return
        self.running = True
        self.steady_shares = 0
        try:
            while self.frames and not self.busy and not self.closing and not self.congested:
                frame = self.frames.popleft()
                self.frames_bytes -= len(<bytes>frame)
                if not self.try_heartbeat(<bytes>frame, now_ms) and not self.try_steady(<bytes>frame, now_ms):
                    self.busy = True
                    self.began_ns = self.read_ns
                    self.dispatcher.serve(self, frame)
                if self.out_bytes > BYTES_HELD_AT_MOST:
                    self.flush()
        finally:
            self.running = False
        self.flush()
        if self.reading_stopped and not self.has_queued_over(2) and not self.closing:
            self.reading_stopped = False
            self.transport.resume_reading()
            if self.splitter.has_begun():
                self.note_unfinished()

    cdef queue(self, list frames):
        self.frames.extend(frames)
        for frame in frames:
            self.frames_bytes += len(<bytes>frame)

    cdef discard_frames(self):
        self.frames.clear()
        self.frames_bytes = 0

    cdef bint has_queued_over(self, Py_ssize_t divisor) except -1:
        """True if the queued frames exceed 1/`divisor` of the limits."""
        return (
            len(self.frames) > FRAMES_QUEUED_AT_MOST // divisor or self.frames_bytes > BYTES_QUEUED_AT_MOST // divisor
        )
