"""Records of which a large group has thousands, so they are made in compiled code without messages.

These are the target assignments of its members, the steps that each member takes towards its own, the group epochs, and
the tombstones of members that are removed. The layouts are in the schemas of these records; a test compares them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from _wire.big_endian cimport store_uint32
from _wire.unsigned_varints cimport put_varint, varint_bytes
from coordinator.core.record_keys cimport record_key

cdef enum:
    METADATA_TYPE = 3
    MEMBER_METADATA_TYPE = 5
    TARGET_MEMBER_TYPE = 7
    CURRENT_ASSIGNMENT_TYPE = 8
    VALUE_VERSION = 0
    ID_BYTES = 16
    VARINT_BYTES_MAX = 5
    EPOCHS_TAG = 0
    HASH_TAG = 0
    EPOCH_VALUE_BYTES_MAX = 17

cdef bytes VALUE_PREFIX = (<int>VALUE_VERSION).to_bytes(2, "big")


def targets_records(str group_id not None, targets not None):
    return [
        (record_key(TARGET_MEMBER_TYPE, group_id, member_id), value_of(target)) for member_id, target in targets.items()
    ]


def removed_member_records(str group_id not None, str member_id not None):
    return [
        (record_key(CURRENT_ASSIGNMENT_TYPE, group_id, member_id), None),
        (record_key(TARGET_MEMBER_TYPE, group_id, member_id), None),
        (record_key(MEMBER_METADATA_TYPE, group_id, member_id), None),
    ]


def epoch_record(str group_id not None, int32_t epoch, int64_t metadata_hash):
    cdef uint8_t[EPOCH_VALUE_BYTES_MAX] value
    memcpy(value, PyBytes_AS_STRING(VALUE_PREFIX), 2)
    store_uint32(value + 2, <uint32_t>epoch)
    value[6] = 0
    if metadata_hash == 0:
        return record_key(METADATA_TYPE, group_id), (<const char *>value)[:7]
    value[6] = 1
    value[7] = HASH_TAG
    value[8] = sizeof(metadata_hash)
    store_uint32(value + 9, <uint32_t>(<uint64_t>metadata_hash >> 32))
    store_uint32(value + 13, <uint32_t>metadata_hash)
    return record_key(METADATA_TYPE, group_id), (<const char *>value)[:EPOCH_VALUE_BYTES_MAX]


def current_record(str group_id not None, str member_id not None, current not None):
    cdef int32_t epoch, previous_epoch
    cdef int state
    cdef dict assigned, pending
    epoch, previous_epoch, state = current.epoch, current.previous_epoch, current.state
    assigned, pending = current.assigned, current.pending
    cdef Py_ssize_t size = 2 + 4 + 4 + 1 + bytes_with_epochs(assigned) + bytes_with_epochs(pending) + 1
    cdef bytes made = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t *start = <uint8_t *>PyBytes_AS_STRING(made)
    cdef uint8_t *p = start
    memcpy(p, PyBytes_AS_STRING(VALUE_PREFIX), 2)
    store_uint32(p + 2, <uint32_t>epoch)
    store_uint32(p + 6, <uint32_t>previous_epoch)
    p[10] = <uint8_t>state
    p = store_with_epochs(p + 11, assigned)
    p = store_with_epochs(p, pending)
    p[0] = 0
    return record_key(CURRENT_ASSIGNMENT_TYPE, group_id, member_id), made[: p + 1 - start]


cdef Py_ssize_t bytes_with_epochs(dict partitions) except -1:
    """How many bytes `store_with_epochs` writes at most."""
    cdef Py_ssize_t size = VARINT_BYTES_MAX
    cdef dict of_topic
    for of_topic in partitions.values():
        size += ID_BYTES + VARINT_BYTES_MAX + 2 + 2 * VARINT_BYTES_MAX + 8 * len(of_topic)
    return size


cdef uint8_t *store_with_epochs(uint8_t *p, dict partitions) except NULL:
    """The topics with their partitions in ascending order, and the epochs of these, which are a tag."""
    cdef bytes id_bytes
    cdef dict of_topic
    cdef list indexes
    cdef uint32_t count
    p = put_varint(p, <uint32_t>len(partitions) + 1)
    for id_bytes, of_topic in partitions.items():
        if len(id_bytes) != ID_BYTES:
            raise ValueError("the id of a topic has 16 bytes")
        indexes = sorted(of_topic)
        count = <uint32_t>len(indexes)
        memcpy(p, PyBytes_AS_STRING(id_bytes), ID_BYTES)
        p = put_varint(p + ID_BYTES, count + 1)
        for index in indexes:
            store_uint32(p, <uint32_t><int32_t>index)
            p += 4
        p[0] = 1
        p[1] = EPOCHS_TAG
        p = put_varint(p + 2, varint_bytes(count + 1) + 4 * count)
        p = put_varint(p, count + 1)
        for index in indexes:
            store_uint32(p, <uint32_t><int32_t>of_topic[index])
            p += 4
    return p


cdef bytes value_of(dict target):
    """The version, topics with their partitions, and no tags."""
    cdef Py_ssize_t size = 2 + VARINT_BYTES_MAX + 1
    cdef bytes id_bytes, made
    cdef tuple partitions
    cdef uint8_t *start
    cdef uint8_t *p
    cdef Py_ssize_t place
    for partitions in target.values():
        size += ID_BYTES + VARINT_BYTES_MAX + 4 * len(partitions) + 1
    made = PyBytes_FromStringAndSize(NULL, size)
    start = p = <uint8_t *>PyBytes_AS_STRING(made)
    memcpy(p, PyBytes_AS_STRING(VALUE_PREFIX), 2)
    p = put_varint(p + 2, <uint32_t>len(target) + 1)
    for id_bytes, partitions in target.items():
        if len(id_bytes) != ID_BYTES:
            raise ValueError("the id of a topic has 16 bytes")
        memcpy(p, PyBytes_AS_STRING(id_bytes), ID_BYTES)
        p = put_varint(p + ID_BYTES, <uint32_t>len(partitions) + 1)
        for place in range(len(partitions)):
            store_uint32(p, <uint32_t><int32_t>partitions[place])
            p += 4
        p[0] = 0
        p += 1
    p[0] = 0
    return made[: p + 1 - start]
