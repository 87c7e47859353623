"""What consumers write into the bytes that a coordinator passes on unread: subscriptions and assignments.

Clients write them, so they may be anything; what cannot be read is told apart from what is empty. Compiled: in a
rebalance it is done twice for each member.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, uint8_t

from _wire.messages.consumer_protocol_assignment cimport (
    ConsumerProtocolAssignment, TopicPartition as Assigned, decode_consumer_protocol_assignment,
)
from _wire.messages.consumer_protocol_subscription cimport (
    ConsumerProtocolSubscription, TopicPartition as Owned, decode_consumer_protocol_subscription,
)
from _wire.primitives cimport Reader, load_uint16, reader_over

from _wire.errors import MalformedMessage
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment as AssignmentMessage
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription as SubscriptionMessage
from coordinator.core.classic_group import CONSUMER_PROTOCOL_TYPE

cdef int16_t ASSIGNMENT_NEWEST = AssignmentMessage.MAX_VERSION
cdef int16_t SUBSCRIPTION_NEWEST = SubscriptionMessage.MAX_VERSION

cdef enum:
    VERSION_BYTES = 2


cdef int16_t open_peer(Reader *r, bytes data, const char *message, int16_t newest) except -1:
    """A reader over what a client of any age wrote, and the version to read it in: later ones begin as the newest."""
    cdef const uint8_t *start = <const uint8_t *>PyBytes_AS_STRING(data)
    cdef int16_t version
    if PyBytes_GET_SIZE(data) < VERSION_BYTES:
        raise MalformedMessage(message.decode(), 0, "", 0, "truncated: there is no version")
    version = <int16_t>load_uint16(start)
    if version < 0:
        raise MalformedMessage(message.decode(), version, "", 0, "version is less than 0")
    version = min(version, newest)
    reader_over(r, start + VERSION_BYTES, PyBytes_GET_SIZE(data) - VERSION_BYTES, message, version)
    return version


cdef ConsumerProtocolSubscription subscription_in(str protocol_type, bytes metadata):
    """None when the protocol type is another, or the bytes are no subscription."""
    cdef Reader r
    cdef int16_t version
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    try:
        version = open_peer(&r, metadata, b"ConsumerProtocolSubscription", SUBSCRIPTION_NEWEST)
        return decode_consumer_protocol_subscription(&r, version)
    except MalformedMessage:
        return None


def subscribed_topics(str protocol_type, bytes metadata not None):
    cdef ConsumerProtocolSubscription subscription = subscription_in(protocol_type, metadata)
    return [] if subscription is None else sorted(subscription.topics)


def count_claimed(str protocol_type, bytes metadata not None, set partitions not None):
    cdef ConsumerProtocolSubscription subscription = subscription_in(protocol_type, metadata)
    cdef Owned owned
    cdef set claimed = set()
    if subscription is None or not subscription.owned_partitions:
        return 0
    for owned in subscription.owned_partitions:
        for index in owned.partitions:
            claimed.add((owned.topic, index))
    return len(partitions & claimed)


def assigned_partitions(str protocol_type, bytes assignment not None):
    cdef Reader r
    cdef int16_t version
    cdef ConsumerProtocolAssignment decoded
    cdef Assigned assigned
    cdef set partitions = set()
    if protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    if not assignment:
        return partitions
    try:
        version = open_peer(&r, assignment, b"ConsumerProtocolAssignment", ASSIGNMENT_NEWEST)
        decoded = decode_consumer_protocol_assignment(&r, version)
    except MalformedMessage:
        return None
    for assigned in decoded.assigned_partitions:
        for index in assigned.partitions:
            partitions.add((assigned.topic, index))
    return partitions
