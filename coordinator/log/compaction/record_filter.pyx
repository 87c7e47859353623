# cython: language_level=3, boundscheck=False, wraparound=False
"""Which records of a log stay when it is cleaned, and the batches that they stay in (Cleaner.cleanInto).

The counterpart of MemoryRecords.filterTo with the filter that Kafka's cleaner passes to it.
"""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from _wire.batches cimport (
    ATTRIBUTES, BASE_OFFSET, BASE_SEQUENCE, BASE_TIMESTAMP, BATCH_LENGTH, COMPRESSION_MASK, CONTROL_FLAG, CRC,
    DELETE_HORIZON_FLAG, LAST_OFFSET_DELTA, LEADER_EPOCH, LENGTH_END, LOG_APPEND_TIME_FLAG, MAGIC, MAX_TIMESTAMP,
    PRODUCER_EPOCH, PRODUCER_ID, RECORD_COUNT, RECORDS, TRANSACTIONAL_FLAG,
)
from _wire.crc32c_nogil cimport crc32c
from _wire.big_endian cimport store_uint16, store_uint32, store_uint64
from _wire.unsigned_varints cimport put_varint
from _wire.writer cimport varint_size, varlong_size
from coordinator.log.compaction.offset_map cimport OffsetMap
from coordinator.log.compaction.raw_batches cimport (
    BAD_COUNT, BAD_ORDER, BAD_RECORD, COMPRESSED, NO_PROBLEM, OUT_OF_MEMORY, TOO_LARGE, Head, Problem,
    RecordView, is_control, read_head, read_record,
)
from coordinator.log.compaction.transactions cimport Transactions, corrupt_batch

from _wire.compression import COMPRESSIONS, BadCompression, compress, decompress

DECOMPRESSED_BYTES_MAX = 100 * 1024 * 1024      # as when records are read (_wire/batch_reader.pyx)

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *memory, Py_ssize_t size, int flags)

cdef enum:
    NO_TIMESTAMP = -1
    VARLONG_BYTES_MAX = 10
    VARINT_BYTES_MAX = 5


cdef struct Kept:                       # a record that stays
    const uint8_t *offset_field
    const uint8_t *end
    int64_t timestamp_ms


cdef struct Buffer:
    uint8_t *data
    Py_ssize_t size
    Py_ssize_t capacity


cdef struct IndexEntry:
    int64_t last_offset
    int64_t position
    int64_t max_timestamp_ms
    int64_t offset_of_max_timestamp


cdef uint8_t *room(Buffer *buffer, Py_ssize_t size) noexcept nogil:
    """So many bytes at the end of the buffer; NULL if there is no memory."""
    cdef uint8_t *grown
    cdef Py_ssize_t capacity
    if size > buffer.capacity - buffer.size:
        capacity = max(2 * buffer.capacity, buffer.size + size)
        grown = <uint8_t *>realloc(buffer.data, capacity)
        if grown == NULL:
            return NULL
        buffer.data, buffer.capacity = grown, capacity
    buffer.size += size
    return buffer.data + buffer.size - size


