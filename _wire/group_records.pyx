# cython: language_level=3, boundscheck=False, wraparound=False
"""Batches of `__consumer_offsets`, searched for the records of groups: committed offsets are counted where they lie.

Nearly all records of the topic are committed offsets. The key of every record begins with its type and the group's id,
whatever the type (CoordinatorRecordType of Apache Kafka 4.3), so nothing else is read of a record that is not wanted.
"""

cimport cython
from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcmp

from _wire.batch_reader cimport Record
from _wire.batches cimport (
    ATTRIBUTES, BASE_OFFSET, BASE_TIMESTAMP, BATCH_LENGTH, COMPRESSION_MASK, CONTROL_FLAG, CRC, LAST_OFFSET_DELTA,
    LEGACY_ATTRIBUTES, LENGTH_END, LOG_APPEND_TIME_FLAG, MAGIC, MAX_TIMESTAMP, PRODUCER_ID, RECORD_COUNT, RECORDS,
    TRANSACTIONAL_FLAG,
)
from _wire.crc32c_nogil cimport crc32c
from _wire.group_table cimport GroupTable
from _wire.big_endian cimport load_uint16, load_uint32, load_uint64
from _wire.record_fields cimport varint, varlong

from _wire.batch_reader import parse_batch
from _wire.compression import COMPRESSIONS, BadCompression, decompress_to_scratch
from _wire.errors import MalformedMessage

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *memory, Py_ssize_t size, int flags)

FOUND_BYTES_MAX = 4 << 20
BATCH_BYTES_MAX = 100 << 20             # decompressed: socket.request.max.bytes
PRODUCERS_MAX = 10_000
PROBLEMS_MAX = 100

cdef enum:
    GROUP_ID = 4                        # in a key: after the type and the length of the id
    COMMIT_TYPE_MAX = 1                 # 0 is what Kafka wrote before 0.9
    TYPES = 64                          # that are counted each; later ones are counted together, as the last
    MARKER_COMMIT = 1                   # the type in the key of a control record; 0 is abort (KIP-98)
    COMPRESSION_MAX = 4
    PARTITION_BYTES_MAX = 255           # of a key: the topic with its length, and the partition
    OFFSET_END = 10                     # of the value of a committed offset


cdef struct Batch:
    int64_t base_offset
    int64_t last_offset
    int64_t base_timestamp_ms
    int64_t max_timestamp_ms
    int64_t producer_id
    int32_t record_count
    uint16_t attributes


cdef struct Found:                      # a record, where it lies
    int64_t offset
    int64_t timestamp_ms
    const uint8_t *key
    const uint8_t *value                # NULL: none
    Py_ssize_t key_size
    Py_ssize_t value_size


@cython.final
cdef class CommitCounts:
    cdef readonly int64_t commits
    cdef readonly int64_t first_ms
    cdef readonly int64_t last_ms

    def __init__(self):
        self.first_ms = self.last_ms = -1

    cdef void add(self, int64_t timestamp_ms) noexcept:
        self.commits += 1
        self.seen(timestamp_ms, timestamp_ms)

    cdef void seen(self, int64_t first_ms, int64_t last_ms) noexcept:
        if self.first_ms < 0 or 0 <= first_ms < self.first_ms:
            self.first_ms = first_ms
        if last_ms > self.last_ms:
            self.last_ms = last_ms

    def __repr__(self):
        return f"CommitCounts(commits={self.commits}, first_ms={self.first_ms}, last_ms={self.last_ms})"


@cython.final
cdef class _Open:
    """What a transaction that has not ended committed for the group."""
    cdef CommitCounts counts
    cdef dict offsets


