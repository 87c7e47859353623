"""Batches of format 2 and their records, as the cleaner reads them: in C structures, without the GIL."""

from libc.stdint cimport INT32_MAX, INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from _wire.batches cimport (
    ATTRIBUTES, BASE_OFFSET, BASE_SEQUENCE, BASE_TIMESTAMP, BATCH_LENGTH, COMPRESSION_MASK, CONTROL_FLAG, CRC,
    LAST_OFFSET_DELTA, LEADER_EPOCH, LENGTH_END, MAGIC, MAX_TIMESTAMP, PRODUCER_EPOCH, PRODUCER_ID, RECORD_COUNT,
    RECORDS, TRANSACTIONAL_FLAG,
)
from _wire.crc32c_nogil cimport crc32c
from _wire.big_endian cimport load_uint16, load_uint32, load_uint64
from _wire.record_fields cimport headers, nullable_bytes, varint, varlong


cdef struct Head:
    int64_t base_offset
    int64_t last_offset
    int64_t base_timestamp_ms
    int64_t max_timestamp_ms
    int64_t producer_id
    int32_t size
    int32_t leader_epoch
    int32_t base_sequence
    int32_t record_count
    int16_t attributes
    int16_t producer_epoch


cdef struct RecordView:
    const uint8_t *key                  # NULL: null
    int64_t key_size
    bint has_value
    int64_t timestamp_delta
    int64_t offset_delta
    const uint8_t *offset_field         # from here to `end` nothing changes when a record is kept
    const uint8_t *end


cdef enum Problem:
    NO_PROBLEM
    INCOMPLETE                          # the batch does not end within the bytes given
    COMPRESSED                          # its records must be decompressed first
    BAD_LENGTH
    BAD_MAGIC
    BAD_CODEC
    BAD_OFFSETS
    BAD_ORDER
    BAD_CRC
    BAD_COUNT
    BAD_RECORD
    BAD_MARKER
    TOO_LARGE
    TOO_MANY_PRODUCERS
    OUT_OF_MEMORY


cdef inline Problem read_head(const uint8_t *data, Py_ssize_t left, bint check_crc, Head *head) noexcept nogil:
    cdef int32_t length, last_offset_delta
    if left < LENGTH_END:
        return INCOMPLETE
    length = <int32_t>load_uint32(data + BATCH_LENGTH)
    if length < RECORDS - LENGTH_END or length > INT32_MAX - LENGTH_END:
        return BAD_LENGTH
    if length > left - LENGTH_END:
        return INCOMPLETE
    if data[MAGIC] != 2:
        return BAD_MAGIC
    head.size = length + LENGTH_END
    head.base_offset = <int64_t>load_uint64(data + BASE_OFFSET)
    last_offset_delta = <int32_t>load_uint32(data + LAST_OFFSET_DELTA)
    if last_offset_delta < 0 or head.base_offset < 0 or head.base_offset >= INT64_MAX - last_offset_delta:
        return BAD_OFFSETS
    head.last_offset = head.base_offset + last_offset_delta
    head.leader_epoch = <int32_t>load_uint32(data + LEADER_EPOCH)
    head.attributes = <int16_t>load_uint16(data + ATTRIBUTES)
    head.base_timestamp_ms = <int64_t>load_uint64(data + BASE_TIMESTAMP)
    head.max_timestamp_ms = <int64_t>load_uint64(data + MAX_TIMESTAMP)
    head.producer_id = <int64_t>load_uint64(data + PRODUCER_ID)
    head.producer_epoch = <int16_t>load_uint16(data + PRODUCER_EPOCH)
    head.base_sequence = <int32_t>load_uint32(data + BASE_SEQUENCE)
    head.record_count = <int32_t>load_uint32(data + RECORD_COUNT)
    if head.attributes & COMPRESSION_MASK > 4:
        return BAD_CODEC
    if head.record_count < 0:
        return BAD_COUNT
    if check_crc and crc32c(data + ATTRIBUTES, head.size - ATTRIBUTES) != load_uint32(data + CRC):
        return BAD_CRC
    return NO_PROBLEM


cdef inline const uint8_t *read_record(
    const uint8_t *p, const uint8_t *end, const Head *head, RecordView *record
) noexcept nogil:
    """The position after the record; NULL if it is malformed or its offset is not within the batch."""
    cdef int64_t size
    p = varint(p, end, &size)
    if p == NULL or size < 1 or size > end - p:
        return NULL
    end = p + size
    p = varlong(p + 1, end, &record.timestamp_delta)    # after the attributes: none are defined
    if p == NULL:
        return NULL
    record.offset_field = p
    p = varint(p, end, &record.offset_delta)
    if p == NULL or record.offset_delta < 0 or record.offset_delta > head.last_offset - head.base_offset:
        return NULL
    p = varint(p, end, &record.key_size)
    if p == NULL or record.key_size < -1 or record.key_size > end - p:
        return NULL
    record.key = NULL
    if record.key_size >= 0:
        record.key = p
        p += record.key_size
    record.has_value = p < end and p[0] != 1            # 1 is the varint of -1, which stands for null
    p = nullable_bytes(p, end)
    if p == NULL:
        return NULL
    p = headers(p, end)
    if p != end:
        return NULL
    record.end = end
    return end


cdef inline bint is_control(const Head *head) noexcept nogil:
    return head.attributes & CONTROL_FLAG != 0


cdef inline bint is_transactional(const Head *head) noexcept nogil:
    return head.attributes & TRANSACTIONAL_FLAG != 0
