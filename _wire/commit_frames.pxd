"""OffsetCommit without message objects: its fields are read in place, and its response is written.

A frame with anything unusual has to be decoded in full: a tag, a null array, a retention time, a string over 16 KiB,
text that is not ASCII, a truncated frame. The layout is also defined in `schemas/offset_commit.schema`; a test compares
them in every version.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from _wire.heartbeat_frames cimport HEADER_BYTES_MIN, Span, no_tags, take_span
from _wire.big_endian cimport load_uint16, load_uint32, load_uint64, store_uint32
from _wire.texts cimport is_ascii

cdef enum:
    OFFSET_COMMIT = 8
    OLDEST_OF_OFFSETS = 1               # version 0 of both APIs was about offsets in ZooKeeper
    OFFSET_COMMIT_NEWEST = 10
    WITH_COMMIT_TIMESTAMP = 1           # in this version only
    WITH_RETENTION_TIME = 2             # up to WITH_RETENTION_TIME_NEWEST
    WITH_RETENTION_TIME_NEWEST = 4
    COMMIT_WITH_THROTTLE_TIME = 3
    WITH_LEADER_EPOCH = 6
    COMMIT_WITH_INSTANCE_ID = 7
    FLEXIBLE_COMMIT = 8
    WITH_TOPIC_ID = 10
    UUID_BYTES = 16
    CORRELATION_ID_AT = 4
    ANSWER_HEADER_BYTES_MAX = 16        # length, correlation id, tags, throttle time, number of topics


cdef struct CommitFields:
    int16_t api_version
    bint is_flexible
    const uint8_t *correlation_id
    Span group_id
    int32_t generation_id               # or the member epoch
    Span member_id
    Span instance_id
    int32_t topics
    const uint8_t *first_topic
    const uint8_t *end                  # of the frame


cdef struct CommittedTopic:
    Span name                           # from version 10 on the 16 bytes of its id
    int32_t partitions


cdef struct CommittedPartition:
    int32_t index
    int64_t offset
    int32_t leader_epoch
    int64_t timestamp_ms                # -1: when it is decided
    Span metadata


cdef inline bint take_count(const uint8_t **position, const uint8_t *end, bint compact, int32_t *count) noexcept:
    """The number of elements of an array that is not null; of a compact one, below 2^14."""
    cdef const uint8_t *p = position[0]
    if not compact:
        if end - p < 4:
            return False
        count[0] = <int32_t>load_uint32(p)
        position[0] = p + 4
        return count[0] >= 0
    if p >= end:
        return False
    if p[0] < 0x80:
        count[0] = <int32_t>p[0] - 1
        position[0] = p + 1
        return count[0] >= 0
    if end - p < 2 or p[1] >= 0x80:
        return False
    count[0] = ((p[0] & 0x7F) | (<int32_t>p[1] << 7)) - 1
    position[0] = p + 2
    return count[0] >= 0


cdef inline const uint8_t *body_of(
    const uint8_t *frame, const uint8_t *end, int api_key, int newest, int16_t *api_version
) noexcept:
    """Where the body of a request about offsets begins, with its tags if it has some; NULL if it is of another API or
    version, or its header may be anything unusual."""
    cdef const uint8_t *p = frame + HEADER_BYTES_MIN
    cdef Span client_id
    if end < p or load_uint16(frame) != api_key:
        return NULL
    api_version[0] = <int16_t>load_uint16(frame + 2)
    if api_version[0] < OLDEST_OF_OFFSETS or api_version[0] > newest or not take_span(&p, end, False, &client_id):
        return NULL
    return NULL if client_id.size > 0 and not is_ascii(client_id.data, client_id.size) else p


cdef inline bint read_commit(const uint8_t *frame, Py_ssize_t frame_bytes, CommitFields *fields) noexcept:
    """Read the fields before the topics of a frame (without its length field); false if it may be anything unusual."""
    cdef const uint8_t *end = frame + frame_bytes
    cdef const uint8_t *p = body_of(frame, end, OFFSET_COMMIT, OFFSET_COMMIT_NEWEST, &fields.api_version)
    if p == NULL:
        return False
    fields.correlation_id, fields.is_flexible = frame + CORRELATION_ID_AT, fields.api_version >= FLEXIBLE_COMMIT
    if fields.is_flexible and not no_tags(&p, end):
        return False
    if not take_span(&p, end, fields.is_flexible, &fields.group_id) or fields.group_id.size < 0 or end - p < 4:
        return False
    fields.generation_id = <int32_t>load_uint32(p)
    p += 4
    if not take_span(&p, end, fields.is_flexible, &fields.member_id) or fields.member_id.size < 0:
        return False
    fields.instance_id.data, fields.instance_id.size = NULL, -1
    if fields.api_version >= COMMIT_WITH_INSTANCE_ID and not take_span(
        &p, end, fields.is_flexible, &fields.instance_id
    ):
        return False
    if WITH_RETENTION_TIME <= fields.api_version <= WITH_RETENTION_TIME_NEWEST:
        if end - p < 8 or <int64_t>load_uint64(p) != -1:
            return False
        p += 8
    if not take_count(&p, end, fields.is_flexible, &fields.topics) or fields.topics == 0:
        return False
    fields.first_topic = p
    fields.end = end
    return True


cdef inline bint read_commit_topic(
    const uint8_t **position, const CommitFields *fields, CommittedTopic *topic
) noexcept:
    """Read what comes before the partitions of a topic; false too if it has none."""
    if fields.api_version >= WITH_TOPIC_ID:
        if fields.end - position[0] < UUID_BYTES:
            return False
        topic.name.data, topic.name.size = position[0], UUID_BYTES
        position[0] += UUID_BYTES
    elif not take_span(position, fields.end, fields.is_flexible, &topic.name) or topic.name.size < 0:
        return False
    return take_count(position, fields.end, fields.is_flexible, &topic.partitions) and topic.partitions > 0


cdef inline bint read_commit_partition(
    const uint8_t **position, const CommitFields *fields, CommittedPartition *partition
) noexcept:
    cdef const uint8_t *p = position[0]
    cdef const uint8_t *end = fields.end
    if end - p < 24:                    # the most that comes before the metadata
        if end - p < 12 + (4 if fields.api_version >= WITH_LEADER_EPOCH else 0):
            return False
        if fields.api_version == WITH_COMMIT_TIMESTAMP and end - p < 20:
            return False
    partition.index = <int32_t>load_uint32(p)
    partition.offset = <int64_t>load_uint64(p + 4)
    p += 12
    partition.leader_epoch, partition.timestamp_ms = -1, -1
    if fields.api_version >= WITH_LEADER_EPOCH:
        partition.leader_epoch = <int32_t>load_uint32(p)
        p += 4
    elif fields.api_version == WITH_COMMIT_TIMESTAMP:
        partition.timestamp_ms = <int64_t>load_uint64(p)
        p += 8
    position[0] = p
    if not take_span(position, end, fields.is_flexible, &partition.metadata):
        return False
    if partition.metadata.size > 0 and not is_ascii(partition.metadata.data, partition.metadata.size):
        return False
    return not fields.is_flexible or no_tags(position, end)


cdef inline bint end_commit_topic(const uint8_t **position, const CommitFields *fields) noexcept:
    return not fields.is_flexible or no_tags(position, fields.end)


# ---------------------------------------------------------------------------------------------------------- the answer

cdef inline Py_ssize_t count_bytes(bint compact, int32_t count) noexcept:
    """Of the number of elements of an array, below 2^14 - 1."""
    if not compact:
        return 4
    return 1 if count + 1 < 0x80 else 2


cdef inline uint8_t *put_count(uint8_t *out, bint compact, int32_t count) noexcept:
    if not compact:
        store_uint32(out, <uint32_t>count)
        return out + 4
    if count + 1 < 0x80:
        out[0] = <uint8_t>(count + 1)
        return out + 1
    out[0] = <uint8_t>((count + 1) & 0x7F | 0x80)
    out[1] = <uint8_t>((count + 1) >> 7)
    return out + 2


cdef inline Py_ssize_t name_bytes(const CommitFields *fields, const CommittedTopic *topic) noexcept:
    """Of a topic's name with its length, or of its id."""
    if fields.api_version >= WITH_TOPIC_ID:
        return UUID_BYTES
    if not fields.is_flexible:
        return 2 + topic.name.size
    return count_bytes(True, <int32_t>topic.name.size) + topic.name.size


