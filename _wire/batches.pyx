# cython: language_level=3, boundscheck=False, wraparound=False
"""The headers of batches in formats 0, 1 and 2, and the operations of a log that need no records.

Layouts: KIP-98 (format 2), KIP-32 (format 1). A length is held against the bytes that are there before it is believed.
"""

cimport cython
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT64_MAX, uint16_t, uint64_t

from _wire.crc32c_nogil cimport crc32c as crc32c_of_bytes
from _wire.big_endian cimport load_uint16, load_uint32, load_uint64, store_uint16, store_uint32, store_uint64

from zlib import crc32

from _wire.checksums import crc32c
from _wire.compression import COMPRESSIONS
from _wire.errors import MalformedMessage

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *memory, Py_ssize_t size, int flags)

cdef enum:
    SMALL_BYTES = 4096                  # of a batch: a call of the package takes longer than a plain loop over so many

NO_TIMESTAMP = -1
BATCH_HEADER_BYTES = RECORDS


class CorruptBatch(MalformedMessage):
    pass


@cython.final
@cython.freelist(64)
cdef class BatchHeader:

    @property
    def next_offset(self):
        return self.last_offset + 1

    @property
    def compression(self):
        return COMPRESSIONS[self.attributes & COMPRESSION_MASK]

    @property
    def timestamp_type(self):
        if self.magic == 0:
            return "NoTimestampType"
        return "LogAppendTime" if self.attributes & LOG_APPEND_TIME_FLAG else "CreateTime"

    @property
    def delete_horizon_ms(self):
        return self.base_timestamp_ms if self.magic == 2 and self.attributes & DELETE_HORIZON_FLAG else None

    @property
    def last_sequence(self):
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + (self.last_offset - self.base_offset)) & INT32_MAX

    @property
    def is_transactional(self):
        return self.magic == 2 and self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self):
        return self.magic == 2 and self.attributes & CONTROL_FLAG != 0

    def __repr__(self):
        return (
            f"BatchHeader(offsets {self.base_offset}..{self.last_offset}, {self.size_in_bytes} bytes "
            f"at {self.position}, magic {self.magic}, {self.record_count} records, {self.compression})"
        )


# -------------------------------------------------------------------------------------------------------------- headers

cdef object corrupt(int magic, str field, Py_ssize_t offset, str why):
    return CorruptBatch("RecordBatch", magic, field, offset, why)


cdef uint32_t checksum(object function, const uint8_t *data, Py_ssize_t size) except? 0:
    return function(PyMemoryView_FromMemory(<char *>data, size, PyBUF_READ))


cdef uint32_t batch_checksum(const uint8_t *batch, Py_ssize_t size) except? 0:
    if size <= SMALL_BYTES:
        return crc32c_of_bytes(batch + ATTRIBUTES, size - ATTRIBUTES)
    return checksum(crc32c, batch + ATTRIBUTES, size - ATTRIBUTES)


cdef int check_checksum(BatchHeader header, const uint8_t *batch) except -1:
    cdef uint32_t computed
    if header.magic == 2:
        computed = batch_checksum(batch, header.size_in_bytes)
    else:
        computed = checksum(crc32, batch + MAGIC, header.size_in_bytes - MAGIC)
    if computed != header.crc:
        raise corrupt(header.magic, "crc", header.position, f"is {computed:#010x}, the batch says {header.crc:#010x}")
    return 0


