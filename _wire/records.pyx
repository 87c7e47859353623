# cython: language_level=3, boundscheck=False, wraparound=False
"""Record batches: format 2 read and written, formats 0 and 1 (`magic`) read.

Layouts: KIP-98 (format 2), KIP-32 (format 1). Lengths and counts are held against the bytes that are there before memory is taken.
"""

cimport cython
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.stdint cimport INT32_MAX, INT64_MAX, uint16_t, uint64_t
from libc.string cimport memcpy

from _wire.primitives cimport (
    Reader, Writer, bytes_left, bytes_written, close_writer, finish_writer, load_uint16, load_uint32, load_uint64, open_writer,
    raise_bad_length, raise_malformed, read_int8, read_varint, read_varlong, reader_over, reserve, store_uint16, store_uint32,
    store_uint64, take, varint_size, varlong_size, write_raw, write_varint, write_varlong,
)

from zlib import crc32

from crc32c import crc32c

from _wire.compression import COMPRESSIONS, BadCompression, compress, decompress, repair_lz4_header
from _wire.errors import MalformedMessage

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *memory, Py_ssize_t size, int flags)
    str PyUnicode_DecodeUTF8(const char *text, Py_ssize_t size, const char *errors)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

DECOMPRESSED_BYTES_MAX = 100 * 1024 * 1024      # socket.request.max.bytes: nobody could have sent more uncompressed
NO_TIMESTAMP = -1
BATCH_HEADER_BYTES = RECORDS


class CorruptBatch(MalformedMessage):
    pass


@cython.final
@cython.freelist(256)
cdef class Record:

    def __init__(self, *, int64_t offset=0, int64_t timestamp_ms=-1, bytes key=None, bytes value=None, headers=()):
        self.offset = offset
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self.headers = list(headers)

    def __eq__(self, other):
        if not isinstance(other, Record):
            return NotImplemented
        cdef Record that = other
        return (
            self.offset == that.offset and self.timestamp_ms == that.timestamp_ms and self.key == that.key
            and self.value == that.value and self.headers == that.headers
        )

    def __repr__(self):
        return (
            f"Record(offset={self.offset}, timestamp_ms={self.timestamp_ms}, key={self.key!r}, value={self.value!r}, "
            f"headers={self.headers!r})"
        )


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
            f"BatchHeader(offsets {self.base_offset}..{self.last_offset}, {self.size_in_bytes} bytes at {self.position}, "
            f"magic {self.magic}, {self.record_count} records, {self.compression})"
        )


# ---------------------------------------------------------------------------------------------------------------- headers

cdef object corrupt(int magic, str field, Py_ssize_t offset, str why):
    return CorruptBatch("RecordBatch", magic, field, offset, why)


cdef uint32_t checksum(object function, const uint8_t *data, Py_ssize_t size) except? 0:
    return function(PyMemoryView_FromMemory(<char *>data, size, PyBUF_READ))


cdef int check_checksum(BatchHeader header, const uint8_t *batch) except -1:
    cdef uint32_t computed
    if header.magic == 2:
        computed = checksum(crc32c, batch + ATTRIBUTES, header.size_in_bytes - ATTRIBUTES)
    else:
        computed = checksum(crc32, batch + MAGIC, header.size_in_bytes - MAGIC)
    if computed != header.crc:
        raise corrupt(header.magic, "crc", header.position, f"is {computed:#010x}, the batch says {header.crc:#010x}")
    return 0


cdef BatchHeader read_header(const uint8_t *data, Py_ssize_t position, Py_ssize_t end, bint check_crc):
    """The batch at `position`, None when it is not there to its end."""
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
            2, "last_offset_delta", header.position, f"{last_offset_delta} after offset {header.base_offset} is not allowed"
        )
    if header.record_count < 0:
        raise corrupt(2, "record_count", header.position, f"count {header.record_count} is not allowed")
    header.last_offset = header.base_offset + last_offset_delta
    return 0


