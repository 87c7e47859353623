# cython: language_level=3, boundscheck=False, wraparound=False
"""Replays batches of `__consumer_offsets`.

Compiled: a partition has millions of committed offsets. One of them costs a look into a dict and its new value; all
other records, and those of transactions, are handed to Python one by one.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from _wire.batches cimport (
    COMPRESSION_MASK, CONTROL_FLAG, RECORD_BYTES_MIN, RECORDS, TRANSACTIONAL_FLAG, BatchHeader, corrupt, read_header,
)
from _wire.messages.offset_commit_record cimport OffsetCommitValue, fill_offset_commit_value
from _wire.big_endian cimport load_uint16, load_uint32
from _wire.reader cimport (
    Reader, bytes_left, end_message, raise_bad_length, raise_malformed, read_int8, read_varint, read_varlong,
    reader_over, take,
)
from coordinator.core.offsets.records cimport CommittedOffset, committed_offset

from _wire.compression import BadCompression, decompress
from _wire.control_records import read_end_txn_marker
from _wire.records import DECOMPRESSED_BYTES_MAX, Record
from coordinator.core.stored import Producer

cdef enum:
    FORMAT = 2
    KEY_TYPE_BYTES = 2
    PARTITION_BYTES = 4
    OFFSET_KEY_TYPE_MAX = 1             # 0 and 1 are the keys of committed offsets
    OFFSET_KEY_BYTES_MIN = 10           # type, two empty strings, partition
    VALUE_VERSION_BYTES = 2
    VALUE_VERSION_MAX = 4


cdef struct RecordView:
    const uint8_t *key                  # NULL for a null key
    int32_t key_bytes
    const uint8_t *value                # NULL for a null value
    int32_t value_bytes


@cython.final
cdef class BatchReplay:
    cdef object _groups
    cdef dict _offsets                  # key of an offset without its partition → the dict of the offsets of its topic
    cdef OffsetCommitValue _value       # is filled again for each record
    cdef bytes _data
    cdef Py_ssize_t _position           # in _data, of the next batch
    cdef bytes _records                 # keeps what _reader reads
    cdef Reader _reader
    cdef BatchHeader _batch
    cdef int32_t _records_left
    cdef object _producer
    cdef object _completion             # steps of the marker that is being replayed, or None
    cdef int64_t _end_offset
    cdef readonly int64_t next_offset

    def __init__(self, groups, int64_t next_offset=0):
        self._groups = groups
        self._offsets = {}
        self._value = OffsetCommitValue()
        self._data = b""
        self.next_offset = next_offset

    def open(self, bytes data not None, int64_t end_offset):
        self._data = data
        self._end_offset = end_offset
        self._position = 0
        self._batch = None
        self._completion = None
        self._records_left = 0

    def step(self, Py_ssize_t records_max):
        while records_max > 0:
            if self._completion is not None:
                records_max -= self._complete_offsets()
                continue
            records_max -= 1
            if self._records_left > 0:
                self._records_left -= 1
                self._replay_record()
                continue
            self._end_batch()
            if self._position == PyBytes_GET_SIZE(self._data):
                return False
            self._begin_batch()
        return True

    cdef int _begin_batch(self) except -1:
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(self._data)
        cdef Py_ssize_t position = self._position
        cdef BatchHeader batch = read_header(data, position, PyBytes_GET_SIZE(self._data), True)
        cdef Py_ssize_t size
        if batch is None:
            raise corrupt(-1, "", position, "truncated")
        if batch.magic != FORMAT:
            raise corrupt(batch.magic, "magic", position, f"only batches of format {FORMAT} are replayed")
        # The checksum does not cover the base offset.
        if not self.next_offset <= batch.base_offset <= batch.last_offset < self._end_offset:
            offsets = f"{batch.base_offset} to {batch.last_offset}"
            allowed = f"{self.next_offset} to {self._end_offset - 1}"
            raise corrupt(FORMAT, "base_offset", position, f"{offsets} is not in {allowed}")
        size = batch.size_in_bytes - RECORDS
        if batch.attributes & COMPRESSION_MASK:
            try:
                view = memoryview(self._data)[position + RECORDS:position + batch.size_in_bytes]
                self._records = bytes(decompress(batch.compression, view, DECOMPRESSED_BYTES_MAX))
            except BadCompression as error:
                raise corrupt(FORMAT, "records", position, str(error)) from None
            data, size = <const uint8_t *>PyBytes_AS_STRING(self._records), PyBytes_GET_SIZE(self._records)
        else:
            self._records = self._data
            data += position + RECORDS
        reader_over(&self._reader, data, size, b"RecordBatch", FORMAT)
        self._reader.field = b"records"
        if batch.record_count < 0 or batch.record_count > size // RECORD_BYTES_MIN:
            raise_malformed(&self._reader, f"{batch.record_count} records do not fit into {size} bytes")
        self._batch, self._records_left = batch, batch.record_count
        self._producer = None
        if batch.attributes & TRANSACTIONAL_FLAG:
            self._producer = Producer(batch.producer_id, batch.producer_epoch)
        return 0

    cdef int _end_batch(self) except -1:
        if self._batch is None:
            return 0
        if bytes_left(&self._reader) != 0:
            raise_malformed(&self._reader, f"{bytes_left(&self._reader)} bytes after the last record")
        self._position += self._batch.size_in_bytes
        self.next_offset = self._batch.last_offset + 1
        self._batch = None
        return 0

    cdef int _replay_record(self) except -1:
        cdef RecordView record
        cdef int key_type
        read_record(&self._reader, &record)
        if self._batch.attributes & CONTROL_FLAG:
            return self._replay_marker(&record)
        if record.key_bytes >= OFFSET_KEY_BYTES_MIN:
            key_type = load_uint16(record.key)
            if key_type <= OFFSET_KEY_TYPE_MAX and record.value != NULL and self._producer is None:
                return self._replay_offset(&record)
        key = b"" if record.key == NULL else bytes_of(record.key, record.key_bytes)
        value = None if record.value == NULL else bytes_of(record.value, record.value_bytes)
        if self._groups.replay_record(key, value, self._producer):
            self._offsets.clear()
        return 0

    cdef int _replay_marker(self, RecordView *record) except -1:
        if self._producer is None:
            return 0
        key = None if record.key == NULL else bytes_of(record.key, record.key_bytes)
        value = None if record.value == NULL else bytes_of(record.value, record.value_bytes)
        marker = read_end_txn_marker(Record(offset=self._batch.base_offset, key=key, value=value))
        self._completion = self._groups.end_transaction(self._producer, marker.committed)
        return 0

    cdef Py_ssize_t _complete_offsets(self) except -1:
        """Take a step of the marker that is being replayed; how many offsets it completed."""
        for completed in self._completion:
            return completed
        self._completion = None
        return 0

    cdef int _replay_offset(self, RecordView *record) except -1:
        cdef Py_ssize_t prefix_bytes = record.key_bytes - PARTITION_BYTES
        cdef int32_t partition = <int32_t>load_uint32(record.key + prefix_bytes)
        cdef bytes prefix = bytes_of(record.key, prefix_bytes)
        cdef PyObject *existing = PyDict_GetItemWithError(self._offsets, prefix)
        cdef object of_topic
        if existing != NULL:
            of_topic = <object>existing
        else:
            # Decodes the key. A prefix that is found again therefore belongs to a valid key.
            key = bytes_of(record.key, record.key_bytes)
            of_topic, may_be_kept = self._groups.offsets_of_topic(key)
            if not may_be_kept:
                self._groups.apply_record(key, bytes_of(record.value, record.value_bytes), None)
                return 0
            self._offsets[prefix] = of_topic
        if of_topic is not None:
            (<dict>of_topic)[partition] = self._committed(record.value, record.value_bytes)
        return 0

    cdef CommittedOffset _committed(self, const uint8_t *value, int32_t size):
        cdef Reader r
        cdef int16_t version = -1 if size < VALUE_VERSION_BYTES else <int16_t>load_uint16(value)
        reader_over(&r, value, size, b"OffsetCommitValue", version)
        if version < 0 or version > VALUE_VERSION_MAX:
            raise_malformed(&r, f"version is not 0 to {VALUE_VERSION_MAX}")
        r.position += VALUE_VERSION_BYTES
        r.target = <PyObject *>self._value
        fill_offset_commit_value(&r, self._value, version)
        end_message(&r)
        return committed_offset(self._value, version)


cdef inline bytes bytes_of(const uint8_t *data, Py_ssize_t size):
    return PyBytes_FromStringAndSize(<const char *>data, size)


cdef int read_record(Reader *r, RecordView *record) except -1:
    cdef int32_t length = read_varint(r)
    cdef const uint8_t *end
    if length < 0 or length > bytes_left(r):
        raise_bad_length(r, length)
    end = r.position + length
    read_int8(r)                        # attributes: none are defined
    read_varlong(r)                     # timestamp
    read_varint(r)                      # offset
    record.key = read_field(r, &record.key_bytes)
    record.value = read_field(r, &record.value_bytes)
    if r.position >= end:
        raise_bad_length(r, length)     # at least the number of headers follows
    r.position = end
    return 0


cdef const uint8_t *read_field(Reader *r, int32_t *size) except? NULL:
    """Key or value; NULL if it is null."""
    size[0] = read_varint(r)
    if size[0] < -1:
        raise_bad_length(r, size[0])
    if size[0] < 0:
        return NULL
    return take(r, size[0])