cdef BatchHeader read_header(const uint8_t *data, Py_ssize_t position, Py_ssize_t end, bint check_crc):
    """The batch at `position`; None if it is incomplete."""
    cdef BatchHeader header
    cdef const uint8_t *batch = data + position
    cdef int32_t length
    cdef int magic
    if end - position < LENGTH_END:
        return None
    length = <int32_t>load_uint32(batch + BATCH_LENGTH)
    if length < LEGACY_ATTRIBUTES + 1 - LENGTH_END:
        raise corrupt(-1, "batch_length", position, f"length {length} is not allowed")
    if length > end - position - LENGTH_END:
        return None
    magic = <int8_t>batch[MAGIC]
    header = BatchHeader.__new__(BatchHeader)
    header.position = position
    header.size_in_bytes = LENGTH_END + length
    header.magic = magic
    header.base_offset = <int64_t>load_uint64(batch + BASE_OFFSET)
    if magic == 2:
        read_batch_fields(header, batch)
    elif magic == 0 or magic == 1:
        read_message_fields(header, batch)
    else:
        raise corrupt(magic, "magic", position, "unknown record format")
    if header.attributes & COMPRESSION_MASK > 4:
        raise corrupt(magic, "attributes", position, f"unknown compression {header.attributes & COMPRESSION_MASK}")
    if check_crc:
        check_checksum(header, batch)
    return header


cdef int read_batch_fields(BatchHeader header, const uint8_t *batch) except -1:
    cdef int32_t last_offset_delta
    if header.size_in_bytes < RECORDS:
        raise corrupt(2, "batch_length", header.position, f"{header.size_in_bytes} bytes are less than a header")
    last_offset_delta = <int32_t>load_uint32(batch + LAST_OFFSET_DELTA)
    header.partition_leader_epoch = <int32_t>load_uint32(batch + LEADER_EPOCH)
    header.crc = load_uint32(batch + CRC)
    header.attributes = <int16_t>load_uint16(batch + ATTRIBUTES)
    header.base_timestamp_ms = <int64_t>load_uint64(batch + BASE_TIMESTAMP)
    header.max_timestamp_ms = <int64_t>load_uint64(batch + MAX_TIMESTAMP)
    header.producer_id = <int64_t>load_uint64(batch + PRODUCER_ID)
    header.producer_epoch = <int16_t>load_uint16(batch + PRODUCER_EPOCH)
    header.base_sequence = <int32_t>load_uint32(batch + BASE_SEQUENCE)
    header.record_count = <int32_t>load_uint32(batch + RECORD_COUNT)
    if last_offset_delta < 0 or header.base_offset < 0 or header.base_offset > INT64_MAX - last_offset_delta:
        raise corrupt(
            2, "last_offset_delta", header.position,
            f"{last_offset_delta} after offset {header.base_offset} is not allowed",
        )
    if header.record_count < 0:
        raise corrupt(2, "record_count", header.position, f"count {header.record_count} is not allowed")
    header.last_offset = header.base_offset + last_offset_delta
    return 0


cdef int read_message_fields(BatchHeader header, const uint8_t *message) except -1:
    """A message of format 0 or 1. `base_offset` is its own offset or, if compressed, that of its last inner message."""
    if header.size_in_bytes < legacy_key_position(header.magic) + 8:
        raise corrupt(
            header.magic, "message_size", header.position, f"{header.size_in_bytes} bytes are less than a message"
        )
    header.last_offset = header.base_offset
    header.partition_leader_epoch = header.base_sequence = header.producer_epoch = -1
    header.producer_id = -1
    header.crc = load_uint32(message + LEGACY_CRC)
    header.attributes = message[LEGACY_ATTRIBUTES]
    header.max_timestamp_ms = <int64_t>load_uint64(message + LEGACY_TIMESTAMP) if header.magic == 1 else -1
    header.base_timestamp_ms = header.max_timestamp_ms
    header.record_count = -1 if header.attributes & COMPRESSION_MASK else 1
    return 0


cdef int open_view(Py_buffer *view, object data, Py_ssize_t start, int flags) except -1:
    PyObject_GetBuffer(data, view, flags)
    if start < 0 or start > view.len:
        PyBuffer_Release(view)
        raise ValueError(f"start {start} lies outside of the {view.len} bytes given")
    return 0


def batch_headers(data, Py_ssize_t start=0, bint check_crc=True):
    cdef Py_buffer view
    cdef Py_ssize_t position = start
    cdef BatchHeader header
    cdef list headers = []
    open_view(&view, data, start, PyBUF_SIMPLE)
    try:
        while True:
            header = read_header(<const uint8_t *>view.buf, position, view.len, check_crc)
            if header is None:
                return headers
            headers.append(header)
            position += header.size_in_bytes
    finally:
        PyBuffer_Release(&view)