cdef int read_message_fields(BatchHeader header, const uint8_t *message) except -1:
    """A message of format 0 or 1. `base_offset` holds its own offset, the last one of the batch if it is a compressed one."""
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


cdef inline Py_ssize_t legacy_key_position(int magic) noexcept:
    return LEGACY_TIMESTAMP + 8 if magic == 1 else LEGACY_TIMESTAMP


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
        store_uint32(batch + CRC, checksum(crc32c, batch + ATTRIBUTES, header.size_in_bytes - ATTRIBUTES))
    finally:
        PyBuffer_Release(&view)


# ---------------------------------------------------------------------------------------------------------------- for logs

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


def find_batch(data, int64_t offset):
    cdef Py_buffer view
    cdef Py_ssize_t position = 0
    cdef const uint8_t *batch
    cdef int32_t length
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        while view.len - position >= BASE_TIMESTAMP:
            batch = <const uint8_t *>view.buf + position
            if <int64_t>load_uint64(batch) + <int32_t>load_uint32(batch + LAST_OFFSET_DELTA) >= offset:
                return position, True
            length = <int32_t>load_uint32(batch + BATCH_LENGTH)
            if length < RECORDS - LENGTH_END:
                raise corrupt(2, "batch_length", position, f"length {length} is not allowed")
            position += LENGTH_END + length
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
            if length < 0 or length > view.len - position - LENGTH_END:
                break
            position += LENGTH_END + length
        return position
    finally:
        PyBuffer_Release(&view)


# ---------------------------------------------------------------------------------------------------------------- reading

def parse_batch(data, Py_ssize_t start=0, Py_ssize_t decompressed_bytes_max=DECOMPRESSED_BYTES_MAX):
    cdef Py_buffer view
    cdef BatchHeader header
    open_view(&view, data, start, PyBUF_SIMPLE)
    try:
        header = whole_batch(&view, start)
        return header, read_records(header, <const uint8_t *>view.buf + start, decompressed_bytes_max)
    finally:
        PyBuffer_Release(&view)


def parse_records(data, Py_ssize_t start=0, Py_ssize_t decompressed_bytes_max=DECOMPRESSED_BYTES_MAX):
    cdef Py_buffer view
    cdef BatchHeader header
    cdef list records = []
    open_view(&view, data, start, PyBUF_SIMPLE)
    try:
        while start < view.len:
            header = whole_batch(&view, start)
            records += read_records(header, <const uint8_t *>view.buf + start, decompressed_bytes_max)
            start += header.size_in_bytes
        return records
    finally:
        PyBuffer_Release(&view)


cdef BatchHeader whole_batch(Py_buffer *view, Py_ssize_t start):
    header = read_header(<const uint8_t *>view.buf, start, view.len, True)
    if header is None:
        raise corrupt(-1, "", start, f"truncated: the batch does not end within the {view.len - start} bytes left")
    return header


cdef list read_records(BatchHeader header, const uint8_t *batch, Py_ssize_t decompressed_bytes_max):
    try:
        if header.magic == 2:
            return read_batch_records(header, batch, decompressed_bytes_max)
        return read_messages(header, batch, decompressed_bytes_max)
    except CorruptBatch:
        raise
    except MalformedMessage as error:
        raise CorruptBatch(error.message, error.version, error.field, header.position, error.why) from None
    except BadCompression as error:
        raise corrupt(header.magic, "records", header.position, str(error)) from None


