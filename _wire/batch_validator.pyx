# cython: language_level=3, boundscheck=False, wraparound=False
"""The rules for the one batch that a Produce request has for a partition, in one pass over its bytes.

The order of the rules is Kafka's: ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords, LogValidator.
"""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from _wire.batches cimport (
    ATTRIBUTES, BASE_OFFSET, BATCH_LENGTH, COMPRESSION_MASK, CONTROL_FLAG, CRC, LAST_OFFSET_DELTA, LENGTH_END,
    LOG_APPEND_TIME_FLAG, MAGIC, MAX_TIMESTAMP, RECORD_BYTES_MIN, RECORD_COUNT, RECORDS, BatchHeader, batch_checksum,
    read_header,
)
from _wire.big_endian cimport load_uint16, load_uint32, load_uint64, store_uint16, store_uint32, store_uint64
from _wire.record_fields cimport headers, nullable_bytes, varint, varlong

from _wire.compression import BadCompression, DecompressedTooLarge, decompress_to_scratch
from _wire.errors import ErrorCode

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *memory, Py_ssize_t size, int flags)

cdef enum:
    COMPRESSION_MAX = 4
    ZSTD = 4
    FIRST_VERSION_WITH_ZSTD = 7                     # KIP-110
    LENGTH_MIN = 14                                 # of what follows the length: the smallest message of format 0
    NO_TIMESTAMP = -1
    RECORD_ERRORS_MAX = 1000

cdef enum Problem:
    NO_PROBLEM
    TOO_FEW_RECORDS
    BYTES_AFTER_RECORDS
    BAD_RECORD_SIZE
    BAD_RECORD_FIELDS
    BAD_OFFSET_DELTA
    BAD_KEY
    BAD_VALUE
    BAD_HEADERS
    BYTES_AFTER_HEADERS

cdef tuple PROBLEMS = (
    "",
    "the records end before it",
    "there are bytes after the last record",
    "its size is not within the batch",
    "its timestamp or offset delta is cut short",
    "its offset delta is not its number in the batch",
    "its key does not lie within it",
    "its value does not lie within it",
    "its headers do not lie within it",
    "there are bytes after its headers",
)


cdef struct Scan:
    const uint8_t *position
    const uint8_t *end
    int32_t index                                   # the record that is read
    int32_t count
    int64_t base_timestamp_ms
    int64_t earliest_ms
    int64_t latest_ms
    int64_t max_timestamp_ms
    bint keys_required
    bint is_keyless                                 # the record that was read last


WITHOUT_LOG_START = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)


class InvalidBatch(Exception):

    def __init__(self, error, why, record_errors=(), names_log_start=True):
        super().__init__(why)
        self.error = error
        self.record_errors = record_errors
        self.names_log_start = names_log_start and error not in WITHOUT_LOG_START


def validate_batch(
    data, int api_version, Py_ssize_t batch_bytes_max, int64_t earliest_ms, int64_t latest_ms,
    Py_ssize_t decompressed_bytes_max, bint keys_required=False,
):
    cdef Py_buffer view
    cdef BatchHeader header
    cdef Scan scan
    if data is None:
        data = b""
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        header = check_header(<const uint8_t *>view.buf, view.len, api_version, batch_bytes_max)
        start_scan(&scan, header, earliest_ms, latest_ms, keys_required)
        check_records(&scan, header, <const uint8_t *>view.buf, decompressed_bytes_max)
        return batch_to_store(header, <const uint8_t *>view.buf, scan.max_timestamp_ms)
    finally:
        PyBuffer_Release(&view)


cdef tuple batch_to_store(BatchHeader header, const uint8_t *data, int64_t max_timestamp_ms):
    """As Kafka does, correct the maximum of the timestamps: the time index of the log depends on it."""
    stored = PyByteArray_FromStringAndSize(<const char *>data, header.size_in_bytes)
    cdef uint8_t *batch = <uint8_t *>PyByteArray_AS_STRING(stored)
    if max_timestamp_ms != header.max_timestamp_ms or header.attributes & LOG_APPEND_TIME_FLAG:
        header.attributes &= ~LOG_APPEND_TIME_FLAG
        header.max_timestamp_ms = max_timestamp_ms
        store_uint16(batch + ATTRIBUTES, header.attributes)
        store_uint64(batch + MAX_TIMESTAMP, max_timestamp_ms)
        header.crc = batch_checksum(batch, header.size_in_bytes)
        store_uint32(batch + CRC, header.crc)
    return header, stored