def set_batch_position(buffer, Py_ssize_t start, int64_t base_offset, int32_t partition_leader_epoch):
    cdef Py_buffer view
    open_view(&view, buffer, start, PyBUF_WRITABLE)
    cdef uint8_t *batch = <uint8_t *>view.buf + start
    try:
        if view.len - start < RECORDS or batch[MAGIC] != 2:
            raise corrupt(2, "", start, "no batch of format 2 begins here")
        store_uint64(batch + BASE_OFFSET, <uint64_t>base_offset)
        store_uint32(batch + LEADER_EPOCH, <uint32_t>partition_leader_epoch)
    finally:
        PyBuffer_Release(&view)


def set_log_append_time(buffer, Py_ssize_t start, int64_t timestamp_ms):
    cdef Py_buffer view
    cdef BatchHeader header
    open_view(&view, buffer, start, PyBUF_WRITABLE)
    cdef uint8_t *batch = <uint8_t *>view.buf + start
    try:
        header = read_header(<const uint8_t *>view.buf, start, view.len, False)
        if header is None or header.magic != 2:
            raise corrupt(2, "", start, "no batch of format 2 lies here")
        store_uint16(batch + ATTRIBUTES, <uint16_t>(header.attributes | LOG_APPEND_TIME_FLAG))
        store_uint64(batch + MAX_TIMESTAMP, <uint64_t>timestamp_ms)
        store_uint32(batch + CRC, batch_checksum(batch, header.size_in_bytes))
    finally:
        PyBuffer_Release(&view)


# ------------------------------------------------------------------------------------------------------------- for logs

def place_batches(buffer, int64_t base_offset, int32_t partition_leader_epoch, bint check_crc=True):
    cdef Py_buffer view
    cdef Py_ssize_t position = 0
    cdef int64_t last_offset_delta
    cdef BatchHeader header
    cdef list headers = []
    cdef uint8_t *data
    PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE)
    data = <uint8_t *>view.buf
    try:
        while position < view.len or not headers:
            header = read_header(data, position, view.len, check_crc)
            if header is None or header.magic != 2:
                raise corrupt(2, "", position, "no whole batch of format 2 lies here")
            last_offset_delta = header.last_offset - header.base_offset
            if base_offset > INT64_MAX - 1 - last_offset_delta:
                raise corrupt(2, "base_offset", position, f"no offset is left after {base_offset}")
            header.base_offset = base_offset
            header.last_offset = base_offset + last_offset_delta
            header.partition_leader_epoch = partition_leader_epoch
            store_uint64(data + position + BASE_OFFSET, <uint64_t>base_offset)
            store_uint32(data + position + LEADER_EPOCH, <uint32_t>partition_leader_epoch)
            base_offset = header.last_offset + 1
            position += header.size_in_bytes
            headers.append(header)
        return headers
    finally:
        PyBuffer_Release(&view)


def place_batch(
    BatchHeader header not None, buffer, int64_t base_offset, int32_t partition_leader_epoch,
    int64_t log_append_time_ms=-1,
):
    cdef Py_buffer view
    cdef uint8_t *batch
    cdef int64_t last_offset_delta = header.last_offset - header.base_offset
    if base_offset > INT64_MAX - 1 - last_offset_delta:
        raise corrupt(2, "base_offset", 0, f"no offset is left after {base_offset}")
    PyObject_GetBuffer(buffer, &view, PyBUF_WRITABLE)
    try:
        if view.len != header.size_in_bytes:
            raise corrupt(2, "batch_length", 0, f"{view.len} bytes are not the batch of {header.size_in_bytes} bytes")
        batch = <uint8_t *>view.buf
        header.base_offset = base_offset
        header.last_offset = base_offset + last_offset_delta
        header.partition_leader_epoch = partition_leader_epoch
        store_uint64(batch + BASE_OFFSET, <uint64_t>base_offset)
        store_uint32(batch + LEADER_EPOCH, <uint32_t>partition_leader_epoch)
        if log_append_time_ms >= 0:
            header.attributes |= LOG_APPEND_TIME_FLAG
            header.max_timestamp_ms = log_append_time_ms
            store_uint16(batch + ATTRIBUTES, <uint16_t>header.attributes)
            store_uint64(batch + MAX_TIMESTAMP, <uint64_t>log_append_time_ms)
            header.crc = batch_checksum(batch, header.size_in_bytes)
            store_uint32(batch + CRC, header.crc)
    finally:
        PyBuffer_Release(&view)