cdef list read_batch_records(BatchHeader header, const uint8_t *batch, Py_ssize_t decompressed_bytes_max):
    cdef Py_buffer view
    cdef const uint8_t *records = batch + RECORDS
    cdef Py_ssize_t size = header.size_in_bytes - RECORDS
    if header.attributes & COMPRESSION_MASK == 0:
        return read_plain_records(header, records, size)
    compressed = PyMemoryView_FromMemory(<char *>records, size, PyBUF_READ)
    plain = decompress(header.compression, compressed, decompressed_bytes_max)
    PyObject_GetBuffer(plain, &view, PyBUF_SIMPLE)
    try:
        return read_plain_records(header, <const uint8_t *>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


cdef list read_plain_records(BatchHeader header, const uint8_t *data, Py_ssize_t size):
    cdef Reader r
    cdef list records = []
    reader_over(&r, data, size, b"RecordBatch", 2)
    r.field = b"records"
    if header.record_count > size // RECORD_BYTES_MIN:
        raise_malformed(&r, f"{header.record_count} records do not fit into {size} bytes")
    for _ in range(header.record_count):
        records.append(read_record(&r, header))
    if bytes_left(&r) != 0:
        raise_malformed(&r, f"{bytes_left(&r)} bytes after the last record")
    return records


cdef Record read_record(Reader *r, BatchHeader header):
    cdef Record record = Record.__new__(Record)
    cdef int32_t length = read_varint(r)
    cdef const uint8_t *end
    cdef int64_t timestamp_delta
    cdef int32_t offset_delta
    if length < 0 or length > bytes_left(r):
        raise_bad_length(r, length)
    end = r.position + length
    read_int8(r)                                    # attributes: none are defined
    timestamp_delta = read_varlong(r)
    offset_delta = read_varint(r)
    if offset_delta < 0 or offset_delta > header.last_offset - header.base_offset:
        raise_malformed(r, f"offset delta {offset_delta} lies outside of the batch")
    record.offset = header.base_offset + offset_delta
    if header.attributes & LOG_APPEND_TIME_FLAG:
        record.timestamp_ms = header.max_timestamp_ms
    else:
        record.timestamp_ms = <int64_t>(<uint64_t>header.base_timestamp_ms + <uint64_t>timestamp_delta)
    record.key = read_varint_bytes(r)
    record.value = read_varint_bytes(r)
    record.headers = read_headers(r)
    if r.position != end:
        raise_malformed(r, f"a record of {length} bytes ends after {length + (r.position - end)}")
    return record


cdef bytes read_varint_bytes(Reader *r):
    cdef int32_t size = read_varint(r)
    if size < -1:
        raise_bad_length(r, size)
    return None if size < 0 else PyBytes_FromStringAndSize(<const char *>take(r, size), size)


cdef list read_headers(Reader *r):
    cdef int32_t count = read_varint(r)
    cdef int32_t size
    cdef const char *name
    cdef list headers = []
    if count < 0 or count > bytes_left(r) // 2:
        raise_malformed(r, f"{count} headers do not fit into {bytes_left(r)} bytes")
    for _ in range(count):
        size = read_varint(r)
        name = <const char *>take(r, size)
        # As in the Java client, a name that is not UTF-8 does not make the record unreadable.
        headers.append((PyUnicode_DecodeUTF8(name, size, b"replace"), read_varint_bytes(r)))
    return headers


cdef bytes read_int32_bytes(Reader *r):
    cdef int32_t size = <int32_t>load_uint32(take(r, 4))
    if size < -1:
        raise_bad_length(r, size)
    return None if size < 0 else PyBytes_FromStringAndSize(<const char *>take(r, size), size)


cdef list read_messages(BatchHeader header, const uint8_t *message, Py_ssize_t decompressed_bytes_max):
    """The record of a message of format 0 or 1, or those of the messages compressed in it."""
    cdef Py_buffer view
    cdef Record record = read_message(header, message)
    if header.attributes & COMPRESSION_MASK == 0:
        return [record]
    if record.value is None or header.compression == "zstd":
        raise corrupt(header.magic, "value", header.position, f"{header.compression} of nothing, or not of this format")
    compressed = record.value
    if header.magic == 0 and header.compression == "lz4":
        compressed = repair_lz4_header(compressed)
    plain = decompress(header.compression, compressed, decompressed_bytes_max)
    PyObject_GetBuffer(plain, &view, PyBUF_SIMPLE)
    try:
        return read_inner_messages(header, &view)
    finally:
        PyBuffer_Release(&view)


cdef Record read_message(BatchHeader header, const uint8_t *message):
    cdef Reader r
    cdef Py_ssize_t position = legacy_key_position(header.magic)
    cdef Record record = Record.__new__(Record)
    reader_over(&r, message + position, header.size_in_bytes - position, b"RecordBatch", header.magic)
    record.offset = header.base_offset
    record.timestamp_ms = header.max_timestamp_ms
    r.field = b"key"
    record.key = read_int32_bytes(&r)
    r.field = b"value"
    record.value = read_int32_bytes(&r)
    record.headers = []
    if bytes_left(&r) != 0:
        raise_malformed(&r, f"{bytes_left(&r)} bytes after the value")
    return record


cdef list read_inner_messages(BatchHeader outer, Py_buffer *view):
    """Offsets in a compressed message of format 1 count from the first one's, and the outer one has the last's (KIP-31)."""
    cdef const uint8_t *data = <const uint8_t *>view.buf
    cdef BatchHeader inner
    cdef Record record
    cdef Py_ssize_t position = 0
    cdef int64_t shift
    cdef list records = []
    while position < view.len:
        inner = read_header(data, position, view.len, True)
        if inner is None or inner.magic != outer.magic or inner.attributes & COMPRESSION_MASK:
            raise corrupt(outer.magic, "value", outer.position, "compressed messages are truncated, nested or of another format")
        records.append(read_message(inner, data + position))
        position += inner.size_in_bytes
    if not records:
        raise corrupt(outer.magic, "value", outer.position, "no messages in a compressed one")
    if outer.magic == 1:
        shift = outer.last_offset - inner.last_offset
        for record in records:
            record.offset += shift
            if outer.attributes & LOG_APPEND_TIME_FLAG:
                record.timestamp_ms = outer.max_timestamp_ms
    outer.base_offset = (<Record>records[0]).offset
    outer.record_count = len(records)
    return records


# ---------------------------------------------------------------------------------------------------------------- building

cdef struct RecordView:             # borrowed from the records that are written
    PyObject *key
    PyObject *value
    PyObject *headers
    int64_t timestamp_ms
    int64_t offset
    int32_t size                    # after the length field


def build_batch(
    records, *, base_offset=None, last_offset=None, int64_t timestamp_ms=-1, str compression="none", int64_t producer_id=-1,
    int16_t producer_epoch=-1, int32_t base_sequence=-1, bint is_transactional=False, bint is_control=False,
    int32_t partition_leader_epoch=-1, bint log_append_time=False,
):
    cdef BatchHeader header = BatchHeader.__new__(BatchHeader)
    header.magic = 2
    header.partition_leader_epoch = partition_leader_epoch
    header.producer_id, header.producer_epoch, header.base_sequence = producer_id, producer_epoch, base_sequence
    if compression not in COMPRESSIONS:
        raise ValueError(f"compression is one of {', '.join(COMPRESSIONS)}, not {compression!r}")
    header.attributes = (
        COMPRESSIONS.index(compression) | (LOG_APPEND_TIME_FLAG if log_append_time else 0)
        | (TRANSACTIONAL_FLAG if is_transactional else 0) | (CONTROL_FLAG if is_control else 0)
    )
    plain = build_records(header, records if type(records) is tuple else list(records), base_offset, timestamp_ms)
    if log_append_time:
        header.max_timestamp_ms = timestamp_ms
    if last_offset is not None:
        if last_offset < header.last_offset:
            raise ValueError(f"last_offset {last_offset} lies before the last record's, {header.last_offset}")
        header.last_offset = last_offset
    if compression == "none":
        seal(header, <uint8_t *>PyBytes_AS_STRING(plain), PyBytes_GET_SIZE(plain))
        return plain
    return compressed_batch(header, plain)


cdef bytes compressed_batch(BatchHeader header, bytes plain):
    """The batch whose uncompressed form, with room for its header, is `plain`."""
    cdef bytes payload = compress(header.compression, plain[RECORDS:])
    cdef bytes batch = PyBytes_FromStringAndSize(NULL, RECORDS + PyBytes_GET_SIZE(payload))
    memcpy(PyBytes_AS_STRING(batch) + RECORDS, PyBytes_AS_STRING(payload), PyBytes_GET_SIZE(payload))
    seal(header, <uint8_t *>PyBytes_AS_STRING(batch), PyBytes_GET_SIZE(batch))
    return batch


cdef bytes build_records(BatchHeader header, object records, object base_offset, int64_t timestamp_ms):
    """A batch with its records written and its header still blank; what follows from the records is set in `header`."""
    cdef Py_ssize_t count = len(records)
    cdef Py_ssize_t position
    cdef int64_t size = RECORDS
    cdef RecordView view
    cdef Writer w
    if count == 0:
        raise ValueError("a batch has at least one record")
    view.offset = -1 if base_offset is None else base_offset - 1
    for position in range(count):
        view_record(item_at(records, position), timestamp_ms, &view)
        if position == 0:
            header.base_offset = view.offset if base_offset is None else base_offset
            header.base_timestamp_ms = header.max_timestamp_ms = view.timestamp_ms
        header.max_timestamp_ms = max(header.max_timestamp_ms, view.timestamp_ms)
        measure(&view, header)
        size += varint_size(view.size) + view.size
    if size > INT32_MAX:
        raise ValueError(f"a batch of {size} bytes; {INT32_MAX} are allowed")
    header.record_count = count
    header.last_offset = view.offset
    open_writer(&w, size, b"RecordBatch")
    try:
        reserve(&w, RECORDS)
        view.offset = header.base_offset - 1
        for position in range(count):
            view_record(item_at(records, position), timestamp_ms, &view)
            measure(&view, header)
            write_record(&w, &view, header)
        assert bytes_written(&w) == size
        return finish_writer(&w)
    finally:
        close_writer(&w)


cdef inline object item_at(object sequence, Py_ssize_t position):
    """Of a list or a tuple, and nothing else."""
    return <object>(PyList_GET_ITEM(sequence, position) if type(sequence) is list else PyTuple_GET_ITEM(sequence, position))


cdef int view_record(object item, int64_t timestamp_ms, RecordView *view) except -1:
    """Look at the next record; `view` still holds the one before."""
    cdef Record record
    if type(item) is Record:
        record = item
        if record.offset <= view.offset:
            raise ValueError(f"offset {record.offset} does not come after {view.offset}")
        view.key, view.value, view.headers = <PyObject *>record.key, <PyObject *>record.value, <PyObject *>record.headers
        view.offset = record.offset
        view.timestamp_ms = record.timestamp_ms
        return 0
    if type(item) is not tuple or len(<tuple>item) != 3:
        raise TypeError(f"a record is a Record or a tuple of key, value and headers, not {item!r}")
    view.key, view.value = PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1)
    view.headers = PyTuple_GET_ITEM(item, 2)
    view.offset += 1
    view.timestamp_ms = timestamp_ms
    return 0


