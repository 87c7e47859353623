# cython: language_level=3, boundscheck=False, wraparound=False
"""Records: read from batches of formats 0, 1 and 2.

Counts and lengths are held against the bytes that are left before memory is taken.
"""

cimport cython
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint64_t

from _wire.batches cimport (
    COMPRESSION_MASK, LOG_APPEND_TIME_FLAG, RECORD_BYTES_MIN, RECORDS, BatchHeader, corrupt, legacy_key_position,
    open_view, read_header,
)
from _wire.big_endian cimport load_uint32
from _wire.reader cimport (
    Reader, bytes_left, count_read, raise_bad_length, raise_malformed, read_int8, read_varint, read_varlong,
    reader_over, take,
)
from _wire.steps cimport ELEMENTS_AT_FIRST

from _wire.batches import CorruptBatch
from _wire.compression import SCRATCH_BYTES, BadCompression, decompress, decompress_to_scratch, repair_lz4_header
from _wire.errors import MalformedMessage

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *memory, Py_ssize_t size, int flags)
    str PyUnicode_DecodeUTF8(const char *text, Py_ssize_t size, const char *errors)

DECOMPRESSED_BYTES_MAX = 100 * 1024 * 1024      # socket.request.max.bytes: nobody could have sent more uncompressed


@cython.final
@cython.freelist(1024)
@cython.no_gc  # bytes, and a tuple of pairs of text and bytes: no way back to the record
cdef class Record:

    def __init__(self, *, int64_t offset=0, int64_t timestamp_ms=-1, bytes key=None, bytes value=None, headers=()):
        self.offset = offset
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self.headers = tuple(headers)

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


def find_timestamp(data, int64_t timestamp_ms, int64_t from_offset=0, pause=None):
    return find_record(data, timestamp_ms, from_offset, False, pause)


def find_max_timestamp(data, pause=None):
    return find_record(data, INT64_MIN, 0, True, pause)


cdef object find_record(object data, int64_t timestamp_ms, int64_t from_offset, bint latest, object pause):
    """The first record that fits or, with `latest`, the first with the greatest timestamp; no record is made for it."""
    cdef Py_buffer view
    cdef BatchHeader header
    cdef int64_t found[2]
    open_view(&view, data, 0, PyBUF_SIMPLE)
    try:
        header = whole_batch(&view, 0)
        if header.magic != 2:
            raise corrupt(header.magic, "magic", 0, "only batches of format 2 are searched")
        try:
            is_found = search_batch(header, <const uint8_t *>view.buf, timestamp_ms, from_offset, latest, pause, found)
        except CorruptBatch:
            raise
        except MalformedMessage as error:
            raise CorruptBatch(error.message, error.version, error.field, 0, error.why) from None
        except BadCompression as error:
            raise corrupt(2, "records", 0, str(error)) from None
        return (found[0], found[1], header.partition_leader_epoch) if is_found else None
    finally:
        PyBuffer_Release(&view)


cdef bint search_batch(
    BatchHeader header, const uint8_t *batch, int64_t timestamp_ms, int64_t from_offset, bint latest, object pause,
    int64_t *found,
) except -1:
    cdef Py_buffer view
    cdef const uint8_t *records = batch + RECORDS
    cdef Py_ssize_t size = header.size_in_bytes - RECORDS
    if header.attributes & COMPRESSION_MASK == 0:
        return search_records(header, records, size, timestamp_ms, from_offset, latest, pause, found)
    compressed = PyMemoryView_FromMemory(<char *>records, size, PyBUF_READ)
    plain = decompress_to_scratch(header.compression, compressed, DECOMPRESSED_BYTES_MAX)
    if pause is not None and len(plain) <= SCRATCH_BYTES:
        plain = bytes(plain)                        # others use the scratch during a pause; what is larger has its own
    PyObject_GetBuffer(plain, &view, PyBUF_SIMPLE)
    try:
        return search_records(
            header, <const uint8_t *>view.buf, view.len, timestamp_ms, from_offset, latest, pause, found
        )
    finally:
        PyBuffer_Release(&view)


cdef bint search_records(
    BatchHeader header, const uint8_t *data, Py_ssize_t size, int64_t timestamp_ms, int64_t from_offset, bint latest,
    object pause, int64_t *found,
) except -1:
    """Put offset and timestamp into `found`; false if no record fits. `pause` is called again and again."""
    cdef Reader r
    cdef int32_t length
    cdef int64_t record_ms, offset
    cdef bint is_found = False
    cdef const uint8_t *end
    reader_over(&r, data, size, b"RecordBatch", 2)
    r.field = b"records"
    if pause is not None:
        r.pause = <PyObject *>pause
        r.left_in_step = ELEMENTS_AT_FIRST
    for _ in range(header.record_count):
        count_read(&r, 1)
        length = read_varint(&r)
        if length < 0 or length > bytes_left(&r):
            raise_bad_length(&r, length)
        end = r.position + length
        read_int8(&r)
        record_ms = <int64_t>(<uint64_t>header.base_timestamp_ms + <uint64_t>read_varlong(&r))
        offset = header.base_offset + read_varint(&r)
        r.position = end
        if header.attributes & LOG_APPEND_TIME_FLAG:
            record_ms = header.max_timestamp_ms
        if latest and (not is_found or record_ms > found[1]) or (
            not latest and record_ms >= timestamp_ms and offset >= from_offset
        ):
            found[0], found[1], is_found = offset, record_ms, True
            if not latest:
                return True
    return is_found


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


cdef tuple read_headers(Reader *r):
    cdef int32_t count = read_varint(r)
    cdef int32_t size
    cdef const char *name
    cdef list headers
    if count == 0:
        return ()
    headers = []
    if count < 0 or count > bytes_left(r) // 2:
        raise_malformed(r, f"{count} headers do not fit into {bytes_left(r)} bytes")
    for _ in range(count):
        size = read_varint(r)
        name = <const char *>take(r, size)
        # As in the Java client, a name that is not UTF-8 does not make the record unreadable.
        headers.append((PyUnicode_DecodeUTF8(name, size, b"replace"), read_varint_bytes(r)))
    return tuple(headers)


cdef bytes read_int32_bytes(Reader *r):
    cdef int32_t size = <int32_t>load_uint32(take(r, 4))
    if size < -1:
        raise_bad_length(r, size)
    return None if size < 0 else PyBytes_FromStringAndSize(<const char *>take(r, size), size)


cdef list read_messages(BatchHeader header, const uint8_t *message, Py_ssize_t decompressed_bytes_max):
    """Parse a message of format 0 or 1: its record, or the records of the messages compressed in it."""
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
    record.headers = ()
    if bytes_left(&r) != 0:
        raise_malformed(&r, f"{bytes_left(&r)} bytes after the value")
    return record


cdef list read_inner_messages(BatchHeader outer, Py_buffer *view):
    """Offsets in a compressed message of format 1 count from the first one's; the outer one has the last's (KIP-31)."""
    cdef const uint8_t *data = <const uint8_t *>view.buf
    cdef BatchHeader inner
    cdef Record record
    cdef Py_ssize_t position = 0
    cdef int64_t shift
    cdef list records = []
    while position < view.len:
        inner = read_header(data, position, view.len, True)
        if inner is None or inner.magic != outer.magic or inner.attributes & COMPRESSION_MASK:
            raise corrupt(
                outer.magic, "value", outer.position, "compressed messages are truncated, nested or of another format"
            )
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
