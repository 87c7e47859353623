"""OffsetFetch of one group without message objects: its fields are read in place, and its response is written.

A frame with anything unusual has to be decoded in full: several groups, all topics, a tag, a group id that is not
ASCII, a truncated frame. The layout is also defined in `schemas/offset_fetch.schema`; a test compares them in every
version.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from _wire.commit_frames cimport CORRELATION_ID_AT, body_of, count_bytes, put_count, take_count
from _wire.heartbeat_frames cimport Span, no_tags, take_span
from _wire.big_endian cimport load_uint32, store_uint16, store_uint32, store_uint64
from _wire.texts cimport is_ascii

cdef enum:
    OFFSET_FETCH = 9
    OFFSET_FETCH_NEWEST = 10
    FETCH_WITH_ERROR = 2
    FETCH_WITH_THROTTLE_TIME = 3
    FETCH_WITH_LEADER_EPOCH = 5
    FLEXIBLE_FETCH = 6
    WITH_REQUIRE_STABLE = 7
    WITH_GROUPS = 8
    WITH_MEMBER = 9
    FETCH_WITH_TOPIC_ID = 10
    TOPIC_UUID_BYTES = 16
    FETCH_ANSWER_ENDS_BYTES = 40        # of a response at most, without the group id and the topics


cdef struct FetchFields:
    int16_t api_version
    bint is_flexible
    const uint8_t *correlation_id
    Span group_id
    Span member_id                      # -1 where no member asks
    int32_t member_epoch
    int32_t topics
    const uint8_t *first_topic
    const uint8_t *end                  # of the frame


cdef struct FetchedTopic:
    Span name                           # from version 10 on the 16 bytes of its id
    int32_t partitions
    const uint8_t *indexes              # four bytes each


cdef inline bint read_offset_fetch(const uint8_t *frame, Py_ssize_t frame_bytes, FetchFields *fields) noexcept:
    """Read the fields before the topics of a frame (without its length field); false if it may be anything unusual."""
    cdef const uint8_t *end = frame + frame_bytes
    cdef const uint8_t *p = body_of(frame, end, OFFSET_FETCH, OFFSET_FETCH_NEWEST, &fields.api_version)
    if p == NULL:
        return False
    fields.correlation_id, fields.is_flexible = frame + CORRELATION_ID_AT, fields.api_version >= FLEXIBLE_FETCH
    if fields.is_flexible and not no_tags(&p, end):
        return False
    if fields.api_version >= WITH_GROUPS:
        if p >= end or p[0] != 2:       # one group
            return False
        p += 1
    if not take_span(&p, end, fields.is_flexible, &fields.group_id) or fields.group_id.size < 0:
        return False
    if fields.group_id.size and not is_ascii(fields.group_id.data, fields.group_id.size):
        return False
    fields.member_id.data, fields.member_id.size, fields.member_epoch = NULL, -1, -1
    if fields.api_version >= WITH_MEMBER:
        if not take_span(&p, end, True, &fields.member_id) or end - p < 4:
            return False
        if fields.member_id.size > 0 and not is_ascii(fields.member_id.data, fields.member_id.size):
            return False
        fields.member_epoch = <int32_t>load_uint32(p)
        p += 4
    if not take_count(&p, end, fields.is_flexible, &fields.topics) or fields.topics == 0:
        return False
    fields.first_topic = p
    fields.end = end
    return True


cdef inline bint read_fetched_topic(const uint8_t **position, const FetchFields *fields, FetchedTopic *topic) noexcept:
    """Read a topic; false too if it has no partitions."""
    if fields.api_version >= FETCH_WITH_TOPIC_ID:
        if fields.end - position[0] < TOPIC_UUID_BYTES:
            return False
        topic.name.data, topic.name.size = position[0], TOPIC_UUID_BYTES
        position[0] += TOPIC_UUID_BYTES
    elif not take_span(position, fields.end, fields.is_flexible, &topic.name) or topic.name.size < 0:
        return False
    if not take_count(position, fields.end, fields.is_flexible, &topic.partitions) or topic.partitions == 0:
        return False
    if topic.partitions > (fields.end - position[0]) // 4:
        return False
    topic.indexes = position[0]
    position[0] += 4 * topic.partitions
    return not fields.is_flexible or no_tags(position, fields.end)


cdef inline bint end_offset_fetch(const uint8_t *p, const FetchFields *fields) noexcept:
    """Whether what follows the topics is as it should be. Whether offsets have to be stable is not looked at."""
    if fields.api_version >= WITH_GROUPS and not no_tags(&p, fields.end):
        return False
    if fields.api_version >= WITH_REQUIRE_STABLE:
        if fields.end - p < 1:
            return False
        p += 1
    return not fields.is_flexible or no_tags(&p, fields.end)


# ---------------------------------------------------------------------------------------------------------- the answer

cdef inline uint8_t *put_text(uint8_t *out, bint compact, const uint8_t *text, Py_ssize_t size) noexcept:
    if compact:
        out = put_count(out, True, <int32_t>size)
    else:
        store_uint16(out, <int16_t>size)
        out += 2
    memcpy(out, text, size)
    return out + size


cdef inline Py_ssize_t fetched_topic_bytes(const FetchFields *fields, const FetchedTopic *topic) noexcept:
    """Of a topic in a response, at most, without the metadata of its partitions."""
    return 3 + topic.name.size + 5 + topic.partitions * 24


cdef inline uint8_t *put_fetch_begin(uint8_t *out, const FetchFields *fields) noexcept:
    """Length (which is set at the end), correlation id, tags (v6), throttle time (v3), the group (v8)."""
    memcpy(out + 4, fields.correlation_id, 4)
    out += 8
    memset(out, 0, 5)
    out += (1 if fields.is_flexible else 0) + (4 if fields.api_version >= FETCH_WITH_THROTTLE_TIME else 0)
    if fields.api_version >= WITH_GROUPS:
        out[0] = 2
        out = put_text(out + 1, True, fields.group_id.data, fields.group_id.size)
    return put_count(out, fields.is_flexible, fields.topics)


cdef inline uint8_t *put_fetched_topic(uint8_t *out, const FetchFields *fields, const FetchedTopic *topic) noexcept:
    """Its name or id, and the number of its partitions."""
    if fields.api_version >= FETCH_WITH_TOPIC_ID:
        memcpy(out, topic.name.data, TOPIC_UUID_BYTES)
        out += TOPIC_UUID_BYTES
    else:
        out = put_text(out, fields.is_flexible, topic.name.data, topic.name.size)
    return put_count(out, fields.is_flexible, topic.partitions)


cdef inline uint8_t *put_fetched_partition(
    uint8_t *out, const FetchFields *fields, const uint8_t *index, int64_t offset, int32_t leader_epoch,
    const uint8_t *metadata, Py_ssize_t metadata_bytes,
) noexcept:
    """Its index, offset, leader epoch (v5), metadata, no error, and tags (v6)."""
    memcpy(out, index, 4)
    store_uint64(out + 4, <uint64_t>offset)
    out += 12
    if fields.api_version >= FETCH_WITH_LEADER_EPOCH:
        store_uint32(out, <uint32_t>leader_epoch)
        out += 4
    out = put_text(out, fields.is_flexible, metadata, metadata_bytes)
    out[0] = out[1] = 0
    if fields.is_flexible:
        out[2] = 0
        return out + 3
    return out + 2


cdef inline uint8_t *put_fetch_end(uint8_t *out, const FetchFields *fields) noexcept:
    """No error (v2), tags of the group (v8), tags (v6)."""
    memset(out, 0, 4)
    out += 2 if fields.api_version >= FETCH_WITH_ERROR else 0
    return out + (1 if fields.api_version >= WITH_GROUPS else 0) + (1 if fields.is_flexible else 0)