cdef int measure(RecordView *view, BatchHeader header) except -1:
    """Set the size of a record, and refuse what cannot be written."""
    cdef int64_t size
    cdef Py_ssize_t position, count, name_size
    headers = <object>view.headers
    if type(headers) is not list and type(headers) is not tuple:
        raise TypeError(f"headers are a list or a tuple, not {headers!r}")
    if view.offset - header.base_offset > INT32_MAX:
        raise ValueError(f"offset {view.offset} is too far from the batch's base offset {header.base_offset}")
    count = len(headers)
    size = (
        1 + varlong_size(view.timestamp_ms - header.base_timestamp_ms) + varint_size(<int32_t>(view.offset - header.base_offset))
        + bytes_field_size(<object>view.key) + bytes_field_size(<object>view.value) + varint_size(<int32_t>count)
    )
    for position in range(count):
        entry = item_at(headers, position)
        if type(entry) is not tuple or len(<tuple>entry) != 2 or type((<tuple>entry)[0]) is not str:
            raise TypeError(f"a header is a tuple of str and bytes or None, not {entry!r}")
        PyUnicode_AsUTF8AndSize((<tuple>entry)[0], &name_size)
        size += varint_size(<int32_t>name_size) + name_size + bytes_field_size((<tuple>entry)[1])
    if size > INT32_MAX:
        raise ValueError(f"a record of {size} bytes; {INT32_MAX} are allowed")
    view.size = <int32_t>size
    return 0