cdef inline Py_ssize_t answered_topic_bytes(const CommitFields *fields, const CommittedTopic *topic) noexcept:
    """Of a topic in a response without errors."""
    return (
        name_bytes(fields, topic) + count_bytes(fields.is_flexible, topic.partitions)
        + topic.partitions * (7 if fields.is_flexible else 6) + (1 if fields.is_flexible else 0)
    )


cdef inline Py_ssize_t answer_ends_bytes(const CommitFields *fields) noexcept:
    """Of a response frame without its topics."""
    return (
        8 + (4 if fields.api_version >= COMMIT_WITH_THROTTLE_TIME else 0)
        + count_bytes(fields.is_flexible, fields.topics) + (2 if fields.is_flexible else 0)
    )


cdef inline uint8_t *put_answer_begin(uint8_t *out, const CommitFields *fields, Py_ssize_t answer_bytes) noexcept:
    """Length, correlation id, tags (v8), throttle time (v3), number of topics."""
    store_uint32(out, <uint32_t>(answer_bytes - 4))
    memcpy(out + 4, fields.correlation_id, 4)
    out += 8
    memset(out, 0, 5)
    out += (1 if fields.is_flexible else 0) + (4 if fields.api_version >= COMMIT_WITH_THROTTLE_TIME else 0)
    return put_count(out, fields.is_flexible, fields.topics)


cdef inline uint8_t *put_answered_topic(uint8_t *out, const CommitFields *fields, const CommittedTopic *topic) noexcept:
    """Its name or id, and the number of its partitions."""
    if fields.api_version < WITH_TOPIC_ID:
        if fields.is_flexible:
            out = put_count(out, True, <int32_t>topic.name.size)
        else:
            out[0], out[1] = <uint8_t>(topic.name.size >> 8), <uint8_t>topic.name.size
            out += 2
    memcpy(out, topic.name.data, topic.name.size)
    return put_count(out + topic.name.size, fields.is_flexible, topic.partitions)


cdef inline uint8_t *put_answered_partition(uint8_t *out, const CommitFields *fields, int32_t index) noexcept:
    """Its index, no error, and tags (v8)."""
    store_uint32(out, <uint32_t>index)
    out[4] = out[5] = 0
    if fields.is_flexible:
        out[6] = 0
        return out + 7
    return out + 6
