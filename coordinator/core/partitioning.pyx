"""Which partition of `__consumer_offsets` and `__group_audit` a group belongs to, or of `__transaction_state` a
transactional id: `Utils.abs(name.hashCode()) % partitions` (GroupCoordinatorService.partitionFor).
"""

from libc.stdint cimport INT32_MIN, int32_t

cdef enum:
    BMP_MAX = 0xFFFF                    # what lies above are two UTF-16 code units
    HASH_FACTOR = 31


cdef uint32_t hash_of(str text) except? 0xFFFFFFFF:
    cdef uint32_t value = 0, code_point
    cdef Py_UCS4 character
    for character in text:
        code_point = <uint32_t>character
        if code_point > BMP_MAX:
            value = HASH_FACTOR * value + (0xD800 | ((code_point - 0x10000) >> 10))
            value = HASH_FACTOR * value + (0xDC00 | ((code_point - 0x10000) & 0x3FF))
        else:
            value = HASH_FACTOR * value + code_point
    return value


def java_string_hash(str text not None):
    return hash_of(text)


cpdef uint32_t partition_for(str name, uint32_t partitions) except? 0xFFFFFFFF:
    cdef int32_t value = <int32_t>hash_of(name)
    if value == INT32_MIN:
        return 0                        # it has no positive counterpart
    return <uint32_t>(-value if value < 0 else value) % partitions
