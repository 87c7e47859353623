"""One client's connection: frames in, answers out in the order of the requests.

Kafka handles the next request of a connection only when the last one is answered; so do we. Heartbeats of live leases
are answered here and nothing else happens; everything else goes to the host. Whatever a turn of the loop comes to
leaves in one write.
"""

from collections import deque

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from _wire.frames cimport FrameSplitter
from _wire.headers cimport encode_response
from _wire.primitives cimport Message
from coordinator.runtime.leases cimport LeaseTable

from _wire.frames import FrameTooLarge

cdef enum:
    HEARTBEAT = 12
    HEARTBEAT_NEWEST = 4
    FLEXIBLE_HEARTBEAT = 4
    WITH_INSTANCE_ID = 3
    WITH_THROTTLE_TIME = 1
    FRAMES_QUEUED_AT_MOST = 1000        # then reading stops until answers have gone out
    BYTES_QUEUED_AT_MOST = 1 << 20      # of these frames; a single one may be larger
    BYTES_HELD_AT_MOST = 1 << 16        # of answers made in one turn; then they are written, and the socket is asked
    HEADER_BYTES_MIN = 8                # API key, version, correlation id


cdef struct Span:
    const uint8_t *data
    Py_ssize_t size                     # -1 for null


cdef inline int16_t load_int16(const uint8_t *p) noexcept:
    return <int16_t>((p[0] << 8) | p[1])


cdef inline int32_t load_int32(const uint8_t *p) noexcept:
    return <int32_t>((<uint32_t>p[0] << 24) | (<uint32_t>p[1] << 16) | (<uint32_t>p[2] << 8) | p[3])


cdef inline bint take_span(const uint8_t **position, const uint8_t *end, bint compact, Span *span) noexcept:
    """A string of under 16 KiB; false for anything else, which the full decoder then judges."""
    cdef const uint8_t *p = position[0]
    if compact:
        if p >= end or p[0] >= 0x80:
            if end - p < 2 or p[1] >= 0x80:
                return False
            span.size = ((p[0] & 0x7F) | (<Py_ssize_t>p[1] << 7)) - 1
            p += 2
        else:
            span.size = <Py_ssize_t>p[0] - 1
            p += 1
    else:
        if end - p < 2:
            return False
        span.size = load_int16(p)
        p += 2
    span.data = p
    if span.size < -1 or (span.size > 0 and span.size > end - p):
        return False
    position[0] = p + (span.size if span.size > 0 else 0)
    return True


cdef inline bint no_tags(const uint8_t **position, const uint8_t *end) noexcept:
    if position[0] >= end or position[0][0] != 0:
        return False
    position[0] += 1
    return True