# --------------------------------------------------------------------------------------------------------------- header

cdef Py_ssize_t size_of_batch(const uint8_t *data, Py_ssize_t position, Py_ssize_t end) except -1:
    """0 if there is no whole batch: what is left after the first one is ignored then, as by Kafka."""
    cdef int32_t length
    if end - position < LENGTH_END:
        return 0
    length = <int32_t>load_uint32(data + position + BATCH_LENGTH)
    if length < LENGTH_MIN:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"a batch length of {length} is not allowed")
    if end - position <= MAGIC:
        return 0
    if data[position + MAGIC] > 2:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"record format {<signed char>data[position + MAGIC]} is unknown")
    return LENGTH_END + <Py_ssize_t>length if length <= end - position - LENGTH_END else 0


cdef BatchHeader check_header(const uint8_t *data, Py_ssize_t end, int api_version, Py_ssize_t batch_bytes_max):
    cdef Py_ssize_t size = size_of_batch(data, 0, end)
    cdef int attributes
    if size == 0:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD, "one whole record batch is expected for each partition", names_log_start=False
        )
    if data[MAGIC] != 2:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD, f"record format {data[MAGIC]} is not supported; use format 2",
            names_log_start=False,
        )
    attributes = load_uint16(data + ATTRIBUTES)
    if api_version < FIRST_VERSION_WITH_ZSTD and attributes & COMPRESSION_MASK == ZSTD:
        raise InvalidBatch(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce version {FIRST_VERSION_WITH_ZSTD} or later",
            names_log_start=False,
        )
    if size_of_batch(data, size, end) != 0:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD, "only one record batch is allowed for each partition", names_log_start=False
        )
    if load_uint64(data + BASE_OFFSET) != 0:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD, f"the base offset must be 0, not {<int64_t>load_uint64(data + BASE_OFFSET)}"
        )
    if size > batch_bytes_max:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE, f"a batch has {size} bytes, but max.message.bytes is {batch_bytes_max}"
        )
    check_checksum(data, size)
    if attributes & COMPRESSION_MASK > COMPRESSION_MAX:
        raise InvalidBatch(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression {attributes & COMPRESSION_MASK} is unknown"
        )
    check_offsets(data)
    header = read_header(data, 0, size, False)
    if attributes & CONTROL_FLAG:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, "clients may not write control batches")
    if header.producer_id > -1 and header.base_sequence < 0:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD, f"sequence {header.base_sequence} in a batch of producer {header.producer_id}"
        )
    return header


cdef int check_checksum(const uint8_t *data, Py_ssize_t size) except -1:
    if size < RECORDS:
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, f"{size} bytes are less than a batch header")
    if batch_checksum(data, size) != load_uint32(data + CRC):
        raise InvalidBatch(ErrorCode.CORRUPT_MESSAGE, "the checksum of the batch is wrong")
    return 0


cdef int check_offsets(const uint8_t *data) except -1:
    cdef int64_t offsets = <int64_t><int32_t>load_uint32(data + LAST_OFFSET_DELTA) + 1
    cdef int64_t records = <int32_t>load_uint32(data + RECORD_COUNT)
    if records <= 0 or offsets != records:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, f"a batch of {records} records takes {offsets} offsets")
    return 0


# -------------------------------------------------------------------------------------------------------------- records

cdef void start_scan(
    Scan *scan, BatchHeader header, int64_t earliest_ms, int64_t latest_ms, bint keys_required
) noexcept:
    scan.index = 0
    scan.count = header.record_count
    scan.base_timestamp_ms = header.base_timestamp_ms
    scan.earliest_ms = earliest_ms
    scan.latest_ms = latest_ms
    scan.max_timestamp_ms = NO_TIMESTAMP
    scan.keys_required = keys_required