cdef inline int64_t bytes_field_size(object value) except -1:
    if value is None:
        return 1
    if type(value) is not bytes:
        raise TypeError(f"keys and values are bytes or None, not {value!r}")
    return varlong_size(PyBytes_GET_SIZE(value)) + PyBytes_GET_SIZE(value)


cdef int write_record(Writer *w, RecordView *view, BatchHeader header) except -1:
    cdef Py_ssize_t position, count, name_size
    cdef const char *name
    headers = <object>view.headers
    count = len(headers)
    write_varint(w, view.size)
    reserve(w, 1)[0] = 0                            # attributes
    write_varlong(w, view.timestamp_ms - header.base_timestamp_ms)
    write_varint(w, <int32_t>(view.offset - header.base_offset))
    write_varint_bytes(w, <object>view.key)
    write_varint_bytes(w, <object>view.value)
    write_varint(w, <int32_t>count)
    for position in range(count):
        entry = <tuple>item_at(headers, position)
        name = PyUnicode_AsUTF8AndSize(entry[0], &name_size)
        write_varint(w, <int32_t>name_size)
        write_raw(w, name, name_size)
        write_varint_bytes(w, entry[1])
    return 0


cdef inline int write_varint_bytes(Writer *w, object value) except -1:
    if value is None:
        return write_varint(w, -1)
    write_varint(w, <int32_t>PyBytes_GET_SIZE(value))
    return write_raw(w, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))


