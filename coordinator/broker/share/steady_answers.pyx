"""Writes the responses to steady requests about records of share groups."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from _wire.commit_frames cimport UUID_BYTES
from _wire.share_frames cimport (
    ACKNOWLEDGED_BYTES, ACQUIRED_BYTES, FETCHED_BYTES, SHARE_FETCH, ShareFields, answer_ends, put_acknowledged,
    put_acquired, put_fetched, put_share_begin, put_share_end,
)
from _wire.unsigned_varints cimport put_varint, varint_bytes

from struct import pack

from coordinator.broker.share.acknowledging import ELSEWHERE

cdef enum:
    VARINT_BYTES_MAX = 5

cdef bytes NO_RACK_NO_TAGS = b"\0\0"


@cython.final
@cython.freelist(16)
cdef class AnsweredPartition:
    """A partition in a response. Of the response to a ShareAcknowledge, the error is that of the acknowledgement."""


cdef AnsweredPartition answered_partition(bytes topic_id, int32_t partition):
    cdef AnsweredPartition answered = AnsweredPartition.__new__(AnsweredPartition)
    answered.topic_id, answered.partition, answered.records, answered.acquired = topic_id, partition, b"", []
    return answered


cdef bint is_elsewhere(list partitions) except -1:
    """Whether an error of a response tells the client to look for the leader."""
    cdef AnsweredPartition answered
    for answered in partitions:
        if answered.error in ELSEWHERE:
            return True
    return False


cdef bytes node_endpoint(int32_t node_id, str host, int32_t port):
    """An element of `node_endpoints`."""
    cdef bytes name = host.encode()
    cdef uint8_t length[VARINT_BYTES_MAX]
    cdef Py_ssize_t length_bytes = put_varint(length, len(name) + 1) - length
    return pack(">i", node_id) + length[:length_bytes] + name + pack(">i", port) + NO_RACK_NO_TAGS


cdef bytes answer_of(
    const ShareFields *fields, list partitions, int32_t lock_timeout_ms, int32_t leader_id, int32_t leader_epoch,
    bytes endpoint,
):
    """The response with these partitions, those of a topic together, with its length.

    With `endpoint`, errors of ELSEWHERE say that the leader is this node in that epoch.
    """
    cdef dict by_topic = {}
    cdef list of_topic
    cdef AnsweredPartition answered
    cdef Py_ssize_t size
    cdef bytes frame, topic_id
    cdef bint names_leader
    cdef uint8_t *out
    for answered in partitions:
        of_topic = <list>by_topic.get(answered.topic_id)
        if of_topic is None:
            by_topic[answered.topic_id] = [answered]
        else:
            of_topic.append(answered)
    size = answer_ends(fields, len(by_topic)) + len(endpoint)
    for of_topic in by_topic.values():
        size += UUID_BYTES + varint_bytes(len(of_topic) + 1) + 1
        for answered in of_topic:
            size += fetched_bytes(answered) if fields.api_key == SHARE_FETCH else <Py_ssize_t>ACKNOWLEDGED_BYTES
    frame = PyBytes_FromStringAndSize(NULL, size)
    out = put_share_begin(
        <uint8_t *>PyBytes_AS_STRING(frame), fields, size, lock_timeout_ms, len(by_topic)
    )
    for topic_id, of_topic in by_topic.items():
        memcpy(out, PyBytes_AS_STRING(topic_id), UUID_BYTES)
        out = put_varint(out + UUID_BYTES, len(of_topic) + 1)
        for answered in of_topic:
            if fields.api_key == SHARE_FETCH:
                out = put_partition(out, answered)
            else:
                names_leader = len(endpoint) > 0 and answered.error in ELSEWHERE
                out = put_acknowledged(
                    out, answered.partition, answered.error, leader_id if names_leader else 0,
                    leader_epoch if names_leader else 0,
                )
        out[0] = 0
        out += 1
    out = put_share_end(out, PyBytes_AS_STRING(endpoint), len(endpoint))
    assert out - <uint8_t *>PyBytes_AS_STRING(frame) == size
    return frame


cdef Py_ssize_t fetched_bytes(AnsweredPartition answered) except -1:
    cdef Py_ssize_t records_bytes = len(answered.records), acquired = len(answered.acquired)
    return (
        FETCHED_BYTES + varint_bytes(records_bytes + 1) + records_bytes + varint_bytes(acquired + 1)
        + acquired * ACQUIRED_BYTES + 1
    )


cdef uint8_t *put_partition(uint8_t *out, AnsweredPartition answered) except NULL:
    cdef Py_buffer records
    PyObject_GetBuffer(answered.records, &records, PyBUF_SIMPLE)
    try:
        out = put_fetched(out, answered.partition, answered.error, answered.acknowledge_error, records.len)
        memcpy(out, records.buf, records.len)
        out += records.len
    finally:
        PyBuffer_Release(&records)
    out = put_varint(out, len(answered.acquired) + 1)
    for first, last, deliveries in answered.acquired:
        out = put_acquired(out, first, last, deliveries)
    out[0] = 0
    return out + 1
