"""What a connection handles in C, without the dispatcher: what steady members ask again and again.

Heartbeats of live sessions are answered from the receive buffer. Commits of steady members are read here, and wait in
their shards; OffsetFetch of a group for which nothing waits is answered here, and so are questions that were answered
before. What steady members of share groups fetch and acknowledge is left to who knows the records.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t

from _wire.commit_frames cimport OFFSET_COMMIT
from _wire.heartbeat_frames cimport (
    ANSWER_BYTES_MAX, HEARTBEAT, ConsumerHeartbeatFields, HeartbeatFields,
    read_epoch_heartbeat, read_heartbeat, write_consumer_heartbeat_answer, write_heartbeat_answer,
)
from _wire.offset_fetch_frames cimport OFFSET_FETCH
from _wire.big_endian cimport load_uint16, load_uint32
from _wire.share_frames cimport SHARE_ACKNOWLEDGE, SHARE_FETCH
from coordinator.front.buffered_connection cimport BYTES_HELD_AT_MOST
from coordinator.front.repeated_answers cimport RepeatedAnswer, RepeatedAnswers
from coordinator.groups.steady_commits cimport SteadyCommit, SteadyCommits
from coordinator.groups.steady_fetches cimport SteadyFetches

from coordinator.front.api_versions import SOFTWARE_NAME_VERSION

cdef enum:
    HEARTBEAT_ANSWERS_BYTES = 4096      # the size of the buffer for heartbeat responses
    STEADY_SHARES_AT_ONCE = 10          # of a client that does not wait for its answers
    LENGTH_BYTES = 4
    METADATA = 3
    FIND_COORDINATOR = 10
    API_VERSIONS = 18


cdef class SteadyConnection(BufferedConnection):
    cdef Py_ssize_t answer_heartbeats(self, bytes data, Py_ssize_t frame_bytes_max, int64_t now_ms) except -1:
        """Handle the heartbeats of live sessions at the start of `data`; return how many bytes of it were handled.

        Responses are written from the receive buffer to the send buffer, without a Python object per message.
        """
        cdef const uint8_t *start = <const uint8_t *>PyBytes_AS_STRING(data)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(data), answered = 0, made = 0, frame_bytes, answer_bytes
        cdef uint8_t answers[HEARTBEAT_ANSWERS_BYTES]
        while size - answered >= LENGTH_BYTES:
            frame_bytes = load_uint32(start + answered)
            if frame_bytes > size - answered - LENGTH_BYTES or frame_bytes > frame_bytes_max:
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
