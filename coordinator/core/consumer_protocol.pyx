"""Decodes subscriptions and assignments, which consumers encode and the coordinator passes on as they are.

Counterpart in Kafka: `ConsumerProtocol` of its clients. As there, a version later than the newest known one is read as
the newest, and bytes that follow are ignored: a later version begins as the earlier ones do.

Clients write these bytes, so they may be anything, and as long as a request may be. The audit reads them in two passes:
the first one counts and checks without making an object, the second one makes objects if the count is within its bound.
Compiled: in a rebalance it is done twice for each member.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int64_t, uint8_t
from libc.string cimport memcmp

from _wire.big_endian cimport load_uint16, load_uint32
from _wire.reader cimport (
    Reader, raise_malformed, read_bytes_length, read_count, read_int32, read_string, read_string_length,
    reader_over, take,
)

from _wire.errors import MalformedMessage
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment as AssignmentMessage
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription as SubscriptionMessage

CONSUMER_PROTOCOL_TYPE = "consumer"

cdef int16_t ASSIGNMENT_NEWEST = AssignmentMessage.MAX_VERSION
cdef int16_t SUBSCRIPTION_NEWEST = SubscriptionMessage.MAX_VERSION

cdef const char *ASSIGNMENT = b"ConsumerProtocolAssignment"
cdef const char *SUBSCRIPTION = b"ConsumerProtocolSubscription"

cdef enum:
    VERSION_BYTES = 2
    STRING_BYTES_MIN = 2
    INT32_BYTES = 4
    TOPIC_BYTES_MIN = 6                 # a name and a count of partitions
    OWNED_PARTITIONS_VERSION = 1        # of a subscription: the first with them
    GENERATION_ID_VERSION = 2
    RACK_ID_VERSION = 3


cdef int16_t version_of(bytes data, const char *message, int16_t newest) except -1:
    """The version to read the bytes in; `newest` is the newest one that the caller reads."""
    cdef int16_t version
    if PyBytes_GET_SIZE(data) < VERSION_BYTES:
        raise MalformedMessage(message.decode(), 0, "", 0, "truncated: there is no version")
    version = <int16_t>load_uint16(<const uint8_t *>PyBytes_AS_STRING(data))
    if version < 0:
        raise MalformedMessage(message.decode(), version, "", 0, "version is less than 0")
    return min(version, newest)


cdef int16_t open_reader(Reader *r, bytes data, const char *message, int16_t newest) except -1:
    """A reader over the fields, and the version to read them in."""
    cdef int16_t version = version_of(data, message, newest)
    cdef const uint8_t *start = <const uint8_t *>PyBytes_AS_STRING(data) + VERSION_BYTES
    reader_over(r, start, PyBytes_GET_SIZE(data) - VERSION_BYTES, message, version)
    return version


cdef bint is_no_array(bytes data, Py_ssize_t element_bytes_min) noexcept:
    """Whether an array cannot follow the version: bytes of another format, which need no exception to be told apart."""
    cdef const uint8_t *first = <const uint8_t *>PyBytes_AS_STRING(data)
    cdef Py_ssize_t left = PyBytes_GET_SIZE(data) - VERSION_BYTES - INT32_BYTES
    return left < 0 or <int64_t>load_uint32(first + VERSION_BYTES) * element_bytes_min > left


cdef int skip_string(Reader *r) except -1:
    """UTF-8 is not checked here; `read_string` does when the string is made."""
    cdef Py_ssize_t length = read_string_length(r, False)
    if length < 0:
        raise_malformed(r, "null, but not nullable")
    take(r, length)
    return 0


cdef int skip_nullable_bytes(Reader *r) except -1:
    cdef Py_ssize_t length = read_bytes_length(r, False)
    if length > 0:
        take(r, length)
    return 0


cdef Py_ssize_t skip_partitions(Reader *r) except -1:
    """Skip an array of topics with their partitions; returns how many partitions there are."""
    cdef Py_ssize_t topics = read_count(r, False, TOPIC_BYTES_MIN), count = 0, indexes
    while topics > 0:
        skip_string(r)
        indexes = read_count(r, False, INT32_BYTES)
        take(r, indexes * INT32_BYTES)
        count += indexes
        topics -= 1
    return count


cdef set read_partitions(Reader *r):
    """An array of topics with their partitions, as (topic, index)."""
    cdef Py_ssize_t topics = read_count(r, False, TOPIC_BYTES_MIN), indexes
    cdef set partitions = set()
    while topics > 0:
        topic = read_string(r, False)
        indexes = read_count(r, False, INT32_BYTES)
        while indexes > 0:
            partitions.add((topic, read_int32(r)))
            indexes -= 1
        topics -= 1
    return partitions


cdef Py_ssize_t skip_topics(Reader *r) except -1:
    """Skip an array of topic names; returns how many there are."""
    cdef Py_ssize_t count = read_count(r, False, STRING_BYTES_MIN), left = count
    while left > 0:
        skip_string(r)
        left -= 1
    return count


cdef Py_ssize_t find_owned(Reader *owned, bytes metadata) except -1:
    """Check the whole subscription; `owned` is then over the array of owned partitions. Returns how many there are."""
    cdef Reader r
    cdef int16_t version = open_reader(&r, metadata, SUBSCRIPTION, SUBSCRIPTION_NEWEST)
    cdef Py_ssize_t count
    skip_topics(&r)
    skip_nullable_bytes(&r)
    owned[0] = r
    count = skip_partitions(&r) if version >= OWNED_PARTITIONS_VERSION else 0
    if version >= GENERATION_ID_VERSION:
        read_int32(&r)
    if version >= RACK_ID_VERSION:
        take(&r, max(read_string_length(&r, False), 0))
    return count


def decode_subscription_message(bytes metadata not None):
    cdef int16_t version = version_of(metadata, SUBSCRIPTION, SUBSCRIPTION_NEWEST)
    return SubscriptionMessage.decode(metadata, version, VERSION_BYTES, whole=False)


def decode_assignment_message(bytes assignment not None):
    if not assignment:
        return AssignmentMessage()
    cdef int16_t version = version_of(assignment, ASSIGNMENT, ASSIGNMENT_NEWEST)
    return AssignmentMessage.decode(assignment, version, VERSION_BYTES, whole=False)


cdef list read_topics(Reader *r):
    cdef list names = []
    for _ in range(read_count(r, False, STRING_BYTES_MIN)):
        names.append(read_string(r, False))
    return names


def subscription_topics(bytes metadata not None):
    cdef Reader r
    open_reader(&r, metadata, SUBSCRIPTION, 0)
    names = read_topics(&r)
    skip_nullable_bytes(&r)
    return names


def read_subscription(str protocol_type, bytes metadata not None, Py_ssize_t topics_max):
    cdef Reader r, topics
    cdef Py_ssize_t count
    cdef list names
    if protocol_type != CONSUMER_PROTOCOL_TYPE or is_no_array(metadata, STRING_BYTES_MIN):
        return [], 0
    try:
        open_reader(&r, metadata, SUBSCRIPTION, 0)
        topics = r
        count = skip_topics(&r)
        skip_nullable_bytes(&r)
        if count > topics_max:
            return [], count
        names = read_topics(&topics)
    except MalformedMessage:
        return [], 0
    names.sort()
    return names, 0


cdef struct Asked:
    Reader topics                       # the array of topic names
    Reader user_data
    Reader rack
    Py_ssize_t topic_count


cdef int find_asked(Asked *found, bytes metadata) except -1:
    """The fields of a subscription that ask for something; each reader ends where its field ends."""
    cdef Reader r
    cdef int16_t version = open_reader(&r, metadata, SUBSCRIPTION, SUBSCRIPTION_NEWEST)
    found.topics = r
    found.topic_count = skip_topics(&r)
    found.topics.end = r.position
    found.user_data = r
    skip_nullable_bytes(&r)
    found.user_data.end = r.position
    if version >= OWNED_PARTITIONS_VERSION:
        skip_partitions(&r)
    if version >= GENERATION_ID_VERSION:
        read_int32(&r)
    found.rack = r
    if version >= RACK_ID_VERSION:
        take(&r, max(read_string_length(&r, False), 0))
    found.rack.end = r.position
    return 0


cdef bint same_field(Reader *one, Reader *other) noexcept:
    cdef Py_ssize_t size = one.end - one.position
    return size == other.end - other.position and memcmp(one.position, other.position, size) == 0


def is_same_subscription(bytes before not None, bytes after not None, bint with_user_data):
    cdef Asked old, new
    if is_no_array(before, STRING_BYTES_MIN) or is_no_array(after, STRING_BYTES_MIN):
        return False
    try:
        find_asked(&old, before)
        find_asked(&new, after)
        if with_user_data and not same_field(&old.user_data, &new.user_data):
            return False
        if not same_field(&old.rack, &new.rack):
            return False
        if same_field(&old.topics, &new.topics):
            return True
        return old.topic_count == new.topic_count and set(read_topics(&old.topics)) == set(read_topics(&new.topics))
    except MalformedMessage:
        return False


def count_claimed(str protocol_type, bytes metadata not None, set partitions not None, Py_ssize_t claims_max):
    cdef Reader owned
    cdef Py_ssize_t count
    if protocol_type != CONSUMER_PROTOCOL_TYPE or not partitions or is_no_array(metadata, STRING_BYTES_MIN):
        return 0
    try:
        count = find_owned(&owned, metadata)
        if count == 0 or count > claims_max:
            return 0
        return len(partitions & read_partitions(&owned))
    except MalformedMessage:
        return 0


def revokes(str protocol_type, bytes metadata not None, bytes assignment not None, Py_ssize_t partitions_max):
    cdef Reader owned
    cdef Py_ssize_t count
    if protocol_type != CONSUMER_PROTOCOL_TYPE or is_no_array(metadata, STRING_BYTES_MIN):
        return False
    try:
        count = find_owned(&owned, metadata)
        if count == 0 or count > partitions_max:
            return False
        claimed = read_partitions(&owned)
    except MalformedMessage:
        return False
    readable, assigned, unnamed = read_assignment(protocol_type, assignment, partitions_max)
    return readable and not unnamed and not claimed <= assigned


def read_assignment(str protocol_type, bytes assignment not None, Py_ssize_t partitions_max):
    cdef Reader r, partitions
    cdef Py_ssize_t count
    cdef set found = set()
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return False, found, 0
    if not assignment:
        return True, found, 0
    if is_no_array(assignment, TOPIC_BYTES_MIN):
        return False, found, 0
    try:
        open_reader(&r, assignment, ASSIGNMENT, ASSIGNMENT_NEWEST)
        partitions = r
        count = skip_partitions(&r)
        skip_nullable_bytes(&r)
        if count > partitions_max:
            return True, found, count
        return True, read_partitions(&partitions), 0
    except MalformedMessage:
        return False, found, 0
