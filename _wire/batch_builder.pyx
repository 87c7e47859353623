# cython: language_level=3, boundscheck=False, wraparound=False
"""Batches of format 2, built in one buffer of the right size."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from _wire.batch_reader cimport Record
from _wire.batches cimport (
    ATTRIBUTES, BASE_OFFSET, BASE_SEQUENCE, BASE_TIMESTAMP, BATCH_LENGTH, COMPRESSION_MASK, CONTROL_FLAG, CRC,
    LAST_OFFSET_DELTA, LEADER_EPOCH, LENGTH_END, LOG_APPEND_TIME_FLAG, MAGIC, MAX_TIMESTAMP, PRODUCER_EPOCH,
    PRODUCER_ID, RECORD_COUNT, RECORDS, TRANSACTIONAL_FLAG, BatchHeader, batch_checksum,
)
from _wire.big_endian cimport store_uint16, store_uint32, store_uint64
from _wire.writer cimport (
    Writer, bytes_written, close_writer, finish_writer, open_writer, reserve, varint_size, varlong_size, write_raw,
    write_varint, write_varlong,
)
from _wire.small_lz4 cimport SMALL_MAX, small_frame
from _wire.written_records cimport WRITTEN_SIZE_BYTES, put_in_batch, put_length, written_size

from _wire.compression import COMPRESSIONS, compress

cdef enum:
    LZ4 = 3                             # in the attributes of a batch
    SIZES_KEPT = 64                     # records that are not measured again when they are written

cdef tuple NO_HEADERS = ()

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


cdef struct RecordView:             # borrowed from the records that are written
    PyObject *key
    PyObject *value
    PyObject *headers
    int64_t timestamp_ms
    int64_t offset
    int32_t size                    # after the length field


def build_batch(
    records, *, base_offset=None, last_offset=None, int64_t timestamp_ms=-1, str compression="none",
    int64_t producer_id=-1,
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
    plain = build_pairs(header, records, base_offset, timestamp_ms) if type(records) is list else None
    if plain is None:
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


cdef bytes build_plain_batch(list pairs, int64_t base_offset, int64_t timestamp_ms, int32_t partition_leader_epoch):
    cdef BatchHeader header = BatchHeader.__new__(BatchHeader)
    cdef bytes batch
    header.magic = 2
    header.partition_leader_epoch = partition_leader_epoch
    header.producer_id = header.producer_epoch = header.base_sequence = -1
    batch = build_pairs(header, pairs, base_offset, timestamp_ms)
    if batch is None:
        return build_batch(
            pairs, base_offset=base_offset, timestamp_ms=timestamp_ms, partition_leader_epoch=partition_leader_epoch
        )
    seal(header, <uint8_t *>PyBytes_AS_STRING(batch), PyBytes_GET_SIZE(batch))
    return batch


cdef bytes build_written_batch(
    list pieces, int32_t count, Py_ssize_t size_bytes, int64_t base_offset, int64_t timestamp_ms,
    int32_t partition_leader_epoch
):
    cdef BatchHeader header = BatchHeader.__new__(BatchHeader)
    cdef bytes batch = PyBytes_FromStringAndSize(NULL, size_bytes), piece
    cdef uint8_t *begin = <uint8_t *>PyBytes_AS_STRING(batch)
    cdef uint8_t *out = begin + RECORDS
    cdef const uint8_t *p
    cdef Py_ssize_t position = 0
    for piece in pieces:
        p = <const uint8_t *>PyBytes_AS_STRING(piece)
        while written_size(p):
            out = put_in_batch(out, p, position)
            p += WRITTEN_SIZE_BYTES + written_size(p)
            position += 1
    assert position == count and out - begin == size_bytes
    header.magic = 2
    header.partition_leader_epoch = partition_leader_epoch
    header.producer_id = header.producer_epoch = header.base_sequence = -1
    header.base_offset, header.last_offset = base_offset, base_offset + count - 1
    header.base_timestamp_ms = header.max_timestamp_ms = timestamp_ms
    header.record_count = count
    seal(header, begin, size_bytes)
    return batch


cdef bytes compressed_batch(BatchHeader header, bytes plain):
    """Compress a batch. `plain` is its uncompressed form, with space for the header."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(plain) - RECORDS
    cdef bytes payload, batch
    if header.attributes & COMPRESSION_MASK == LZ4 and size <= SMALL_MAX:
        payload = small_frame(<const uint8_t *>PyBytes_AS_STRING(plain) + RECORDS, size)
    else:
        payload = compress(header.compression, memoryview(plain)[RECORDS:])
    batch = PyBytes_FromStringAndSize(NULL, RECORDS + PyBytes_GET_SIZE(payload))
    memcpy(PyBytes_AS_STRING(batch) + RECORDS, PyBytes_AS_STRING(payload), PyBytes_GET_SIZE(payload))
    seal(header, <uint8_t *>PyBytes_AS_STRING(batch), PyBytes_GET_SIZE(batch))
    return batch


cdef bytes build_records(BatchHeader header, object records, object base_offset, int64_t timestamp_ms):
    """Write the records of a batch after an empty header; set the fields of `header` that depend on the records."""
    cdef Py_ssize_t count = len(records)
    cdef Py_ssize_t position
    cdef int64_t size = RECORDS
    cdef int32_t[SIZES_KEPT] sizes
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
        if position < SIZES_KEPT:
            sizes[position] = view.size
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
            if position < SIZES_KEPT:
                view.size = sizes[position]
            else:
                measure(&view, header)
            write_record(&w, &view, header)
        assert bytes_written(&w) == size
        return finish_writer(&w)
    finally:
        close_writer(&w)