def find_batch(data, int64_t offset, int64_t lowest_offset=-1, bint may_have_gaps=True):
    cdef Py_buffer view
    cdef Py_ssize_t position = 0
    cdef const uint8_t *batch
    cdef int32_t length, last_offset_delta
    cdef int64_t base_offset
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while view.len - position >= BASE_TIMESTAMP:
            batch = <const uint8_t *>view.buf + position
            length = <int32_t>load_uint32(batch + BATCH_LENGTH)
            if length < RECORDS - LENGTH_END:
                raise corrupt(2, "batch_length", position, f"length {length} is not allowed")
            if batch[MAGIC] != 2:
                raise corrupt(<int8_t>batch[MAGIC], "magic", position, "unknown record format")
            base_offset = <int64_t>load_uint64(batch + BASE_OFFSET)
            last_offset_delta = <int32_t>load_uint32(batch + LAST_OFFSET_DELTA)
            if (
                base_offset < max(lowest_offset, 0) or last_offset_delta < 0
                or base_offset >= INT64_MAX - last_offset_delta
            ):
                raise corrupt(
                    2, "base_offset", position, f"{base_offset} and {last_offset_delta} more cannot follow here"
                )
            if not may_have_gaps and base_offset > lowest_offset >= 0:
                raise corrupt(2, "base_offset", position, f"{base_offset} where {lowest_offset} is expected")
            lowest_offset = base_offset + last_offset_delta + 1
            if lowest_offset > offset:
                return position, True
            position += LENGTH_END + <Py_ssize_t>length
        return position, False
    finally:
        PyBuffer_Release(&view)


def end_of_whole_batches(data, int64_t before_offset=INT64_MAX):
    cdef Py_buffer view
    cdef Py_ssize_t position = 0
    cdef int32_t length
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while view.len - position >= LENGTH_END:
            if <int64_t>load_uint64(<const uint8_t *>view.buf + position) >= before_offset:
                break
            length = <int32_t>load_uint32(<const uint8_t *>view.buf + position + BATCH_LENGTH)
            if length < RECORDS - LENGTH_END or length > view.len - position - LENGTH_END:
                break
            position += LENGTH_END + length
        return position
    finally:
        PyBuffer_Release(&view)


def next_offset_after(data):
    cdef Py_buffer view
    cdef Py_ssize_t position = 0
    cdef int64_t next_offset = 0
    cdef const uint8_t *batch
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while view.len - position >= RECORDS:
            batch = <const uint8_t *>view.buf + position
            next_offset = <int64_t>load_uint64(batch + BASE_OFFSET) + 1
            next_offset += <int32_t>load_uint32(batch + LAST_OFFSET_DELTA)
            position += LENGTH_END + max(<int32_t>load_uint32(batch + BATCH_LENGTH), RECORDS - LENGTH_END)
        return next_offset
    finally:
        PyBuffer_Release(&view)


def damaged_batch(data, int64_t offset):
    cdef Py_buffer view
    cdef Py_ssize_t position = 0
    cdef int64_t lowest_offset = -1
    cdef BatchHeader header
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while position < view.len:
            try:
                header = read_header(<const uint8_t *>view.buf, position, view.len, True)
            except CorruptBatch:
                return position
            if header is None or header.magic != 2 or header.base_offset < lowest_offset:
                return position
            if position == 0 and (header.base_offset > offset or header.last_offset < offset < INT64_MAX):
                return position
            lowest_offset = header.last_offset + 1
            position += header.size_in_bytes
        return -1
    finally:
        PyBuffer_Release(&view)