cdef class Connection:
    """An asyncio protocol. `host` serves what is not answered here (host.py)."""

    cdef object host
    cdef object now_ms
    cdef LeaseTable leases
    cdef FrameSplitter splitter
    cdef object frames                  # deque of frames that wait for their turn
    cdef Py_ssize_t frames_bytes
    cdef object transport
    cdef list out
    cdef Py_ssize_t out_bytes
    cdef bint busy                      # a request is under way; later frames stay undecoded
    cdef bint running
    cdef bint closing
    cdef bint congested                 # the client does not take its answers
    cdef bint reading_stopped
    cdef readonly str client_host
    cdef readonly int64_t last_heard_ms
    cdef readonly object endpoint
    cdef public object call             # what the request under way is, for host and answers
    cdef public object on_close         # called once if the client goes before its answer

    def __init__(self, host, endpoint, LeaseTable leases not None, now_ms, frame_bytes_max):
        self.host = host
        self.endpoint = endpoint
        self.leases = leases
        self.now_ms = now_ms
        self.splitter = FrameSplitter(frame_bytes_max)
        self.frames = deque()
        self.out = []
        self.client_host = ""

    def connection_made(self, transport):
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.client_host = f"/{peer[0]}" if peer else "/"
        self.last_heard_ms = self.now_ms()
        self.host.opened(self)

    def connection_lost(self, problem):
        self.closing = True
        self.forget_frames()
        self.host.closed(self)
        if self.on_close is not None:
            on_close, self.on_close = self.on_close, None
            on_close()

    def eof_received(self):
        return False

    def data_received(self, data):
        if self.closing:
            return
        self.last_heard_ms = self.now_ms()
        try:
            frames = self.splitter.feed(data)
        except FrameTooLarge as problem:
            self.queue(problem.frames)
            self.run(self.last_heard_ms)
            self.refuse(
                f"a request of {problem.frame_bytes} bytes; socket.request.max.bytes is {problem.frame_bytes_max}"
            )
            return
        self.queue(frames)
        self.run(self.last_heard_ms)
        if self.has_queued_over(1) and not self.reading_stopped and not self.closing:
            self.reading_stopped = True
            self.transport.pause_reading()

    def pause_writing(self):
        self.congested = True

    def resume_writing(self):
        self.congested = False
        self.run(self.now_ms())

    def answer(self, Message response not None):
        """Send the response to the request under way, then go on with the next one."""
        cdef object call = self.call
        if self.closing or not self.busy:
            return
        try:
            if call.route.adapt is not None:
                call.route.adapt(response, call.api_version)
            self.hold(encode_response(call.correlation_id, response, call.api_version))
        except (ValueError, TypeError, OverflowError) as problem:
            # A defect of ours; whoever answers others beside this one must not be held up by it.
            self.refuse(f"the answer to {call.route.api.name} version {call.api_version} cannot be written: {problem}")
            return
        self.finish()

    def answer_error(self, error):
        """Send the response that says `error` in the API of the request under way."""
        if not self.closing and self.busy:
            self.answer(self.host.error_response(self.call, error))

    def finish(self):
        """The request under way is done, answered or not meant to be."""
        self.busy = False
        self.call = None
        self.on_close = None
        if not self.running:
            self.run(self.now_ms())

    def refuse(self, str why):
        """Close the connection for something its client did; one log line says what."""
        if not self.closing:
            self.closing = True
            self.forget_frames()
            self.host.refused(self, why)
            self.flush()
            self.transport.close()

    def close(self):
        """Close once what was answered is sent."""
        self.closing = True
        self.forget_frames()
        self.flush()
        self.transport.close()

    cdef run(self, int64_t now_ms):
        """Handle the frames whose turn it is."""
        if self.running:
            return
        self.running = True
        try:
            while self.frames and not self.busy and not self.closing and not self.congested:
                frame = self.frames.popleft()
                self.frames_bytes -= len(<bytes>frame)
                if not self.take_heartbeat(<bytes>frame, now_ms):
                    self.busy = True
                    self.host.serve(self, frame)
                if self.out_bytes > BYTES_HELD_AT_MOST:
                    self.flush()
        finally:
            self.running = False
        self.flush()
        if self.reading_stopped and not self.has_queued_over(2) and not self.closing:
            self.reading_stopped = False
            self.transport.resume_reading()

    cdef queue(self, list frames):
        self.frames.extend(frames)
        for frame in frames:
            self.frames_bytes += len(<bytes>frame)

    cdef forget_frames(self):
        self.frames.clear()
        self.frames_bytes = 0

    cdef bint has_queued_over(self, Py_ssize_t divisor) except -1:
        """Whether more waits than all, half … of what may."""
        return (
            len(self.frames) > FRAMES_QUEUED_AT_MOST // divisor or self.frames_bytes > BYTES_QUEUED_AT_MOST // divisor
        )

    cdef hold(self, bytes answer):
        """Keep an answer until `flush`."""
        self.out.append(answer)
        self.out_bytes += len(answer)

    cdef flush(self):
        if self.out:
            data = self.out[0] if len(self.out) == 1 else b"".join(self.out)
            self.out, self.out_bytes = [], 0
            self.transport.write(data)

    cdef bint take_heartbeat(self, bytes frame, int64_t now_ms) except -1:
        """Answer the Heartbeat of a live lease; false for whatever else the frame is."""
        cdef const uint8_t *p = <const uint8_t *>PyBytes_AS_STRING(frame)
        cdef const uint8_t *end = p + PyBytes_GET_SIZE(frame)
        cdef const uint8_t *correlation_id = p + 4
        cdef int16_t version
        cdef int32_t generation_id
        cdef bint flexible
        cdef Span client_id, group_id, member_id, group_instance_id
        if end - p < HEADER_BYTES_MIN or load_int16(p) != HEARTBEAT:
            return False
        version = load_int16(p + 2)
        if version < 0 or version > HEARTBEAT_NEWEST:
            return False
        flexible = version >= FLEXIBLE_HEARTBEAT
        p += HEADER_BYTES_MIN
        if not take_span(&p, end, False, &client_id) or (flexible and not no_tags(&p, end)):
            return False
        if not take_span(&p, end, flexible, &group_id) or group_id.size < 0 or end - p < 4:
            return False
        generation_id = load_int32(p)
        p += 4
        if not take_span(&p, end, flexible, &member_id) or member_id.size < 0:
            return False
        group_instance_id.data, group_instance_id.size = NULL, -1
        if version >= WITH_INSTANCE_ID and not take_span(&p, end, flexible, &group_instance_id):
            return False
        if (flexible and not no_tags(&p, end)) or p != end:
            return False
        if not self.leases.heartbeat(
            group_id.data, group_id.size, member_id.data, member_id.size,
            group_instance_id.data, group_instance_id.size, generation_id, now_ms,
        ):
            return False
        self.hold(heartbeat_answer(correlation_id, version, flexible))
        return True


cdef bytes heartbeat_answer(const uint8_t *correlation_id, int16_t version, bint flexible):
    """A frame that says NONE: length, correlation id, tags (v4), throttle time (v1), error code, tags (v4)."""
    cdef Py_ssize_t throttle_time = 4 if version >= WITH_THROTTLE_TIME else 0
    cdef Py_ssize_t tags = 1 if flexible else 0     # of the header, and of the body
    cdef Py_ssize_t size = 4 + tags + throttle_time + 2 + tags
    cdef bytes frame = PyBytes_FromStringAndSize(NULL, 4 + size)
    cdef uint8_t *p = <uint8_t *>PyBytes_AS_STRING(frame)
    cdef Py_ssize_t i
    for i in range(4 + size):
        p[i] = 0
    p[3] = <uint8_t>size
    memcpy(p + 4, correlation_id, 4)
    return frame