cdef int seal(BatchHeader header, uint8_t *batch, Py_ssize_t size) except -1:
    """Write the header into a batch whose records are there; the checksum comes last."""
    if header.last_offset - header.base_offset > INT32_MAX:
        raise ValueError(f"offsets {header.base_offset} to {header.last_offset} do not fit into one batch")
    store_uint64(batch + BASE_OFFSET, <uint64_t>header.base_offset)
    store_uint32(batch + BATCH_LENGTH, <uint32_t>(size - LENGTH_END))
    store_uint32(batch + LEADER_EPOCH, <uint32_t>header.partition_leader_epoch)
    batch[MAGIC] = 2
    store_uint16(batch + ATTRIBUTES, <uint16_t>header.attributes)
    store_uint32(batch + LAST_OFFSET_DELTA, <uint32_t>(header.last_offset - header.base_offset))
    store_uint64(batch + BASE_TIMESTAMP, <uint64_t>header.base_timestamp_ms)
    store_uint64(batch + MAX_TIMESTAMP, <uint64_t>header.max_timestamp_ms)
    store_uint64(batch + PRODUCER_ID, <uint64_t>header.producer_id)
    store_uint16(batch + PRODUCER_EPOCH, <uint16_t>header.producer_epoch)
    store_uint32(batch + BASE_SEQUENCE, <uint32_t>header.base_sequence)
    store_uint32(batch + RECORD_COUNT, <uint32_t>header.record_count)
    store_uint32(batch + CRC, checksum(crc32c, batch + ATTRIBUTES, size - ATTRIBUTES))
    return 0
