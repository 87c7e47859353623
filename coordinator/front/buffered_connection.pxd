"""The sending half of a connection, as C fields."""

from libc.stdint cimport int64_t

from coordinator.metrics.request_meter cimport ListenerMeter

cdef enum:
    BYTES_HELD_AT_MOST = 1 << 16        # of buffered responses; above this they are written before the iteration ends


cdef class BufferedConnection:
    cdef object dispatcher
    cdef object now_ms
    cdef object transport
    cdef list out
    cdef Py_ssize_t out_bytes
    cdef bint closing
    cdef bint congested                 # the send buffer is full: the client does not read its responses
    cdef ListenerMeter meter            # None: nothing is counted, and no clock is read
    cdef readonly int64_t congested_ms  # since when the client has to read what it was sent
    cdef readonly Py_ssize_t congested_bytes    # what it had to read then, and what was sent since
    cdef Py_ssize_t whole_bytes         # of the largest response in one piece that was written since all was read

    cdef note_unsent(self)
    cdef buffer_response(self, bytes response)
    cdef buffer_apart(self, bytes response, list apart)
    cdef flush(self)
    cdef end(self)
