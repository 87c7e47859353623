"""Heartbeat, ConsumerGroupHeartbeat, ShareGroupHeartbeat and StreamsGroupHeartbeat, the most frequent requests, without
message objects: their fields are read in place, and their responses written.

A frame with anything else (a tag, a string over 16 KiB, a truncated frame) has to be decoded in full, and so has a
heartbeat with an epoch that says more than that its member is alive and what it owns. The layouts are also defined in
`schemas/heartbeat.schema`, `consumer_group_heartbeat.schema`, `share_group_heartbeat.schema` and
`streams_group_heartbeat.schema`; a test compares them in every version.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy, memset

from _wire.big_endian cimport load_uint16, load_uint32, store_uint32

cdef enum:
    HEARTBEAT = 12
    HEARTBEAT_NEWEST = 4
    WITH_THROTTLE_TIME = 1
    WITH_INSTANCE_ID = 3
    FLEXIBLE_HEARTBEAT = 4
    HEARTBEAT_ANSWER_BYTES_MAX = 16     # with its length
    HEADER_BYTES_MIN = 8                # API key, version, correlation id
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_HEARTBEAT_NEWEST = 1
    WITH_REGEX = 1
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_HEARTBEAT_VERSION = 1   # the only one
    ASKS_FOR_NOTHING_BYTES = 8          # of version 1: from the rack to the assignor; version 0 has no regex
    OWNED_ELEMENTS_MAX = 100            # topics and partitions: no request may be limited to fewer elements
    TOPIC_ID_BYTES = 16
    PARTITION_BYTES = 4
    CONSUMER_MEMBER_ID_BYTES_MAX = 126  # its length plus one is one byte
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_HEARTBEAT_VERSION = 0     # the only one
    SAYS_NOTHING_BYTES = 16             # of a StreamsGroupHeartbeat: from the instance id to the shutdown
    ANSWER_BYTES_MAX = 176              # of each of the APIs, with its length


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


cdef struct ConsumerHeartbeatFields:    # of a ShareGroupHeartbeat and a StreamsGroupHeartbeat, too
    int16_t api_key
    int16_t api_version
    const uint8_t *correlation_id
    Span client_id
    Span group_id
    Span member_id
    int32_t member_epoch
    int32_t endpoint_epoch              # of a StreamsGroupHeartbeat; else 0
    Span instance_id


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


cdef inline bint pass_owned(const uint8_t **position, const uint8_t *end) noexcept:
    """Pass over the partitions that a member says it owns, null if it does not say; false if they are too many."""
    cdef int left = OWNED_ELEMENTS_MAX
    cdef int topics, partitions
    cdef const uint8_t *p = position[0]
    if p >= end or p[0] > OWNED_ELEMENTS_MAX + 1:
        return False
    topics = p[0] - 1
    p += 1
    left -= topics
    while topics > 0:
        if end - p <= TOPIC_ID_BYTES:
            return False
        partitions = p[TOPIC_ID_BYTES] - 1
        left -= partitions
        if partitions < 0 or left < 0 or end - p <= TOPIC_ID_BYTES + 1 + partitions * PARTITION_BYTES:
            return False
        p += TOPIC_ID_BYTES + 1 + partitions * PARTITION_BYTES
        if not no_tags(&p, end):
            return False
        topics -= 1
    position[0] = p
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


cdef inline bint read_member_epoch(
    const uint8_t **position, const uint8_t *end, const uint8_t *frame, ConsumerHeartbeatFields *fields
) noexcept:
    """Read what the heartbeats with an epoch begin with, from the client id to the epoch."""
    fields.correlation_id = frame + 4
    fields.endpoint_epoch = 0
    if not take_span(position, end, False, &fields.client_id) or fields.client_id.size < 0:
        return False
    if not no_tags(position, end) or not take_span(position, end, True, &fields.group_id) or fields.group_id.size < 0:
        return False
    if not take_span(position, end, True, &fields.member_id) or fields.member_id.size < 0 or end - position[0] < 4:
        return False
    fields.member_epoch = <int32_t>load_uint32(position[0])
    position[0] += 4
    return True


cdef inline bint read_consumer_heartbeat(
    const uint8_t *frame, Py_ssize_t frame_bytes, ConsumerHeartbeatFields *fields
) noexcept:
    """As `read_heartbeat`, of a ConsumerGroupHeartbeat; false too if it says anything but what its member owns.

    Rack, names, regular expression and assignor are null, and the rebalance timeout is -1: unchanged.
    """
    cdef const uint8_t *p = frame + HEADER_BYTES_MIN
    cdef const uint8_t *end = frame + frame_bytes
    cdef Py_ssize_t nothing_bytes
    if frame_bytes < HEADER_BYTES_MIN or load_uint16(frame) != CONSUMER_GROUP_HEARTBEAT:
        return False
    fields.api_key = CONSUMER_GROUP_HEARTBEAT
    fields.api_version = <int16_t>load_uint16(frame + 2)
    if fields.api_version < 0 or fields.api_version > CONSUMER_GROUP_HEARTBEAT_NEWEST:
        return False
    if not read_member_epoch(&p, end, frame, fields) or not take_span(&p, end, True, &fields.instance_id):
        return False
    nothing_bytes = ASKS_FOR_NOTHING_BYTES if fields.api_version >= WITH_REGEX else ASKS_FOR_NOTHING_BYTES - 1
    if end - p < nothing_bytes or memcmp(p, b"\0\xff\xff\xff\xff\0\0\0", nothing_bytes) != 0:
        return False
    p += nothing_bytes
    return pass_owned(&p, end) and no_tags(&p, end)


cdef inline bint read_share_heartbeat(
    const uint8_t *frame, Py_ssize_t frame_bytes, ConsumerHeartbeatFields *fields
) noexcept:
    """As `read_heartbeat`, of a ShareGroupHeartbeat; false too if it says anything: rack and names are null."""
    cdef const uint8_t *p = frame + HEADER_BYTES_MIN
    cdef const uint8_t *end = frame + frame_bytes
    if frame_bytes < HEADER_BYTES_MIN or load_uint16(frame) != SHARE_GROUP_HEARTBEAT:
        return False
    fields.api_key = SHARE_GROUP_HEARTBEAT
    fields.api_version = <int16_t>load_uint16(frame + 2)
    fields.instance_id.data, fields.instance_id.size = NULL, -1
    if fields.api_version != SHARE_GROUP_HEARTBEAT_VERSION or not read_member_epoch(&p, end, frame, fields):
        return False
    return end - p >= 3 and memcmp(p, b"\0\0\0", 3) == 0


cdef inline bint read_streams_heartbeat(
    const uint8_t *frame, Py_ssize_t frame_bytes, ConsumerHeartbeatFields *fields
) noexcept:
    """As `read_heartbeat`, of a StreamsGroupHeartbeat; false too if it says anything but which endpoints it knows.

    Topology, tasks and all else that may be null is null, and the rebalance timeout is -1: unchanged.
    """
    cdef const uint8_t *p = frame + HEADER_BYTES_MIN
    cdef const uint8_t *end = frame + frame_bytes
    if frame_bytes < HEADER_BYTES_MIN or load_uint16(frame) != STREAMS_GROUP_HEARTBEAT:
        return False
    fields.api_key = STREAMS_GROUP_HEARTBEAT
    fields.api_version = <int16_t>load_uint16(frame + 2)
    fields.instance_id.data, fields.instance_id.size = NULL, -1
    if fields.api_version != STREAMS_GROUP_HEARTBEAT_VERSION or not read_member_epoch(&p, end, frame, fields):
        return False
    if end - p < 4 + SAYS_NOTHING_BYTES:
        return False
    fields.endpoint_epoch = <int32_t>load_uint32(p)
    p += 4
    if memcmp(p, b"\0\0\xff\xff\xff\xff\xff\0\0\0\0\xff\0\0\0\0", SAYS_NOTHING_BYTES) != 0:
        return False
    p += SAYS_NOTHING_BYTES
    return no_tags(&p, end)


cdef inline bint read_epoch_heartbeat(
    const uint8_t *frame, Py_ssize_t frame_bytes, ConsumerHeartbeatFields *fields
) noexcept:
    """Read a heartbeat with an epoch of one of the APIs."""
    return (
        read_consumer_heartbeat(frame, frame_bytes, fields)
        or read_share_heartbeat(frame, frame_bytes, fields)
        or read_streams_heartbeat(frame, frame_bytes, fields)
    )


cdef inline Py_ssize_t write_consumer_heartbeat_answer(
    uint8_t *out, const ConsumerHeartbeatFields *fields, int32_t heartbeat_interval_ms
) noexcept:
    """Write a successful response of each of the APIs; return its size in bytes, at most ANSWER_BYTES_MAX.

    Length, correlation id, tags, throttle time, error code, no error message, member id, member epoch, heartbeat
    interval, no assignment, tags. In place of the assignment a streams group has: recovery lag, interval of task
    offsets, an empty status, no tasks of three sorts, the epoch of the endpoints, no endpoints. The member id has
    CONSUMER_MEMBER_ID_BYTES_MAX at most.
    """
    cdef uint8_t *p = out + 4
    memcpy(p, fields.correlation_id, 4)
    memset(p + 4, 0, 8)
    p[12] = <uint8_t>(fields.member_id.size + 1)
    memcpy(p + 13, fields.member_id.data, fields.member_id.size)
    p += 13 + fields.member_id.size
    store_uint32(p, <uint32_t>fields.member_epoch)
    store_uint32(p + 4, <uint32_t>heartbeat_interval_ms)
    p += 8
    if fields.api_key == STREAMS_GROUP_HEARTBEAT:
        memset(p, 0, 18)
        p[8] = 1
        store_uint32(p + 12, <uint32_t>fields.endpoint_epoch)
        p += 18
    else:
        p[0] = 0xFF
        p[1] = 0
        p += 2
    store_uint32(out, <uint32_t>(p - out - 4))
    return p - out
