"""Heartbeat, the most frequent request, without message objects: reads its fields in place and writes its response.

A frame with anything else (a tag, a string over 16 KiB, a truncated frame) has to be decoded in full. The layout is
also defined in `schemas/heartbeat.schema`; a test compares the two in every version.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t
from libc.string cimport memcpy, memset

from _wire.primitives cimport load_uint16, load_uint32

cdef enum:
    HEARTBEAT = 12
    HEARTBEAT_NEWEST = 4
    WITH_THROTTLE_TIME = 1
    WITH_INSTANCE_ID = 3
    FLEXIBLE_HEARTBEAT = 4
    HEARTBEAT_ANSWER_BYTES_MAX = 16     # with its length
    HEADER_BYTES_MIN = 8                # API key, version, correlation id


cdef struct Span:
    const uint8_t *data
    Py_ssize_t size                     # -1 for null


cdef struct HeartbeatFields:
    int16_t api_version
    const uint8_t *correlation_id
    Span group_id
    int32_t generation_id
    Span member_id
    Span group_instance_id


cdef inline bint take_span(const uint8_t **position, const uint8_t *end, bint compact, Span *span) noexcept:
    cdef const uint8_t *p = position[0]
    if compact:
        if p >= end:
            return False
        if p[0] < 0x80:
            span.size = <Py_ssize_t>p[0] - 1
            p += 1
        else:
            if end - p < 2 or p[1] >= 0x80:
                return False
            span.size = ((p[0] & 0x7F) | (<Py_ssize_t>p[1] << 7)) - 1
            p += 2
    else:
        if end - p < 2:
            return False
        span.size = <int16_t>load_uint16(p)
        p += 2
    span.data = p
    if span.size < -1 or span.size > end - p:
        return False
    position[0] = p + (span.size if span.size > 0 else 0)
    return True


cdef inline bint no_tags(const uint8_t **position, const uint8_t *end) noexcept:
    if position[0] >= end or position[0][0] != 0:
        return False
    position[0] += 1
    return True


cdef inline bint read_heartbeat(const uint8_t *frame, Py_ssize_t frame_bytes, HeartbeatFields *fields) noexcept:
    """Read the fields of a frame (without its length field); return false if it may not be a plain Heartbeat.

    Bytes after the last field are ignored, as in every request.
    """
    cdef const uint8_t *p = frame + HEADER_BYTES_MIN
    cdef const uint8_t *end = frame + frame_bytes
    cdef bint flexible
    cdef Span client_id
    if frame_bytes < HEADER_BYTES_MIN or load_uint16(frame) != HEARTBEAT:
        return False
    fields.api_version = <int16_t>load_uint16(frame + 2)
    if fields.api_version < 0 or fields.api_version > HEARTBEAT_NEWEST:
        return False
    flexible = fields.api_version >= FLEXIBLE_HEARTBEAT
    fields.correlation_id = frame + 4
    if not take_span(&p, end, False, &client_id) or (flexible and not no_tags(&p, end)):
        return False
    if not take_span(&p, end, flexible, &fields.group_id) or fields.group_id.size < 0 or end - p < 4:
        return False
    fields.generation_id = <int32_t>load_uint32(p)
    p += 4
    if not take_span(&p, end, flexible, &fields.member_id) or fields.member_id.size < 0:
        return False
    fields.group_instance_id.data, fields.group_instance_id.size = NULL, -1
    if fields.api_version >= WITH_INSTANCE_ID and not take_span(&p, end, flexible, &fields.group_instance_id):
        return False
    return not flexible or no_tags(&p, end)


cdef inline Py_ssize_t write_heartbeat_answer(uint8_t *out, const HeartbeatFields *fields) noexcept:
    """Write a successful response; return its size in bytes, at most HEARTBEAT_ANSWER_BYTES_MAX.

    Length, correlation id, tags (v4), throttle time (v1), error code, tags (v4).
    """
    cdef Py_ssize_t tags = 1 if fields.api_version >= FLEXIBLE_HEARTBEAT else 0
    cdef Py_ssize_t throttle_time = 4 if fields.api_version >= WITH_THROTTLE_TIME else 0
    cdef Py_ssize_t size = 4 + tags + throttle_time + 2 + tags
    memset(out, 0, HEARTBEAT_ANSWER_BYTES_MAX)
    out[3] = <uint8_t>size
    memcpy(out + 4, fields.correlation_id, 4)
    return 4 + size
