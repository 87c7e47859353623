"""One client connection: request frames in, responses out in the order of the requests (Kafka's SocketServer).

As in Kafka, the next request of a connection is handled only after the response to the previous one. Heartbeats of live
sessions are handled here, without the dispatcher; all other requests go to the dispatcher. All responses of one loop
iteration are sent with one write. Commits of steady members are read here, too, and wait in their shards; OffsetFetch
of a group for which nothing waits is answered here, and so are questions that were answered before. What steady members
of share groups fetch and acknowledge is left to who knows the records, without the dispatcher.
"""

from collections import deque

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t

from _wire.commit_frames cimport OFFSET_COMMIT
from _wire.frames cimport FrameSplitter
from _wire.headers cimport encode_response, frame_parts
from _wire.heartbeat_frames cimport (
    ANSWER_BYTES_MAX, HEARTBEAT, ConsumerHeartbeatFields, HeartbeatFields,
    read_epoch_heartbeat, read_heartbeat, write_consumer_heartbeat_answer, write_heartbeat_answer,
)
from _wire.offset_fetch_frames cimport OFFSET_FETCH
from _wire.primitives cimport Message, load_uint16, load_uint32
from _wire.share_frames cimport SHARE_ACKNOWLEDGE, SHARE_FETCH
from coordinator.metrics.request_meter cimport ListenerMeter, monotonic_ns
from coordinator.front.repeated_answers cimport Question, RepeatedAnswer, RepeatedAnswers
from coordinator.groups.sessions cimport SessionTable
from coordinator.groups.steady_commits cimport SteadyCommit, SteadyCommits
from coordinator.groups.steady_fetches cimport SteadyFetches

from _wire.frames import FrameTooLarge
from coordinator.core.client_connection import ClientConnection
from coordinator.security.principal import ANONYMOUS
from coordinator.front.api_versions import SOFTWARE_NAME_VERSION
from coordinator.front.foreign_protocols import too_large
from coordinator.front.long_messages import TooLong, not_in_steps

cdef enum:
    FRAMES_QUEUED_AT_MOST = 1000        # above this, reading pauses until responses have been sent
    BYTES_QUEUED_AT_MOST = 1 << 20      # of these frames; a single frame may be larger
    BYTES_IN_STEPS = 1 << 20            # a response that takes more is encoded in steps from its beginning
    BYTES_REPORTED_FROM = 1 << 16       # of requests held here; fewer are not told to the dispatcher
    BYTES_HELD_AT_MOST = 1 << 16        # of buffered responses; above this they are written before the iteration ends
    HEARTBEAT_ANSWERS_BYTES = 4096      # the size of the buffer for heartbeat responses
    STEADY_SHARES_AT_ONCE = 10          # of a client that does not wait for its answers
    LENGTH_BYTES = 4
    METADATA = 3
    FIND_COORDINATOR = 10
    API_VERSIONS = 18


cdef int64_t connections_made = 0


