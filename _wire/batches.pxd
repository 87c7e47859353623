cimport cython
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t

cdef enum:
    # Record batch v2 (KIP-98): offsets of its fields.
    BASE_OFFSET = 0
    BATCH_LENGTH = 8                # bytes after this field
    LEADER_EPOCH = 12
    MAGIC = 16                      # in the same place in the older formats
    CRC = 17                        # CRC-32C of everything from ATTRIBUTES on
    ATTRIBUTES = 21
    LAST_OFFSET_DELTA = 23
    BASE_TIMESTAMP = 27
    MAX_TIMESTAMP = 35
    PRODUCER_ID = 43
    PRODUCER_EPOCH = 51
    BASE_SEQUENCE = 53
    RECORD_COUNT = 57
    RECORDS = 61

    # Message formats 0 and 1: offset and size as above, then these.
    LEGACY_CRC = 12                 # CRC-32 of everything from MAGIC on
    LEGACY_ATTRIBUTES = 17
    LEGACY_TIMESTAMP = 18           # format 1 only

    LENGTH_END = 12                 # offset and length: what is needed to know where a batch ends
    RECORD_BYTES_MIN = 7            # a v2 record with neither key, value nor headers

    COMPRESSION_MASK = 0x07
    LOG_APPEND_TIME_FLAG = 0x08
    TRANSACTIONAL_FLAG = 0x10
    CONTROL_FLAG = 0x20
    DELETE_HORIZON_FLAG = 0x40      # the base timestamp is a delete horizon (KIP-534)


@cython.final
cdef class BatchHeader:
    cdef readonly Py_ssize_t position
    cdef readonly Py_ssize_t size_in_bytes
    cdef readonly int64_t base_offset
    cdef readonly int64_t last_offset
    cdef readonly int64_t base_timestamp_ms
    cdef readonly int64_t max_timestamp_ms
    cdef readonly int64_t producer_id
    cdef readonly int32_t partition_leader_epoch
    cdef readonly int32_t base_sequence
    cdef readonly int32_t record_count
    cdef readonly uint32_t crc
    cdef readonly int16_t producer_epoch
    cdef readonly int8_t magic
    cdef int16_t attributes


# None when the batch is not there to its end; raises CorruptBatch.
cdef BatchHeader read_header(const uint8_t *data, Py_ssize_t position, Py_ssize_t end, bint check_crc)
cdef object corrupt(int magic, str field, Py_ssize_t offset, str why)       # a CorruptBatch to raise
cdef uint32_t batch_checksum(const uint8_t *batch, Py_ssize_t size) except? 0
cdef int open_view(Py_buffer *view, object data, Py_ssize_t start, int flags) except -1


cdef inline Py_ssize_t legacy_key_position(int magic) noexcept:
    return LEGACY_TIMESTAMP + 8 if magic == 1 else LEGACY_TIMESTAMP