cdef bytes build_pairs(BatchHeader header, list records, object base_offset, int64_t timestamp_ms):
    """As `build_records`, of tuples of a key and a value, as coordinators store them; None if one is anything else."""
    cdef Py_ssize_t position, count = len(records)
    cdef int64_t size = RECORDS, body
    cdef PyObject *pair
    cdef bytes batch
    cdef uint8_t *out
    if count == 0 or count > INT32_MAX:
        return None
    for position in range(count):
        pair = PyList_GET_ITEM(records, position)
        if type(<object>pair) is not tuple or PyTuple_GET_SIZE(<object>pair) != 2:
            return None
        body = pair_bytes(
            <object>PyTuple_GET_ITEM(<object>pair, 0), <object>PyTuple_GET_ITEM(<object>pair, 1), position
        )
        if body < 0:
            return None
        size += varint_size(<int32_t>body) + body
        if size > INT32_MAX:
            return None                 # the other one says what is wrong
    batch = PyBytes_FromStringAndSize(NULL, size)
    out = <uint8_t *>PyBytes_AS_STRING(batch) + RECORDS
    for position in range(count):
        pair = PyList_GET_ITEM(records, position)
        out = put_pair(
            out, <object>PyTuple_GET_ITEM(<object>pair, 0), <object>PyTuple_GET_ITEM(<object>pair, 1), position
        )
    assert out - <uint8_t *>PyBytes_AS_STRING(batch) == size
    header.base_offset = 0 if base_offset is None else base_offset
    header.last_offset = header.base_offset + count - 1
    header.base_timestamp_ms = header.max_timestamp_ms = timestamp_ms
    header.record_count = <int32_t>count
    return batch


cdef inline int64_t pair_bytes(object key, object value, Py_ssize_t position) noexcept:
    """Of a record after its length: attributes, timestamp delta 0, offset delta, key, value, no headers. -1: none."""
    cdef int64_t size
    if type(key) is not bytes or PyBytes_GET_SIZE(key) > INT32_MAX // 4:
        return -1
    size = 3 + varint_size(<int32_t>position) + varint_size(<int32_t>PyBytes_GET_SIZE(key)) + PyBytes_GET_SIZE(key)
    if value is None:
        return size + 1
    if type(value) is not bytes or PyBytes_GET_SIZE(value) > INT32_MAX // 4:
        return -1
    return size + varint_size(<int32_t>PyBytes_GET_SIZE(value)) + PyBytes_GET_SIZE(value)


cdef inline uint8_t *put_pair(uint8_t *out, object key, object value, Py_ssize_t position) noexcept:
    out = put_length(out, pair_bytes(key, value, position))
    out[0] = out[1] = 0
    out = put_length(out + 2, position)
    out = put_length(out, PyBytes_GET_SIZE(key))
    memcpy(out, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
    out += PyBytes_GET_SIZE(key)
    if value is None:
        out[0] = 1                      # a length of -1
    else:
        out = put_length(out, PyBytes_GET_SIZE(value))
        memcpy(out, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        out += PyBytes_GET_SIZE(value) - 1
    out[1] = 0
    return out + 2


cdef inline object item_at(object sequence, Py_ssize_t position):
    """Of a list or a tuple, and nothing else."""
    if type(sequence) is list:
        return <object>PyList_GET_ITEM(sequence, position)
    return <object>PyTuple_GET_ITEM(sequence, position)


cdef int view_record(object item, int64_t timestamp_ms, RecordView *view) except -1:
    """Read the next record into `view`, which has the previous one."""
    cdef Record record
    if type(item) is Record:
        record = item
        if record.offset <= view.offset:
            raise ValueError(f"offset {record.offset} does not come after {view.offset}")
        view.key, view.value = <PyObject *>record.key, <PyObject *>record.value
        view.headers = <PyObject *>record.headers
        view.offset = record.offset
        view.timestamp_ms = record.timestamp_ms
        return 0
    if type(item) is not tuple or not 2 <= len(<tuple>item) <= 3:
        raise TypeError(f"a record is a Record or a tuple of key, value and perhaps headers, not {item!r}")
    view.key, view.value = PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1)
    view.headers = PyTuple_GET_ITEM(item, 2) if len(<tuple>item) == 3 else <PyObject *>NO_HEADERS
    view.offset += 1
    view.timestamp_ms = timestamp_ms
    return 0


cdef int measure(RecordView *view, BatchHeader header) except -1:
    """Set the size of a record; raise an exception if it cannot be written."""
    cdef int64_t size
    cdef Py_ssize_t position, count, name_size
    headers = <object>view.headers
    if type(headers) is not list and type(headers) is not tuple:
        raise TypeError(f"headers are a list or a tuple, not {headers!r}")
    if view.offset - header.base_offset > INT32_MAX:
        raise ValueError(f"offset {view.offset} is too far from the batch's base offset {header.base_offset}")
    count = len(headers)
    size = (
        1 + varlong_size(view.timestamp_ms - header.base_timestamp_ms)
        + varint_size(<int32_t>(view.offset - header.base_offset))
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
    """Write the header of a batch after its records. The checksum is last."""
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
    store_uint32(batch + CRC, batch_checksum(batch, size))
    return 0