cdef class Connection:
    """An asyncio protocol. `dispatcher` is the RequestDispatcher. Without a `meter` nothing is counted."""

    cdef object dispatcher
    cdef object now_ms
    cdef SessionTable sessions
    cdef FrameSplitter splitter
    cdef object frames                  # deque of frames that have not been handled yet
    cdef Py_ssize_t frames_bytes
    cdef object transport
    cdef list out
    cdef Py_ssize_t out_bytes
    cdef bint busy                      # a request is in progress; later frames stay undecoded
    cdef bint muted                     # it has been answered, and is in progress until its throttle time is over
    cdef bint running
    cdef bint closing
    cdef bint congested                 # the send buffer is full: the client does not read its responses
    cdef bint reading_stopped
    cdef ListenerMeter meter            # None: nothing is counted, and no clock is read
    cdef int64_t read_ns                # the last reading of the clock: of received data, or of the last response
    cdef int64_t began_ns               # when the request in progress came
    cdef readonly str client_host
    cdef bytes client_host_bytes
    cdef readonly int64_t last_heard_ms
    cdef readonly int64_t begun_ms      # since when the client has to send the rest of a request; 0: it has not
    cdef readonly int64_t congested_ms  # since when the client has to read what it was sent
    cdef readonly Py_ssize_t congested_bytes    # what it had to read then, and what was sent since
    cdef Py_ssize_t whole_bytes         # of the largest response in one piece that was written since all was read
    cdef bint is_reported               # the dispatcher knows that requests are held here
    cdef public bint is_long            # the request in progress has so many elements that it is freed in steps
    cdef readonly object endpoint
    cdef public object principal        # who sends the requests: as TLS or a login says before the first one
    cdef readonly int64_t serial        # no other connection of the process has or had it
    cdef public object call             # the RequestContext of the request in progress, or the steady one that it is
    cdef bint is_steady_share           # it is a SteadyShareRequest
    cdef int steady_shares              # how many of these were answered in this run
    cdef Question question              # what the request in progress asks, if its answer may be kept; else None
    cdef public object charge           # what measures the request in progress against quotas; None: nothing does
    cdef public object on_close         # called once if the client disconnects before the response
    cdef public tuple software          # name and version of the client, as it said with ApiVersions (KIP-511)
    cdef public object client_connection    # what members remember of it; None: none came by it

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
            answered = self.answer_heartbeats(data, self.last_heard_ms)
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

    def unsent_bytes(self):
        """How many bytes of responses the client has not read yet."""
        return self.transport.get_write_buffer_size()

    def pause_writing(self):
        self.congested = True
        self.note_unsent()

    cdef note_unsent(self):
        """Begin to wait for the client to read, and report what it has not read."""
        cdef Py_ssize_t unsent = self.transport.get_write_buffer_size()
        if unsent:
            self.congested_ms = self.now_ms()
            self.congested_bytes = unsent
        self.dispatcher.holds_responses(self, self.kept_bytes(unsent))

    def kept_bytes(self, Py_ssize_t unsent):
        """What is in memory while so many bytes are unsent: a response in one piece is kept whole until its end."""
        return max(unsent, self.whole_bytes) if unsent else 0

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

    cdef inline release_request(self):
        """Free a request with very many elements in steps."""
        if self.is_long:
            self.is_long = False
            messages, self.call.request = [self.call.request], None
            self.release(messages)

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

    cdef end(self):
        self.flush()
        self.transport.close()
        if not self.congested:
            self.note_unsent()

    cdef inline void read_clock(self) noexcept:
        if self.meter is not None:
            self.read_ns = monotonic_ns()

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

    cdef buffer_response(self, bytes response):
        """Buffer an encoded response until `flush`."""
        self.out.append(response)
        self.out_bytes += len(response)

    cdef buffer_apart(self, bytes response, list apart):
        """Buffer an encoded response, from which large records were left `apart`: they are not copied."""
        if not apart:
            self.buffer_response(response)
            return
        for part in frame_parts(response, apart):
            self.out.append(part)
            self.out_bytes += len(part)

    cdef flush(self):
        cdef bint was_congested
        cdef Py_ssize_t size = self.out_bytes
        if self.out:
            parts, self.out, self.out_bytes = self.out, [], 0
            if self.meter is not None:
                self.meter.bytes_out += size
            was_congested = self.congested
            if not was_congested:
                self.whole_bytes = 0
            if len(parts) == 1:
                self.whole_bytes = max(self.whole_bytes, size)
                self.transport.write(parts[0])
            elif size > BYTES_HELD_AT_MOST:
                self.transport.writelines(parts)
            else:
                self.transport.write(b"".join(parts))
            if was_congested:
                self.congested_bytes += size
                self.dispatcher.holds_responses(self, self.kept_bytes(self.transport.get_write_buffer_size()))

    cdef Py_ssize_t answer_heartbeats(self, bytes data, int64_t now_ms) except -1:
        """Handle the heartbeats of live sessions at the start of `data`; return how many bytes of it were handled.

        Responses are written from the receive buffer to the send buffer, without a Python object per message.
        """
        cdef const uint8_t *start = <const uint8_t *>PyBytes_AS_STRING(data)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(data), answered = 0, made = 0, frame_bytes, answer_bytes
        cdef uint8_t answers[HEARTBEAT_ANSWERS_BYTES]
        while size - answered >= LENGTH_BYTES:
            frame_bytes = load_uint32(start + answered)
            if frame_bytes > size - answered - LENGTH_BYTES or frame_bytes > self.splitter.frame_bytes_max:
                break
            answer_bytes = self.answer_heartbeat(start + answered + LENGTH_BYTES, frame_bytes, now_ms, answers + made)
            if answer_bytes == 0:
                break
            made += answer_bytes
            answered += LENGTH_BYTES + frame_bytes
            if made > HEARTBEAT_ANSWERS_BYTES - ANSWER_BYTES_MAX:
                self.buffer_response(PyBytes_FromStringAndSize(<const char *>answers, made))
                made = 0
                if self.out_bytes > BYTES_HELD_AT_MOST:
                    self.flush()
                    if self.congested:
                        break
        if made:
            self.buffer_response(PyBytes_FromStringAndSize(<const char *>answers, made))
        return answered

    cdef Py_ssize_t answer_heartbeat(
        self, const uint8_t *frame, Py_ssize_t frame_bytes, int64_t now_ms, uint8_t *answer
    ) noexcept:
        """Write the response if the frame is a heartbeat of a live session; return its bytes, 0 for any other frame."""
        cdef HeartbeatFields fields
        if not read_heartbeat(frame, frame_bytes, &fields):
            return self.answer_consumer_heartbeat(frame, frame_bytes, now_ms, answer)
        if not self.sessions.heartbeat(
            fields.group_id.data, fields.group_id.size, fields.member_id.data, fields.member_id.size,
            fields.group_instance_id.data, fields.group_instance_id.size, fields.generation_id, now_ms,
            self.serial,
        ):
            return 0
        if self.meter is not None:
            self.meter.requests.heartbeat(HEARTBEAT, fields.api_version)
        return write_heartbeat_answer(answer, &fields)

    cdef Py_ssize_t answer_consumer_heartbeat(
        self, const uint8_t *frame, Py_ssize_t frame_bytes, int64_t now_ms, uint8_t *answer
    ) noexcept:
        """As `answer_heartbeat`, of a heartbeat with an epoch that asks for nothing."""
        cdef ConsumerHeartbeatFields fields
        cdef int32_t heartbeat_interval_ms
        if not read_epoch_heartbeat(frame, frame_bytes, &fields):
            return 0
        heartbeat_interval_ms = self.sessions.consumer_heartbeat(
            &fields, self.client_host_bytes, now_ms, self.serial
        )
        if heartbeat_interval_ms < 0:
            return 0
        if self.meter is not None:
            self.meter.requests.heartbeat(fields.api_key, fields.api_version)
        return write_consumer_heartbeat_answer(answer, &fields, heartbeat_interval_ms)

    cdef bint try_heartbeat(self, bytes frame, int64_t now_ms) except -1:
        """Handle a queued frame if it is a heartbeat of a live session; return False if the dispatcher has to."""
        cdef uint8_t answer[ANSWER_BYTES_MAX]
        cdef Py_ssize_t size = self.answer_heartbeat(
            <const uint8_t *>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame), now_ms, answer
        )
        if size:
            self.buffer_response(PyBytes_FromStringAndSize(<const char *>answer, size))
        return size != 0

    cdef bint try_steady(self, bytes frame, int64_t now_ms) except -1:
        """Handle a queued frame if that takes no message; return False if the dispatcher has to."""
        cdef int api_key = 0
        if PyBytes_GET_SIZE(frame) >= 2:
            api_key = load_uint16(<const uint8_t *>PyBytes_AS_STRING(frame))
        if api_key == OFFSET_COMMIT and self.sessions.commits is not None:
            return self.try_commit(frame, now_ms)
        if api_key == OFFSET_FETCH and self.sessions.fetches is not None:
            return self.try_fetch(frame)
        if (api_key == SHARE_FETCH or api_key == SHARE_ACKNOWLEDGE) and self.sessions.shares is not None:
            return self.try_share(frame, now_ms)
        if api_key in (METADATA, FIND_COORDINATOR, API_VERSIONS) and self.sessions.answers is not None:
            return self.try_repeated(frame, api_key)
        return False

    cdef bint try_repeated(self, bytes frame, int api_key) except -1:
        """Send the answer that somebody else got to the same request."""
        cdef RepeatedAnswers answers = <RepeatedAnswers?>self.sessions.answers
        cdef RepeatedAnswer found = answers.find(frame, self.endpoint)
        if found is None:
            self.question = answers.question(frame, self.endpoint)
            return False
        if found.software is not None:
            self.software = found.software
        if self.meter is not None:
            api_version = load_uint16(<const uint8_t *>PyBytes_AS_STRING(frame) + 2)
            self.meter.requests.without_errors(api_key, api_version, 0, found.error_codes)
        self.buffer_response(found.to(frame))
        return True

    cdef keep_answer(self, bytes frame, int64_t error_codes):
        """Keep the answer to the request in progress for others who ask the same."""
        cdef object call = self.call
        cdef tuple software = None
        if call.route.api.key == API_VERSIONS and call.api_version >= SOFTWARE_NAME_VERSION:
            software = self.software
        (<RepeatedAnswers?>self.sessions.answers).keep(self.question, frame, software, error_codes)

    cdef bint try_fetch(self, bytes frame) except -1:
        """Answer an OffsetFetch of a group for which nothing waits."""
        cdef SteadyFetches fetches = <SteadyFetches?>self.sessions.fetches
        cdef bytes answer = fetches.answer(frame)
        if answer is None:
            return False
        if self.meter is not None:
            self.meter.requests.without_errors(OFFSET_FETCH, fetches.api_version, 0, fetches.error_codes)
        self.buffer_response(answer)
        return True

    cdef bint try_share(self, bytes frame, int64_t now_ms) except -1:
        """Carry out a ShareFetch or ShareAcknowledge of a steady member; the answer may come when it is stored."""
        if self.sessions.leaves_heartbeats or self.sessions.leaves_requests or self.sessions.asks_authorizer:
            return False
        if self.steady_shares >= STEADY_SHARES_AT_ONCE:
            return False                # the handler's steps let others have their turn
        self.steady_shares += 1
        call = self.sessions.shares.read(frame, self, now_ms)
        if call is None:
            return False
        if call.answer is None:
            self.busy = self.is_steady_share = True
            self.began_ns = self.read_ns
            self.call = call
            return True
        if self.meter is not None:
            self.meter.requests.with_errors(call.api_key, call.api_version, 0, call.error_codes)
        self.buffer_response(call.answer)
        return True

    cdef bint try_commit(self, bytes frame, int64_t now_ms) except -1:
        """Queue a frame as it is if it is a commit of a steady member."""
        cdef SteadyCommit commit = (<SteadyCommits?>self.sessions.commits).read(frame, self, now_ms)
        if commit is None:
            return False
        self.busy = True
        self.began_ns = self.read_ns
        self.call = commit
        return True


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