@cython.final
cdef class GroupRecordScan:
    cdef readonly CommitCounts commits
    cdef readonly dict offsets          # of the group, where they are kept
    cdef readonly int64_t offsets_left_out
    cdef readonly int64_t deleted
    cdef readonly int64_t aborted
    cdef readonly int64_t markers
    cdef readonly int64_t keyless
    cdef readonly int64_t records
    cdef readonly int64_t batches
    cdef readonly int64_t next_offset
    cdef readonly int64_t skip_to
    cdef readonly bint is_stuck
    cdef readonly list problems
    cdef readonly int64_t problem_count
    cdef bytes prefix                   # of the key of the one group, after the type
    cdef object group_ids
    cdef GroupTable table
    cdef Py_ssize_t offsets_max
    cdef Py_ssize_t open_offsets        # that transactions which have not ended keep, together
    cdef Py_ssize_t found_bytes
    cdef dict open
    cdef int64_t by_type[TYPES]
    cdef int64_t of_group_by_type[TYPES]

    def __init__(self, bytes group=None, *, group_ids=None, GroupTable table=None, Py_ssize_t offsets_max=0):
        if group is not None and (group_ids is not None or table is not None):
            raise ValueError("the records of one group, or of several")
        self.prefix = None if group is None else len(group).to_bytes(2, "big") + group
        self.group_ids = group_ids
        self.table = table
        self.offsets_max = offsets_max
        self.commits = CommitCounts()
        self.offsets = {}
        self.problems = []
        self.open = {}
        for record_type in range(TYPES):
            self.by_type[record_type] = self.of_group_by_type[record_type] = 0

    @property
    def pending(self):
        cdef _Open transaction
        return sum([transaction.counts.commits for transaction in self.open.values()])

    @property
    def committed(self):
        return self.by_type[0] + self.by_type[1]

    @property
    def types(self):
        return {record_type: self.by_type[record_type] for record_type in range(TYPES) if self.by_type[record_type]}

    @property
    def types_of_group(self):
        return {
            record_type: self.of_group_by_type[record_type]
            for record_type in range(TYPES)
            if self.of_group_by_type[record_type]
        }

    def go_back_to(self, int64_t offset):
        self.next_offset = min(self.next_offset, offset)

    def scan(
        self, data, Py_ssize_t position=0, int64_t from_offset=0, int64_t end_offset=INT64_MAX,
        int64_t high_watermark=INT64_MAX,
    ):
        cdef Py_buffer view
        cdef list found = []
        cdef Py_ssize_t size
        self.is_stuck = False
        self.skip_to = -1
        self.found_bytes = 0
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        if from_offset > self.next_offset:
            self.next_offset = from_offset
        try:
            if not 0 <= position <= view.len:
                raise ValueError(f"position {position} lies outside of the {view.len} bytes given")
            while self.found_bytes < FOUND_BYTES_MAX and self.next_offset < end_offset:
                size = self.batch_size(<const uint8_t *>view.buf + position, view.len - position)
                if size == 0:
                    return found, view.len
                self.scan_batch(<const uint8_t *>view.buf + position, size, end_offset, high_watermark, found)
                position += size
            return found, view.len if self.next_offset >= end_offset else position
        finally:
            PyBuffer_Release(&view)

    cdef Py_ssize_t batch_size(self, const uint8_t *data, Py_ssize_t left) except -1:
        """0 if there is no whole batch."""
        cdef int32_t length
        if left < LENGTH_END:
            return 0
        length = <int32_t>load_uint32(data + BATCH_LENGTH)
        if length <= LEGACY_ATTRIBUTES - LENGTH_END:
            self.report(self.next_offset, f"the length of a batch is {length}")
            self.is_stuck = True
            return 0
        return LENGTH_END + <Py_ssize_t>length if length <= left - LENGTH_END else 0

    cdef int scan_batch(
        self, const uint8_t *data, Py_ssize_t size, int64_t end_offset, int64_t high_watermark, list found
    ) except -1:
        cdef Batch batch
        cdef object why
        if data[MAGIC] != 2 or size < RECORDS:
            return self.scan_old(data, size, end_offset, found)
        read_batch(&batch, data)
        why = self.problem_of(&batch, data, size, high_watermark)
        if why is not None:
            # What it says of its offsets is believed only if nothing else tells where the next batch is.
            self.report(self.next_offset, why)
            self.is_stuck = True
            self.skip_to = batch.last_offset + 1 if batch.base_offset <= self.next_offset else -1
            return 0
        self.is_stuck = False
        if batch.last_offset < self.next_offset:    # a broker may begin with batches before the offset
            return 0
        self.batches += 1
        try:
            self.scan_content(&batch, data + RECORDS, size - RECORDS, end_offset, found)
        except (BadCompression, MalformedMessage) as problem:
            self.report(batch.base_offset, str(problem))
        self.next_offset = batch.last_offset + 1
        return 0

    cdef object problem_of(self, const Batch *batch, const uint8_t *data, Py_ssize_t size, int64_t high_watermark):
        if crc32c(data + ATTRIBUTES, size - ATTRIBUTES) != load_uint32(data + CRC):
            return "the checksum of a batch is wrong"
        if batch.base_offset < 0 or batch.last_offset < batch.base_offset or batch.record_count < 0:
            return f"a batch of {batch.record_count} records has offsets {batch.base_offset} to {batch.last_offset}"
        if batch.base_offset >= high_watermark:     # which the checksum does not cover
            return f"a batch has offset {batch.base_offset}, and the partition ends at {high_watermark}"
        if batch.attributes & COMPRESSION_MASK > COMPRESSION_MAX:
            return f"compression {batch.attributes & COMPRESSION_MASK} is unknown"
        return None

    cdef int scan_content(
        self, const Batch *batch, const uint8_t *records, Py_ssize_t size, int64_t end_offset, list found
    ) except -1:
        cdef Py_buffer view
        cdef int compression = batch.attributes & COMPRESSION_MASK
        if compression == 0:
            return self.scan_records(batch, records, size, end_offset, found)
        packed = PyMemoryView_FromMemory(<char *>records, size, PyBUF_READ)
        plain = decompress_to_scratch(COMPRESSIONS[compression], packed, BATCH_BYTES_MAX)
        PyObject_GetBuffer(plain, &view, PyBUF_SIMPLE)
        try:
            return self.scan_records(batch, <const uint8_t *>view.buf, view.len, end_offset, found)
        finally:
            PyBuffer_Release(&view)

    cdef int scan_records(
        self, const Batch *batch, const uint8_t *p, Py_ssize_t size, int64_t end_offset, list found
    ) except -1:
        cdef Found record
        cdef const uint8_t *end = p + size
        cdef int32_t index
        cdef _Open transaction = None
        if batch.attributes & TRANSACTIONAL_FLAG and not batch.attributes & CONTROL_FLAG and self.prefix is not None:
            transaction = self.transaction_of(batch.producer_id)
        for index in range(batch.record_count):
            p = read_record(batch, p, end, &record)
            if p == NULL:
                self.report(batch.base_offset, f"record {index} of a batch of {batch.record_count} cannot be read")
                return 0
            if record.offset < self.next_offset or record.offset >= end_offset:
                continue
            self.records += 1
            if batch.attributes & CONTROL_FLAG:
                self.end_transaction(batch.producer_id, &record)
            else:
                self.count_record(&record, transaction, found)
        if transaction is not None and transaction.counts.commits == 0:
            self.forget(batch.producer_id)
        return 0

    cdef int count_record(self, const Found *record, _Open transaction, list found) except -1:
        cdef int record_type
        cdef Py_ssize_t group_size
        if record.key == NULL or record.key_size < GROUP_ID:
            self.keyless += 1
            return 0
        record_type = load_uint16(record.key)
        group_size = load_uint16(record.key + 2)
        if group_size > record.key_size - GROUP_ID:
            self.keyless += 1
            return 0
        self.by_type[record_type if record_type < TYPES else TYPES - 1] += 1
        if self.prefix is not None:
            if record.key_size < 2 + PyBytes_GET_SIZE(self.prefix) or memcmp(
                record.key + 2, PyBytes_AS_STRING(self.prefix), PyBytes_GET_SIZE(self.prefix)
            ) != 0:
                return 0
            self.of_group_by_type[record_type if record_type < TYPES else TYPES - 1] += 1
        if record_type <= COMMIT_TYPE_MAX:
            if self.prefix is not None:
                self.collect_commit(record, transaction)
            elif self.table is not None:
                self.table.add_commit(record.key + GROUP_ID, group_size, record.value == NULL, record.timestamp_ms)
            return 0
        if self.group_ids is not None:
            if PyBytes_FromStringAndSize(<const char *>record.key + GROUP_ID, group_size) not in self.group_ids:
                return 0
        self.found_bytes += record.key_size + record.value_size
        found.append(record_of(record))
        return 0

    cdef int collect_commit(self, const Found *record, _Open transaction) except -1:
        """Of the one group that is wanted."""
        cdef CommitCounts counts = self.commits if transaction is None else transaction.counts
        cdef dict offsets
        cdef Py_ssize_t partition_size
        if record.value == NULL:
            self.deleted += 1
        else:
            counts.add(record.timestamp_ms)
        if self.offsets_max == 0:
            return 0
        offsets = self.offsets if transaction is None else transaction.offsets
        partition_size = record.key_size - 2 - PyBytes_GET_SIZE(self.prefix)
        partition = PyBytes_FromStringAndSize(
            <const char *>record.key + 2 + PyBytes_GET_SIZE(self.prefix), min(partition_size, PARTITION_BYTES_MAX)
        )
        if record.value == NULL or record.value_size < OFFSET_END:
            offsets.pop(partition, None)
        elif partition_size > PARTITION_BYTES_MAX or not (
            partition in offsets or len(self.offsets) + self.open_offsets < self.offsets_max
        ):
            self.offsets_left_out += 1
        else:
            if transaction is not None and partition not in offsets:
                self.open_offsets += 1
            # Each version of the value begins with the version and the offset.
            offsets[partition] = <int64_t>load_uint64(record.value + 2), record.timestamp_ms
        return 0

    cdef _Open transaction_of(self, int64_t producer_id):
        cdef _Open found = self.open.get(producer_id)
        if found is None:
            found = _Open.__new__(_Open)
            found.counts = CommitCounts()
            found.offsets = {}
            if len(self.open) >= PRODUCERS_MAX:     # the oldest one has been open for longest
                self.forget(next(iter(self.open)))
            self.open[producer_id] = found
        return found

    cdef _Open forget(self, int64_t producer_id):
        cdef _Open ended = self.open.pop(producer_id, None) if self.open else None
        if ended is not None:
            self.open_offsets -= len(ended.offsets)
        return ended

    cdef int end_transaction(self, int64_t producer_id, const Found *marker) except -1:
        cdef _Open ended = self.forget(producer_id)
        self.markers += 1
        if ended is None:
            return 0
        if marker.key == NULL or marker.key_size < 4 or load_uint16(marker.key + 2) != MARKER_COMMIT:
            self.aborted += ended.counts.commits
            return 0
        self.commits.commits += ended.counts.commits
        self.commits.seen(ended.counts.first_ms, ended.counts.last_ms)
        self.offsets.update(ended.offsets)
        return 0

    cdef int scan_old(self, const uint8_t *data, Py_ssize_t size, int64_t end_offset, list found) except -1:
        """Messages of formats 0 and 1, as brokers before 0.11 wrote them. There is no hurry: hardly any are left."""
        cdef Found message
        cdef Record record
        cdef int64_t first
        try:
            header, records = parse_batch(PyMemoryView_FromMemory(<char *>data, size, PyBUF_READ))
        except MalformedMessage as problem:
            self.report(self.next_offset, str(problem))
            self.is_stuck = True
            return 0
        self.is_stuck = False
        self.batches += 1
        first = self.next_offset
        for record in records:
            if first <= record.offset < end_offset:
                self.records += 1
                message.offset, message.timestamp_ms = record.offset, record.timestamp_ms
                lay_bytes(&message.key, &message.key_size, record.key)
                lay_bytes(&message.value, &message.value_size, record.value)
                self.count_record(&message, None, found)
        self.next_offset = max(first, <int64_t>header.next_offset)
        return 0

    cdef int report(self, int64_t offset, str why) except -1:
        self.problem_count += 1
        if len(self.problems) < PROBLEMS_MAX:
            self.problems.append((offset, why))
        return 0