cdef int check_records(
    Scan *scan, BatchHeader header, const uint8_t *batch, Py_ssize_t decompressed_bytes_max
) except -1:
    cdef Py_buffer view
    cdef Py_ssize_t size = header.size_in_bytes - RECORDS
    if header.attributes & COMPRESSION_MASK == 0:
        return check_plain_records(scan, batch + RECORDS, size)
    compressed = PyMemoryView_FromMemory(<char *>batch + RECORDS, size, PyBUF_READ)
    plain = decompressed(header, compressed, decompressed_bytes_max)
    PyObject_GetBuffer(plain, &view, PyBUF_SIMPLE)
    try:
        return check_plain_records(scan, <const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef object decompressed(BatchHeader header, object data, Py_ssize_t bytes_max):
    # MESSAGE_TOO_LARGE: at this error Kafka's Java producer splits the batch and sends the parts.
    if header.record_count > bytes_max // RECORD_BYTES_MIN:
        raise InvalidBatch(
            ErrorCode.MESSAGE_TOO_LARGE, f"{header.record_count} records do not fit into {bytes_max} bytes"
        )
    try:
        return decompress_to_scratch(header.compression, data, bytes_max)
    except DecompressedTooLarge as problem:
        raise InvalidBatch(ErrorCode.MESSAGE_TOO_LARGE, str(problem)) from None
    except BadCompression as problem:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, f"the records cannot be decompressed: {problem}") from None


cdef int check_plain_records(Scan *scan, const uint8_t *data, Py_ssize_t size) except -1:
    cdef Problem problem
    cdef list outside = []
    cdef list keyless = []
    cdef int64_t timestamp_ms
    scan.position = data
    scan.end = data + size
    while scan.index < scan.count:
        problem = check_record(scan, &timestamp_ms)
        if problem != NO_PROBLEM:
            raise InvalidBatch(ErrorCode.INVALID_RECORD, f"record {scan.index}: {PROBLEMS[<int>problem]}")
        if timestamp_ms > scan.max_timestamp_ms:
            scan.max_timestamp_ms = timestamp_ms
        if scan.keys_required and scan.is_keyless and len(keyless) < RECORD_ERRORS_MAX:
            keyless.append((scan.index, "Compacted topic cannot accept message without key"))
        if timestamp_ms < scan.earliest_ms or timestamp_ms > scan.latest_ms:
            if timestamp_ms != NO_TIMESTAMP and len(outside) < RECORD_ERRORS_MAX:
                outside.append((scan.index, timestamp_ms))
        scan.index += 1
    if scan.position != scan.end:
        raise InvalidBatch(ErrorCode.INVALID_RECORD, PROBLEMS[<int>BYTES_AFTER_RECORDS])
    if keyless:
        raise InvalidBatch(
            ErrorCode.INVALID_RECORD,
            "One or more records have been rejected: a compacted topic cannot accept a message without key",
            keyless,
        )
    if outside:
        raise_timestamps(scan, outside)
    return 0


cdef int raise_timestamps(Scan *scan, list outside) except -1:
    errors = [
        (
            index,
            f"Timestamp {timestamp_ms} of message with offset {index} is out of range. The timestamp should be within "
            f"[{scan.earliest_ms}, {scan.latest_ms}]",
        )
        for index, timestamp_ms in outside
    ]
    raise InvalidBatch(
        ErrorCode.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", errors
    )


cdef inline Problem check_record(Scan *scan, int64_t *timestamp_ms) noexcept:
    cdef const uint8_t *p = scan.position
    cdef const uint8_t *end = scan.end
    cdef int64_t size, delta, offset
    if p == end:
        return TOO_FEW_RECORDS
    p = varint(p, end, &size)
    if p == NULL or size < 0 or size > end - p:
        return BAD_RECORD_SIZE
    end = p + size
    if size == 0:
        return BAD_RECORD_FIELDS
    p = varlong(p + 1, end, &delta)                 # after the attributes: none are defined
    if p == NULL:
        return BAD_RECORD_FIELDS
    p = varint(p, end, &offset)
    if p == NULL:
        return BAD_RECORD_FIELDS
    if offset != scan.index:
        return BAD_OFFSET_DELTA
    p = varint(p, end, &size)
    if p == NULL or size < -1 or size > end - p:
        return BAD_KEY
    scan.is_keyless = size < 0
    if size > 0:
        p += size
    p = nullable_bytes(p, end)
    if p == NULL:
        return BAD_VALUE
    p = headers(p, end)
    if p == NULL:
        return BAD_HEADERS
    if p != end:
        return BYTES_AFTER_HEADERS
    timestamp_ms[0] = <int64_t>(<uint64_t>scan.base_timestamp_ms + <uint64_t>delta)
    scan.position = end
    return NO_PROBLEM
