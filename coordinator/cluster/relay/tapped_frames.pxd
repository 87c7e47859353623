"""Requests of groups and answers to them that are read where they lie: who it is, of which group, and what went wrong.

Nothing is decoded, and bytes that end too early are no problem: the caller waits for more, or passes them unread.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t

from _wire.heartbeat_frames cimport Span, no_tags, take_span
from _wire.big_endian cimport load_uint16, load_uint32

cdef enum:
    OFFSET_COMMIT = 8
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    API_VERSIONS = 18
    TXN_OFFSET_COMMIT = 28
    CONSUMER_GROUP_HEARTBEAT = 68
    SHARE_GROUP_HEARTBEAT = 76
    STREAMS_GROUP_HEARTBEAT = 88

    OFFSET_COMMIT_FLEXIBLE = 8
    JOIN_GROUP_FLEXIBLE = 6
    HEARTBEAT_FLEXIBLE = 4              # of SyncGroup and LeaveGroup, too
    TXN_OFFSET_COMMIT_FLEXIBLE = 3      # the first version that names a member
    OFFSET_COMMIT_WITH_THROTTLE_TIME = 3
    OFFSET_COMMIT_WITH_TOPIC_IDS = 10
    SYNC_GROUP_WITH_INSTANCE_ID = 3
    SYNC_GROUP_WITH_PROTOCOL = 5
    UUID_BYTES = 16

    HEADER_BYTES = 8                    # API key, version, correlation id
    PRODUCER_BYTES = 10                 # producer id and epoch
    VARINT_BYTES_MAX = 5


cdef struct Head:
    int16_t api_key
    int16_t version
    Span group_id
    int32_t epoch
    Span member_id
    bint has_member
    Span client_id
    Span instance_id                    # of a ConsumerGroupHeartbeat that joins; else its size is -1
    bint has_assignments                # of a SyncGroup


cdef inline bint is_flexible(int api_key, int version) noexcept:
    if api_key == OFFSET_COMMIT:
        return version >= OFFSET_COMMIT_FLEXIBLE
    if api_key == JOIN_GROUP:
        return version >= JOIN_GROUP_FLEXIBLE
    if api_key == TXN_OFFSET_COMMIT:
        return version >= TXN_OFFSET_COMMIT_FLEXIBLE
    return api_key > TXN_OFFSET_COMMIT or version >= HEARTBEAT_FLEXIBLE


cdef inline bint read_head(const uint8_t *frame, const uint8_t *end, Head *head) noexcept:
    """Read the group, and the member where it comes next; false if the bytes end before, or have tagged fields."""
    cdef const uint8_t *p = frame + HEADER_BYTES
    cdef bint flexible
    cdef Span other
    head.api_key = <int16_t>load_uint16(frame)
    head.version = <int16_t>load_uint16(frame + 2)
    head.has_member = False
    head.instance_id.size = -1
    flexible = is_flexible(head.api_key, head.version)
    if not take_span(&p, end, False, &head.client_id) or (flexible and not no_tags(&p, end)):
        return False
    if head.api_key == TXN_OFFSET_COMMIT and not take_span(&p, end, flexible, &other):
        return False
    if not take_span(&p, end, flexible, &head.group_id) or head.group_id.size < 0:
        return False
    if head.api_key in (JOIN_GROUP, LEAVE_GROUP):
        return True
    if head.api_key >= CONSUMER_GROUP_HEARTBEAT:
        if not take_span(&p, end, True, &head.member_id) or head.member_id.size < 0 or end - p < 4:
            return False
        head.epoch = <int32_t>load_uint32(p)
        head.has_member = True
        p += 4
        if head.api_key == CONSUMER_GROUP_HEARTBEAT and head.epoch == 0 and not take_span(
            &p, end, True, &head.instance_id
        ):
            return False
        return True
    if head.api_key == TXN_OFFSET_COMMIT:
        if not flexible:
            return True
        if end - p < PRODUCER_BYTES:
            return False
        p += PRODUCER_BYTES
    if end - p < 4:
        return False
    head.epoch = <int32_t>load_uint32(p)
    p += 4
    head.has_member = take_span(&p, end, flexible, &head.member_id) and head.member_id.size >= 0
    if not head.has_member or head.api_key != SYNC_GROUP:
        return head.has_member
    if head.version >= SYNC_GROUP_WITH_INSTANCE_ID and not take_span(&p, end, flexible, &other):
        return False
    if head.version >= SYNC_GROUP_WITH_PROTOCOL and not (
        take_span(&p, end, True, &other) and take_span(&p, end, True, &other)
    ):
        return False
    if end - p < (1 if flexible else 4):
        return False
    # A compact length is one more than the count, and its first byte is above 1 whenever there are some.
    head.has_assignments = p[0] > 1 if flexible else <int32_t>load_uint32(p) > 0
    return True


cdef inline bint take_count(const uint8_t **p, const uint8_t *end, bint flexible) noexcept:
    """Read the length of an array; false if it has no element, or is not there."""
    cdef const uint8_t *at = p[0]
    cdef bint is_there
    if not flexible:
        if end - at < 4:
            return False
        p[0] = at + 4
        return <int32_t>load_uint32(at) > 0
    while at < end and at - p[0] < VARINT_BYTES_MAX:
        if at[0] & 0x80 == 0:
            is_there = at[0] > 1 or at > p[0]
            p[0] = at + 1
            return is_there
        at += 1
    return False


cdef inline int commit_error(const uint8_t *p, const uint8_t *end, int api_key, int version) noexcept:
    """The error of the first partition in the answer to a commit: what a member is refused for, all of them have.

    Returns 0 as well if it has none, or if its bytes are not there yet: nothing is held back for it.
    """
    cdef bint flexible = is_flexible(api_key, version)
    cdef Span name
    if flexible and not no_tags(&p, end):
        return 0
    if api_key == TXN_OFFSET_COMMIT or version >= OFFSET_COMMIT_WITH_THROTTLE_TIME:
        p += 4
    if not take_count(&p, end, flexible):
        return 0
    if api_key == OFFSET_COMMIT and version >= OFFSET_COMMIT_WITH_TOPIC_IDS:
        p += UUID_BYTES
    elif not take_span(&p, end, flexible, &name):
        return 0
    if not take_count(&p, end, flexible) or end - p < 6:
        return 0
    return <int16_t>load_uint16(p + 4)
