"""ShareFetch and ShareAcknowledge without message objects: their fields are read in place, and responses are written.

A frame with anything unusual has to be decoded in full: a tag, a null, a string over 16 KiB, text that is not ASCII, a
truncated frame, a session that is opened or closed, partitions that leave the session, locks that are renewed. The
layouts are also defined in `schemas/share_fetch.schema` and `share_acknowledge.schema`; a test compares them in every
version.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from _wire.commit_frames cimport CORRELATION_ID_AT, UUID_BYTES, body_of, take_count
from _wire.heartbeat_frames cimport Span, no_tags, take_span
from _wire.big_endian cimport load_uint16, load_uint32, load_uint64, store_uint16, store_uint32, store_uint64
from _wire.texts cimport is_ascii
from _wire.unsigned_varints cimport put_varint, varint_bytes

cdef enum:
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    SHARE_NEWEST = 2                    # of both APIs; the oldest one is 1
    WITH_RENEWAL = 2                    # and with `share_acquire_mode`
    TERMS_BYTES = 20                    # of a ShareFetch: from `max_wait_ms` to `batch_size`
    SHARE_BATCH_BYTES = 16              # first and last offset
    ANSWER_BEGIN_BYTES = 20             # length, correlation id, tags, throttle time, error code and message, lock
    ANSWER_END_BYTES = 2                # no node endpoints, no tags
    FETCHED_BYTES = 19                  # of a partition before its records
    ACQUIRED_BYTES = 19
    ACKNOWLEDGED_BYTES = 17             # of a partition in the response to a ShareAcknowledge


cdef struct ShareFields:
    int api_key
    int16_t api_version
    const uint8_t *correlation_id
    Span group_id
    Span member_id
    int32_t session_epoch
    int32_t max_wait_ms                 # from here on of a ShareFetch
    int32_t min_bytes
    int32_t max_bytes
    int32_t max_records
    int32_t batch_size
    bint is_record_limit
    int32_t topics
    const uint8_t *first_topic
    const uint8_t *end                  # of the frame


cdef struct ShareTopic:
    const uint8_t *topic_id
    int32_t partitions


cdef struct ShareBatches:
    int32_t partition
    int32_t count
    const uint8_t *first


cdef struct ShareBatch:
    int64_t first_offset
    int64_t last_offset
    const int8_t *types
    int32_t type_count


cdef inline bint read_share(const uint8_t *frame, Py_ssize_t frame_bytes, ShareFields *fields) noexcept:
    """Read the fields before the topics of a frame (without its length field); false if it may be anything unusual."""
    cdef const uint8_t *end = frame + frame_bytes
    cdef const uint8_t *p
    if frame_bytes < 2:
        return False
    fields.api_key = load_uint16(frame)
    p = body_of(frame, end, fields.api_key, SHARE_NEWEST, &fields.api_version)
    if p == NULL or not no_tags(&p, end):
        return False
    fields.correlation_id, fields.end = frame + CORRELATION_ID_AT, end
    if not take_name(&p, end, &fields.group_id) or not take_name(&p, end, &fields.member_id) or end - p < 4:
        return False
    fields.session_epoch = <int32_t>load_uint32(p)
    p += 4
    if fields.session_epoch <= 0:
        return False
    if fields.api_key == SHARE_FETCH and not read_terms(&p, fields):
        return False
    if fields.api_version >= WITH_RENEWAL:
        if p >= end or p[0] != 0:
            return False                # locks are renewed
        p += 1
    if not take_count(&p, end, True, &fields.topics):
        return False
    fields.first_topic = p
    return True


cdef inline bint take_name(const uint8_t **position, const uint8_t *end, Span *span) noexcept:
    return take_span(position, end, True, span) and span.size >= 0 and is_ascii(span.data, span.size)


cdef inline bint read_terms(const uint8_t **position, ShareFields *fields) noexcept:
    cdef const uint8_t *p = position[0]
    if fields.end - p < TERMS_BYTES + 1:
        return False
    fields.max_wait_ms = <int32_t>load_uint32(p)
    fields.min_bytes = <int32_t>load_uint32(p + 4)
    fields.max_bytes = <int32_t>load_uint32(p + 8)
    fields.max_records = <int32_t>load_uint32(p + 12)
    fields.batch_size = <int32_t>load_uint32(p + 16)
    p += TERMS_BYTES
    fields.is_record_limit = False
    if fields.api_version >= WITH_RENEWAL:
        fields.is_record_limit = p[0] == 1
        p += 1
    position[0] = p
    return True


cdef inline bint read_share_topic(const uint8_t **position, const ShareFields *fields, ShareTopic *topic) noexcept:
    """Read what comes before the partitions of a topic."""
    if fields.end - position[0] < UUID_BYTES:
        return False
    topic.topic_id = position[0]
    position[0] += UUID_BYTES
    return take_count(position, fields.end, True, &topic.partitions)


cdef inline bint read_share_partition(
    const uint8_t **position, const ShareFields *fields, ShareBatches *batches
) noexcept:
    """Read a partition, and pass over its batches."""
    cdef ShareBatch batch
    if fields.end - position[0] < 4:
        return False
    batches.partition = <int32_t>load_uint32(position[0])
    position[0] += 4
    if not take_count(position, fields.end, True, &batches.count):
        return False
    batches.first = position[0]
    for _ in range(batches.count):
        if not read_share_batch(position, fields, &batch):
            return False
    return no_tags(position, fields.end)


cdef inline bint read_share_batch(const uint8_t **position, const ShareFields *fields, ShareBatch *batch) noexcept:
    if fields.end - position[0] < SHARE_BATCH_BYTES:
        return False
    batch.first_offset = <int64_t>load_uint64(position[0])
    batch.last_offset = <int64_t>load_uint64(position[0] + 8)
    position[0] += SHARE_BATCH_BYTES
    if not take_count(position, fields.end, True, &batch.type_count) or fields.end - position[0] < batch.type_count:
        return False
    batch.types = <const int8_t *>position[0]
    position[0] += batch.type_count
    return no_tags(position, fields.end)


cdef inline bint end_share(const uint8_t *p, const ShareFields *fields) noexcept:
    """Whether nothing leaves the session, and no tag follows."""
    if fields.api_key == SHARE_FETCH:
        if p >= fields.end or p[0] != 1:
            return False
        p += 1
    return no_tags(&p, fields.end)


# ---------------------------------------------------------------------------------------------------------- the answer

cdef inline bint has_lock_timeout(const ShareFields *fields) noexcept:
    return fields.api_key == SHARE_FETCH or fields.api_version >= WITH_RENEWAL


cdef inline Py_ssize_t answer_ends(const ShareFields *fields, Py_ssize_t topics) noexcept:
    """Bytes of a response frame without its topics."""
    return ANSWER_BEGIN_BYTES - (0 if has_lock_timeout(fields) else 4) + varint_bytes(topics + 1) + ANSWER_END_BYTES


cdef inline uint8_t *put_share_begin(
    uint8_t *out, const ShareFields *fields, Py_ssize_t answer_bytes, int32_t lock_timeout_ms, Py_ssize_t topics
) noexcept:
    """Length, correlation id, tags, throttle time, no error, how long records are locked, number of topics."""
    memset(out, 0, ANSWER_BEGIN_BYTES)
    store_uint32(out, <uint32_t>(answer_bytes - 4))
    memcpy(out + 4, fields.correlation_id, 4)
    out += ANSWER_BEGIN_BYTES - 4
    if has_lock_timeout(fields):
        store_uint32(out, <uint32_t>lock_timeout_ms)
        out += 4
    return put_varint(out, topics + 1)


cdef inline uint8_t *put_share_end(uint8_t *out, const char *endpoint, Py_ssize_t endpoint_bytes) noexcept:
    """One node, encoded as an element of `node_endpoints`, or none if it has no bytes; then no tags."""
    out[0] = 2 if endpoint_bytes else 1
    memcpy(out + 1, endpoint, endpoint_bytes)
    out += endpoint_bytes
    out[1] = 0
    return out + ANSWER_END_BYTES


cdef inline uint8_t *put_fetched(
    uint8_t *out, int32_t partition, int error, int acknowledge_error, Py_ssize_t records_bytes
) noexcept:
    """A partition of the response to a ShareFetch up to the length of its records."""
    memset(out, 0, FETCHED_BYTES)       # no messages, leader 0 in epoch 0, no tags
    store_uint32(out, <uint32_t>partition)
    store_uint16(out + 4, <uint16_t><int16_t>error)
    store_uint16(out + 7, <uint16_t><int16_t>acknowledge_error)
    return put_varint(out + FETCHED_BYTES, records_bytes + 1)


cdef inline uint8_t *put_acquired(uint8_t *out, int64_t first, int64_t last, int deliveries) noexcept:
    store_uint64(out, <uint64_t>first)
    store_uint64(out + 8, <uint64_t>last)
    store_uint16(out + 16, <uint16_t>deliveries)
    out[18] = 0
    return out + ACQUIRED_BYTES


cdef inline uint8_t *put_acknowledged(
    uint8_t *out, int32_t partition, int error, int32_t leader_id, int32_t leader_epoch
) noexcept:
    """A partition of the response to a ShareAcknowledge."""
    memset(out, 0, ACKNOWLEDGED_BYTES)  # no message, no tags of the leader or the partition
    store_uint32(out, <uint32_t>partition)
    store_uint16(out + 4, <uint16_t><int16_t>error)
    store_uint32(out + 7, <uint32_t>leader_id)
    store_uint32(out + 11, <uint32_t>leader_epoch)
    return out + ACKNOWLEDGED_BYTES