cdef void read_batch(Batch *batch, const uint8_t *data) noexcept:
    cdef int32_t last_offset_delta = <int32_t>load_uint32(data + LAST_OFFSET_DELTA)
    batch.base_offset = <int64_t>load_uint64(data + BASE_OFFSET)
    batch.last_offset = -1
    if last_offset_delta >= 0 and batch.base_offset < INT64_MAX - last_offset_delta:
        batch.last_offset = batch.base_offset + last_offset_delta
    batch.base_timestamp_ms = <int64_t>load_uint64(data + BASE_TIMESTAMP)
    batch.max_timestamp_ms = <int64_t>load_uint64(data + MAX_TIMESTAMP)
    batch.producer_id = <int64_t>load_uint64(data + PRODUCER_ID)
    batch.record_count = <int32_t>load_uint32(data + RECORD_COUNT)
    batch.attributes = load_uint16(data + ATTRIBUTES)


cdef const uint8_t *read_record(const Batch *batch, const uint8_t *p, const uint8_t *end, Found *record) noexcept nogil:
    """The position after it; NULL if it cannot be read. Of its value no more than the size is read, and no headers."""
    cdef int64_t length, delta, timestamp_delta, size
    cdef const uint8_t *after
    p = varint(p, end, &length)
    if p == NULL or length < 1 or length > end - p:
        return NULL
    after = p + length
    p = varlong(p + 1, after, &timestamp_delta)     # after the attributes: none are defined
    if p == NULL:
        return NULL
    p = varint(p, after, &delta)
    if p == NULL or delta < 0 or delta > batch.last_offset - batch.base_offset:
        return NULL
    record.offset = batch.base_offset + delta
    record.timestamp_ms = <int64_t>(<uint64_t>batch.base_timestamp_ms + <uint64_t>timestamp_delta)
    if batch.attributes & LOG_APPEND_TIME_FLAG:
        record.timestamp_ms = batch.max_timestamp_ms
    p = varint(p, after, &size)
    if p == NULL or size < -1 or size > after - p:
        return NULL
    lay(&record.key, &record.key_size, p, size)
    p = varint(p + record.key_size, after, &size)
    if p == NULL or size < -1 or size > after - p:
        return NULL
    lay(&record.value, &record.value_size, p, size)
    return after


cdef inline void lay(const uint8_t **start, Py_ssize_t *length, const uint8_t *p, int64_t size) noexcept nogil:
    """Of a key or value; a size of -1 means that there is none."""
    start[0] = p
    length[0] = size
    if size < 0:
        start[0] = NULL
        length[0] = 0


cdef int lay_bytes(const uint8_t **start, Py_ssize_t *length, bytes data) except -1:
    if data is None:
        lay(start, length, NULL, -1)
    else:
        lay(start, length, <const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    return 0


cdef Record record_of(const Found *found):
    cdef Record record = Record.__new__(Record)
    record.offset = found.offset
    record.timestamp_ms = found.timestamp_ms
    record.key = PyBytes_FromStringAndSize(<const char *>found.key, found.key_size)
    record.value = None
    if found.value != NULL:
        record.value = PyBytes_FromStringAndSize(<const char *>found.value, found.value_size)
    record.headers = ()
    return record