cdef class RecordFilter:
    cdef OffsetMap map
    cdef Transactions transactions
    cdef int64_t now_ms
    cdef int64_t delete_retention_ms
    cdef int64_t index_interval_bytes
    cdef int64_t keep_batch_before              # the batch that ends here stays, if necessary empty
    cdef Head head                              # of the batch that is looked at, and what is decided on it
    cdef bint drops_all
    cdef bint stays_empty
    cdef bint needs_horizon
    cdef Buffer kept                            # array of Kept
    cdef Py_ssize_t kept_count
    cdef Buffer records                         # of a batch that is compressed again
    cdef Buffer out
    cdef Buffer entries                         # array of IndexEntry
    cdef int64_t bytes_since_entry
    cdef int64_t next_input_offset
    # Of the segment that is written:
    cdef readonly int64_t size_bytes
    cdef readonly int64_t next_offset
    cdef readonly int64_t first_timestamp_ms
    cdef readonly int64_t max_timestamp_ms
    cdef readonly int64_t offset_of_max_timestamp
    # Of all segments:
    cdef readonly int64_t records_read
    cdef readonly int64_t records_kept

    def __cinit__(
        self, OffsetMap map, Transactions transactions, int64_t now_ms, int64_t delete_retention_ms,
        int64_t index_interval_bytes,
    ):
        self.map = map
        self.transactions = transactions
        self.now_ms = now_ms
        self.delete_retention_ms = delete_retention_ms
        self.index_interval_bytes = index_interval_bytes
        transactions.begin_pass(0)

    def __dealloc__(self):
        free(self.kept.data)
        free(self.records.data)
        free(self.out.data)
        free(self.entries.data)

    def begin_segment(self, int64_t base_offset, int64_t keep_batch_before):
        self.keep_batch_before = keep_batch_before
        self.size_bytes = self.bytes_since_entry = 0
        self.next_offset = self.offset_of_max_timestamp = base_offset
        self.first_timestamp_ms = self.max_timestamp_ms = NO_TIMESTAMP
        self.entries.size = 0

    @property
    def output(self):
        if self.out.size == 0:
            return memoryview(b"")
        return PyMemoryView_FromMemory(<char *>self.out.data, self.out.size, PyBUF_READ)

    def pop_index_entries(self):
        cdef IndexEntry *entries = <IndexEntry *>self.entries.data
        cdef Py_ssize_t i
        popped = [
            (
                entries[i].last_offset, entries[i].position, entries[i].max_timestamp_ms,
                entries[i].offset_of_max_timestamp,
            )
            for i in range(self.entries.size // <Py_ssize_t>sizeof(IndexEntry))
        ]
        self.entries.size = 0
        return popped

    def filter(self, data):
        cdef Py_buffer view
        cdef Py_ssize_t position = 0
        cdef Problem problem
        self.out.size = 0
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            while True:
                with nogil:
                    problem = self.filter_batches(<const uint8_t *>view.buf, view.len, &position)
                if problem == COMPRESSED:
                    problem = self.filter_compressed(<const uint8_t *>view.buf + position)
                    if problem == NO_PROBLEM:
                        position += self.head.size
                        continue
                if problem > COMPRESSED:
                    raise corrupt_batch(problem, position)
                return position
        finally:
            PyBuffer_Release(&view)

    # ------------------------------------------------------------------------------------------------------- decisions

    cdef Problem filter_batches(self, const uint8_t *data, Py_ssize_t size, Py_ssize_t *position) noexcept nogil:
        """Filter batches up to the first that must be decompressed, or is damaged, or not whole."""
        cdef Problem problem
        cdef const uint8_t *batch
        while True:
            batch = data + position[0]
            problem = read_head(batch, size - position[0], True, &self.head)
            if problem != NO_PROBLEM:
                return problem
            if self.head.base_offset < self.next_input_offset:
                return BAD_ORDER
            self.next_input_offset = self.head.last_offset + 1
            problem = self.decide_batch(batch)
            if problem != NO_PROBLEM:
                return problem
            self.kept_count = 0
            if self.drops_all:
                self.records_read += self.head.record_count
            elif self.head.attributes & COMPRESSION_MASK and self.head.record_count > 0:
                return COMPRESSED
            else:
                problem = self.decide_records(batch + RECORDS, batch + self.head.size)
                if problem != NO_PROBLEM:
                    return problem
            problem = self.write_batch(batch)
            if problem != NO_PROBLEM:
                return problem
            position[0] += self.head.size

    cdef Problem decide_batch(self, const uint8_t *batch) noexcept nogil:
        """Decide on the batch as a whole (checkBatchRetention)."""
        cdef bint is_done = False
        cdef Problem problem
        self.needs_horizon = False
        if is_control(&self.head):
            problem = self.transactions.meet_marker(&self.head, batch, &is_done)
            if problem != NO_PROBLEM:
                return problem
            self.drops_all = is_done and self.has_horizon() and self.head.base_timestamp_ms <= self.now_ms
            self.needs_horizon = is_done and not self.has_horizon()
        else:
            self.drops_all = self.transactions.is_aborted(&self.head)
        self.stays_empty = (
            self.head.last_offset + 1 == self.keep_batch_before
            or self.transactions.is_last_of_live_producer(&self.head)
        )
        return NO_PROBLEM

    cdef bint has_horizon(self) noexcept nogil:
        return self.head.attributes & DELETE_HORIZON_FLAG != 0

    cdef Problem decide_records(self, const uint8_t *p, const uint8_t *end) noexcept nogil:
        """Collect the records that stay."""
        cdef RecordView record
        cdef Kept *kept
        for _ in range(self.head.record_count):
            p = read_record(p, end, &self.head, &record)
            if p == NULL:
                return BAD_RECORD
            self.records_read += 1
            if not self.stays(&record):
                continue
            self.kept.size = self.kept_count * <Py_ssize_t>sizeof(Kept)
            kept = <Kept *>room(&self.kept, sizeof(Kept))
            if kept == NULL:
                return OUT_OF_MEMORY
            kept.offset_field = record.offset_field
            kept.end = record.end
            if self.head.attributes & LOG_APPEND_TIME_FLAG:
                kept.timestamp_ms = self.head.max_timestamp_ms
            else:
                kept.timestamp_ms = <int64_t>(<uint64_t>self.head.base_timestamp_ms + <uint64_t>record.timestamp_delta)
            self.kept_count += 1
            if not record.has_value and not self.has_horizon():
                self.needs_horizon = True
        return NO_PROBLEM if p == end else BAD_COUNT

    cdef bint stays(self, const RecordView *record) noexcept nogil:
        """Whether a record stays (Cleaner.shouldRetainRecord)."""
        cdef int64_t offset = self.head.base_offset + record.offset_delta
        if is_control(&self.head) or offset > self.map.latest_offset:
            return True
        if record.key == NULL or offset < self.map.offset_of(record.key, record.key_size):
            return False
        return record.has_value or not self.has_horizon() or self.now_ms < self.head.base_timestamp_ms

    # --------------------------------------------------------------------------------------------------------- writing

    cdef Problem write_batch(self, const uint8_t *batch) noexcept nogil:
        """Write what stays of a batch that was not compressed."""
        cdef Py_ssize_t start = self.out.size
        cdef uint8_t *place
        cdef Problem problem
        if self.kept_count == 0:
            return self.write_empty_batch() if self.stays_empty else NO_PROBLEM
        if self.kept_count == self.head.record_count and not self.needs_horizon:
            return self.copy_batch(batch)
        place = room(&self.out, RECORDS)
        if place == NULL:
            return OUT_OF_MEMORY
        self.rebase()
        problem = self.write_records(&self.out)
        if problem != NO_PROBLEM:
            return problem
        return self.seal(start)

    cdef Problem copy_batch(self, const uint8_t *batch) noexcept nogil:
        cdef uint8_t *place = room(&self.out, self.head.size)
        if place == NULL:
            return OUT_OF_MEMORY
        memcpy(place, batch, self.head.size)
        self.records_kept += self.kept_count
        return self.track(self.head.size)

    cdef Problem write_empty_batch(self) noexcept nogil:
        """Write the header alone, for its offsets and its sequence number (DefaultRecordBatch.writeEmptyHeader)."""
        cdef Py_ssize_t start = self.out.size
        if room(&self.out, RECORDS) == NULL:
            return OUT_OF_MEMORY
        self.head.base_timestamp_ms = NO_TIMESTAMP
        self.head.attributes &= LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG
        return self.seal(start)

    cdef void rebase(self) noexcept nogil:
        """Set the timestamps that the batch has with the records that stay."""
        cdef Kept *kept = <Kept *>self.kept.data
        cdef int64_t latest_ms = kept[0].timestamp_ms
        cdef Py_ssize_t i
        if self.needs_horizon:
            self.head.attributes |= DELETE_HORIZON_FLAG
            if self.now_ms > INT64_MAX - self.delete_retention_ms:
                self.head.base_timestamp_ms = INT64_MAX
            else:
                self.head.base_timestamp_ms = self.now_ms + self.delete_retention_ms
        elif not self.has_horizon():
            self.head.base_timestamp_ms = latest_ms
        if not self.head.attributes & LOG_APPEND_TIME_FLAG:
            for i in range(1, self.kept_count):
                latest_ms = max(latest_ms, kept[i].timestamp_ms)
            self.head.max_timestamp_ms = latest_ms

    cdef Problem write_records(self, Buffer *buffer) noexcept nogil:
        cdef Kept *kept = <Kept *>self.kept.data
        cdef Py_ssize_t i, rest
        cdef int64_t delta
        cdef int32_t size
        cdef uint8_t *p
        for i in range(self.kept_count):
            delta = <int64_t>(<uint64_t>kept[i].timestamp_ms - <uint64_t>self.head.base_timestamp_ms)
            rest = kept[i].end - kept[i].offset_field
            if rest > INT32_MAX - VARLONG_BYTES_MAX - 1:
                return TOO_LARGE
            size = <int32_t>(1 + varlong_size(delta) + rest)
            p = room(buffer, varint_size(size) + <Py_ssize_t>size)
            if p == NULL:
                return OUT_OF_MEMORY
            p = put_varint(p, <uint64_t>size << 1)
            p[0] = 0                                # attributes
            p = put_varint(p + 1, (<uint64_t>delta << 1) ^ <uint64_t>(delta >> 63))
            memcpy(p, kept[i].offset_field, rest)
        self.records_kept += self.kept_count
        return NO_PROBLEM

    cdef Problem seal(self, Py_ssize_t start) noexcept nogil:
        """Write the header of a batch that lies in `out` from `start` on."""
        cdef uint8_t *batch = self.out.data + start
        cdef Py_ssize_t size = self.out.size - start
        if size > INT32_MAX:
            return TOO_LARGE
        memset(batch, 0, RECORDS)
        store_uint64(batch + BASE_OFFSET, <uint64_t>self.head.base_offset)
        store_uint32(batch + BATCH_LENGTH, <uint32_t>(size - LENGTH_END))
        store_uint32(batch + LEADER_EPOCH, <uint32_t>self.head.leader_epoch)
        batch[MAGIC] = 2
        store_uint16(batch + ATTRIBUTES, <uint16_t>self.head.attributes)
        store_uint32(batch + LAST_OFFSET_DELTA, <uint32_t>(self.head.last_offset - self.head.base_offset))
        store_uint64(batch + BASE_TIMESTAMP, <uint64_t>self.head.base_timestamp_ms)
        store_uint64(batch + MAX_TIMESTAMP, <uint64_t>self.head.max_timestamp_ms)
        store_uint64(batch + PRODUCER_ID, <uint64_t>self.head.producer_id)
        store_uint16(batch + PRODUCER_EPOCH, <uint16_t>self.head.producer_epoch)
        store_uint32(batch + BASE_SEQUENCE, <uint32_t>self.head.base_sequence)
        store_uint32(batch + RECORD_COUNT, <uint32_t>self.kept_count)
        store_uint32(batch + CRC, crc32c(batch + ATTRIBUTES, size - ATTRIBUTES))
        return self.track(size)

    cdef Problem track(self, Py_ssize_t size) noexcept nogil:
        """As Segment.track_batch, for a batch that has been written."""
        cdef IndexEntry *entry
        if self.size_bytes == 0:
            self.first_timestamp_ms = self.head.max_timestamp_ms
        if self.head.max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = self.head.max_timestamp_ms
            self.offset_of_max_timestamp = self.head.last_offset
        if self.bytes_since_entry > self.index_interval_bytes:
            entry = <IndexEntry *>room(&self.entries, sizeof(IndexEntry))
            if entry == NULL:
                return OUT_OF_MEMORY
            entry.last_offset = self.head.last_offset
            entry.position = self.size_bytes
            entry.max_timestamp_ms = self.max_timestamp_ms
            entry.offset_of_max_timestamp = self.offset_of_max_timestamp
            self.bytes_since_entry = 0
        self.size_bytes += size
        self.bytes_since_entry += size
        self.next_offset = self.head.last_offset + 1
        return NO_PROBLEM if self.size_bytes <= INT32_MAX else TOO_LARGE

    # ---------------------------------------------------------------------------------------------- compressed batches

    cdef Problem filter_compressed(self, const uint8_t *batch) except *:
        """Decide on the records of a compressed batch, and write what stays with the same compression."""
        cdef Py_buffer view
        cdef Problem problem
        cdef const uint8_t *records
        payload = PyMemoryView_FromMemory(<char *>batch + RECORDS, self.head.size - RECORDS, PyBUF_READ)
        compression = COMPRESSIONS[self.head.attributes & COMPRESSION_MASK]
        try:
            plain = decompress(compression, payload, DECOMPRESSED_BYTES_MAX)
        except BadCompression:
            return BAD_RECORD
        PyObject_GetBuffer(plain, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                records = <const uint8_t *>view.buf
                problem = self.decide_records(records, records + view.len)
                if problem == NO_PROBLEM and self.must_compress():
                    self.records.size = 0
                    self.rebase()
                    problem = self.write_records(&self.records)
                elif problem == NO_PROBLEM:
                    return self.write_batch(batch)
        finally:
            PyBuffer_Release(&view)
        if problem != NO_PROBLEM:
            return problem
        return self.write_compressed(compression)

    cdef bint must_compress(self) noexcept nogil:
        return self.kept_count > 0 and (self.kept_count < self.head.record_count or self.needs_horizon)

    cdef Problem write_compressed(self, str compression) except *:
        cdef Py_buffer view
        cdef Py_ssize_t start = self.out.size
        cdef uint8_t *place
        plain = PyMemoryView_FromMemory(<char *>self.records.data, self.records.size, PyBUF_READ)
        payload = compress(compression, plain)
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        try:
            place = room(&self.out, RECORDS + view.len)
            if place == NULL:
                return OUT_OF_MEMORY
            memcpy(place + RECORDS, view.buf, view.len)
            with nogil:
                return self.seal(start)
        finally:
            PyBuffer_Release(&view)
