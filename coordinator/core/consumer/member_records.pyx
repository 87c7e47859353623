"""Records of which a large group has thousands in one decision, so they are made in compiled code without messages.

These are the target assignments of its members, and the tombstones of members that are removed. The layouts are in the
schemas of these records; a test compares them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from _wire.primitives cimport store_uint32

cdef enum:
    MEMBER_METADATA_TYPE = 5
    TARGET_MEMBER_TYPE = 7
    CURRENT_ASSIGNMENT_TYPE = 8
    VALUE_VERSION = 0
    ID_BYTES = 16
    VARINT_BYTES_MAX = 5
    NAME_BYTES_MAX = 0x7FFF             # of a string of a record's key

cdef bytes KEY_PREFIX = (<int>TARGET_MEMBER_TYPE).to_bytes(2, "big")
cdef bytes METADATA_KEY_PREFIX = (<int>MEMBER_METADATA_TYPE).to_bytes(2, "big")
cdef bytes CURRENT_KEY_PREFIX = (<int>CURRENT_ASSIGNMENT_TYPE).to_bytes(2, "big")
cdef bytes VALUE_PREFIX = (<int>VALUE_VERSION).to_bytes(2, "big")


def targets_records(str group_id not None, targets not None):
    cdef bytes group_prefix = KEY_PREFIX + name_bytes(group_id)
    return [(group_prefix + name_bytes(member_id), value_of(target)) for member_id, target in targets.items()]


def removed_member_records(str group_id not None, str member_id not None):
    cdef bytes names = name_bytes(group_id) + name_bytes(member_id)
    return [(CURRENT_KEY_PREFIX + names, None), (KEY_PREFIX + names, None), (METADATA_KEY_PREFIX + names, None)]


cdef bytes name_bytes(str name):
    cdef bytes text = name.encode()
    if len(text) > NAME_BYTES_MAX:
        raise ValueError(f"a name of {len(text)} bytes is too long for a record")
    return len(text).to_bytes(2, "big") + text


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
    p = store_varint(p + 2, <uint32_t>len(target) + 1)
    for id_bytes, partitions in target.items():
        if len(id_bytes) != ID_BYTES:
            raise ValueError("the id of a topic has 16 bytes")
        memcpy(p, PyBytes_AS_STRING(id_bytes), ID_BYTES)
        p = store_varint(p + ID_BYTES, <uint32_t>len(partitions) + 1)
        for place in range(len(partitions)):
            store_uint32(p, <uint32_t><int32_t>partitions[place])
            p += 4
        p[0] = 0
        p += 1
    p[0] = 0
    return made[: p + 1 - start]


cdef inline uint8_t *store_varint(uint8_t *p, uint32_t value) noexcept:
    while value >= 0x80:
        p[0] = <uint8_t>(value & 0x7F | 0x80)
        value >>= 7
        p += 1
    p[0] = <uint8_t>value
    return p + 1
