# cython: language_level=3
"""Our codec called as a compiled server calls it, so that the caller is not what is measured."""

from libc.stdint cimport int16_t

from _wire.headers cimport encode_response
from _wire.heartbeat_frames cimport (
    HEARTBEAT_ANSWER_BYTES_MAX, HeartbeatFields, read_heartbeat, write_heartbeat_answer,
)
from _wire.messages.heartbeat cimport decode_heartbeat_request
from _wire.messages.join_group cimport decode_join_group_request
from _wire.messages.metadata cimport decode_metadata_request
from _wire.messages.offset_commit cimport decode_offset_commit_request
from _wire.messages.offset_fetch cimport decode_offset_fetch_request
from _wire.messages.sync_group cimport decode_sync_group_request
from _wire.reader cimport Reader, reader_over
from _wire.structs cimport Message
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t

from coordinator.groups.sessions cimport SessionTable

ctypedef Message (*Decoder)(Reader *r, int16_t version)


def decode_and_encode(int key, bytes body not None, int16_t version, Message response not None, int times):
    """Decode the body and encode the response, `times` times over."""
    cdef Reader reader
    cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(body)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    cdef Decoder decode
    cdef int i
    if key == 12:
        decode = <Decoder>decode_heartbeat_request
    elif key == 11:
        decode = <Decoder>decode_join_group_request
    elif key == 14:
        decode = <Decoder>decode_sync_group_request
    elif key == 8:
        decode = <Decoder>decode_offset_commit_request
    elif key == 9:
        decode = <Decoder>decode_offset_fetch_request
    elif key == 3:
        decode = <Decoder>decode_metadata_request
    else:
        raise ValueError(f"API key {key} is not measured")
    for i in range(times):
        reader_over(&reader, data, size, b"bench", version)
        decode(&reader, version)
        encode_response(i, response, version)


def answer_heartbeats_in_place(bytes frame not None, SessionTable sessions, int64_t now_ms, int times):
    """Read a Heartbeat's frame (without its length) and write its answer, `times` times over, as a connection does.

    With `sessions`, the member's session is found and renewed too. Returns how many were answered.
    """
    cdef uint8_t answers[4096]
    cdef Py_ssize_t made = 0
    cdef HeartbeatFields fields
    cdef int answered = 0
    while answered < times:
        if not read_heartbeat(<const uint8_t *>PyBytes_AS_STRING(frame), PyBytes_GET_SIZE(frame), &fields):
            break
        if sessions is not None and not sessions.heartbeat(
            fields.group_id.data, fields.group_id.size, fields.member_id.data, fields.member_id.size,
            fields.group_instance_id.data, fields.group_instance_id.size, fields.generation_id, now_ms, 0,
        ):
            break
        made += write_heartbeat_answer(answers + made, &fields)
        if made > 4096 - HEARTBEAT_ANSWER_BYTES_MAX:
            made = 0
        answered += 1
    return answered
