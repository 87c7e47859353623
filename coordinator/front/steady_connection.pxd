"""What a connection handles in C, as C fields."""

from libc.stdint cimport int64_t, uint8_t

from coordinator.front.buffered_connection cimport BufferedConnection
from coordinator.front.repeated_answers cimport Question
from coordinator.groups.sessions cimport SessionTable


cdef class SteadyConnection(BufferedConnection):
    cdef SessionTable sessions
    cdef readonly object endpoint
    cdef bytes client_host_bytes
    cdef readonly int64_t serial        # no other connection of the process has or had it
    cdef public tuple software          # name and version of the client, as it said with ApiVersions (KIP-511)
    cdef bint busy                      # a request is in progress; later frames stay undecoded
    cdef public object call             # the RequestContext of the request in progress, or the steady one that it is
    cdef bint is_steady_share           # it is a SteadyShareRequest
    cdef int steady_shares              # how many of these were answered in this run
    cdef Question question              # what the request in progress asks, if its answer may be kept; else None
    cdef int64_t read_ns                # the last reading of the clock: of received data, or of the last response
    cdef int64_t began_ns               # when the request in progress came

    cdef Py_ssize_t answer_heartbeats(self, bytes data, Py_ssize_t frame_bytes_max, int64_t now_ms) except -1
    cdef Py_ssize_t answer_heartbeat(
        self, const uint8_t *frame, Py_ssize_t frame_bytes, int64_t now_ms, uint8_t *answer
    ) noexcept
    cdef Py_ssize_t answer_consumer_heartbeat(
        self, const uint8_t *frame, Py_ssize_t frame_bytes, int64_t now_ms, uint8_t *answer
    ) noexcept
    cdef bint try_heartbeat(self, bytes frame, int64_t now_ms) except -1
    cdef bint try_steady(self, bytes frame, int64_t now_ms) except -1
    cdef bint try_repeated(self, bytes frame, int api_key) except -1
    cdef keep_answer(self, bytes frame, int64_t error_codes)
    cdef bint try_fetch(self, bytes frame) except -1
    cdef bint try_share(self, bytes frame, int64_t now_ms) except -1
    cdef bint try_commit(self, bytes frame, int64_t now_ms) except -1
