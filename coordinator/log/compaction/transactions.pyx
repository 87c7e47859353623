# cython: language_level=3, boundscheck=False, wraparound=False
"""Which transactions of a log were aborted, which markers are still needed, and each producer's last batch.

The counterpart of CleanedTransactionMetadata. Kafka reads aborted transactions from an index beside each segment; here
they follow from the markers in the log itself.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, int64_t, uint8_t
from libc.stdlib cimport free, qsort, realloc

from _wire.batches cimport RECORDS, corrupt
from _wire.big_endian cimport load_uint16
from coordinator.log.compaction.producer_table cimport Producer, ProducerTable
from coordinator.log.compaction.raw_batches cimport (
    BAD_MARKER, BAD_ORDER, INCOMPLETE, NO_PROBLEM, OUT_OF_MEMORY, TOO_MANY_PRODUCERS, Head, Problem, RecordView,
    is_control, is_transactional, read_head, read_record,
)

cdef enum Marker:                       # ControlRecordType
    ABORT = 0
    COMMIT = 1
    OTHER = 2
    NO_RECORD = 3

cdef enum:
    MARKER_KEY_BYTES = 4                # version and type, int16 each

cdef tuple PROBLEMS = (
    ("", ""),
    ("batch_length", "the batch does not end within the segment"),
    ("", ""),
    ("batch_length", "a length that is not allowed"),
    ("magic", "not format 2"),
    ("attributes", "an unknown compression"),
    ("last_offset_delta", "offsets that are not allowed"),
    ("base_offset", "the offsets do not follow those of the batch before"),
    ("crc", "the checksum is wrong"),
    ("record_count", "the number of records is not that in the header"),
    ("records", "a record is malformed"),
    ("records", "a control record is malformed"),
    ("batch_length", "the batch would be too large"),
    ("producer_id", "the log has too many producers with transactions"),
    ("", "there is no memory"),
)


cdef object corrupt_batch(Problem problem, Py_ssize_t position):
    """The exception to raise for a problem at a position of the bytes that were read."""
    if problem == OUT_OF_MEMORY:
        return MemoryError("the log cleaner")
    field, why = PROBLEMS[<int>problem]
    return corrupt(2, field, position, why)


cdef int by_first_offset(const void *one, const void *other) noexcept nogil:
    cdef int64_t a = (<const AbortedTransaction *>one).first_offset
    cdef int64_t b = (<const AbortedTransaction *>other).first_offset
    return (a > b) - (a < b)


cdef Problem read_marker(const Head *head, const uint8_t *batch, Marker *marker) noexcept nogil:
    cdef RecordView record
    cdef const uint8_t *end = batch + head.size
    cdef int kind
    if head.record_count == 0:          # it was cleaned before
        marker[0] = NO_RECORD
        return NO_PROBLEM
    if read_record(batch + RECORDS, end, head, &record) == NULL or record.key_size < MARKER_KEY_BYTES:
        return BAD_MARKER
    kind = load_uint16(record.key + 2)
    marker[0] = ABORT if kind == 0 else COMMIT if kind == 1 else OTHER
    return NO_PROBLEM


cdef class Transactions:

    def __cinit__(self, bytes secret, int64_t live_after_ms, Py_ssize_t producers_max):
        self.table = ProducerTable(secret)
        self.live_after_ms = live_after_ms
        self.producers_max = producers_max

    def __dealloc__(self):
        free(self.aborted)

    @property
    def aborted_transactions(self):
        return [
            (self.aborted[i].producer_id, self.aborted[i].first_offset, self.aborted[i].last_offset)
            for i in range(self.aborted_count)
        ]

    @property
    def first_open_offset(self):
        cdef int64_t first = INT64_MAX
        cdef Py_ssize_t i
        for i in range(self.table.slot_count):
            if self.table.slots[i].is_used and self.table.slots[i].open_since >= 0:
                first = min(first, self.table.slots[i].open_since)
        return first

    @property
    def producers(self):
        return self.table.producers

    def scan(self, data):
        cdef Py_buffer view
        cdef Py_ssize_t position = 0
        cdef Problem problem = NO_PROBLEM
        cdef Head head
        cdef const uint8_t *start
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                start = <const uint8_t *>view.buf
                while problem == NO_PROBLEM and position < view.len:
                    # Whoever uses the records checks the checksum as well.
                    problem = read_head(start + position, view.len - position, False, &head)
                    if problem == NO_PROBLEM and head.base_offset < self.next_offset:
                        problem = BAD_ORDER
                    if problem == NO_PROBLEM:
                        problem = self.scan_batch(&head, start + position)
                    if problem == NO_PROBLEM:
                        self.next_offset = head.last_offset + 1
                        position += head.size
            if problem > INCOMPLETE:
                raise corrupt_batch(problem, position)
            return position
        finally:
            PyBuffer_Release(&view)

    def begin_pass(self, int64_t from_offset):
        qsort(self.aborted, self.aborted_count, sizeof(AbortedTransaction), by_first_offset)
        self.table.begin_pass()
        self.next_aborted = 0
        self.pass_from_offset = from_offset

    cdef Problem scan_batch(self, const Head *head, const uint8_t *batch) noexcept nogil:
        cdef Producer *producer
        cdef Marker marker
        cdef Problem problem
        if head.producer_id < 0:
            return NO_PROBLEM
        if self.table.producers >= self.producers_max and self.table.find(head.producer_id) == NULL:
            # As if it had expired; but of a transaction it must be known how it ended.
            return TOO_MANY_PRODUCERS if is_transactional(head) else NO_PROBLEM
        producer = self.table.entry(head.producer_id)
        if producer == NULL:
            return OUT_OF_MEMORY
        producer.last_timestamp_ms = head.max_timestamp_ms
        if not is_control(head):
            producer.epoch = head.producer_epoch
            producer.last_data_offset = head.last_offset
            if is_transactional(head) and producer.open_since < 0:
                producer.open_since = head.base_offset
            return NO_PROBLEM
        if head.producer_epoch > producer.epoch:
            producer.epoch = head.producer_epoch
            producer.last_data_offset = -1
        problem = read_marker(head, batch, &marker)
        if problem != NO_PROBLEM:
            return problem
        if marker == ABORT and producer.open_since >= 0:
            problem = self.add_aborted(producer, head.last_offset)
        if marker == ABORT or marker == COMMIT:
            producer.open_since = -1
        return problem

    cdef Problem add_aborted(self, const Producer *producer, int64_t last_offset) noexcept nogil:
        cdef Py_ssize_t capacity
        cdef AbortedTransaction *grown
        if self.aborted_count == self.aborted_capacity:
            capacity = 2 * self.aborted_capacity + 16
            grown = <AbortedTransaction *>realloc(self.aborted, capacity * sizeof(AbortedTransaction))
            if grown == NULL:
                return OUT_OF_MEMORY
            self.aborted, self.aborted_capacity = grown, capacity
        self.aborted[self.aborted_count].producer_id = producer.producer_id
        self.aborted[self.aborted_count].first_offset = producer.open_since
        self.aborted[self.aborted_count].last_offset = last_offset
        self.aborted_count += 1
        return NO_PROBLEM

    cdef void meet_aborted(self, int64_t up_to_offset) noexcept nogil:
        """Note the aborted transactions that begin at or before an offset."""
        cdef AbortedTransaction *aborted
        cdef Producer *producer
        while self.next_aborted < self.aborted_count:
            aborted = &self.aborted[self.next_aborted]
            if aborted.first_offset > up_to_offset:
                return
            self.next_aborted += 1
            if aborted.last_offset >= self.pass_from_offset:
                producer = self.table.find(aborted.producer_id)
                producer.is_aborting, producer.has_aborted_batches = True, False

    cdef bint is_aborted(self, const Head *head) noexcept nogil:
        """Whether a batch with data belongs to an aborted transaction; to be called for each such batch, in order."""
        cdef Producer *producer
        self.meet_aborted(head.last_offset)
        if not is_transactional(head):
            return False
        producer = self.table.find(head.producer_id)
        if producer == NULL:
            return False
        if producer.is_aborting:
            producer.has_aborted_batches = True
            return True
        producer.has_committed_batches = True
        return False

    cdef Problem meet_marker(self, const Head *head, const uint8_t *batch, bint *is_done) noexcept nogil:
        """Set `is_done` if no batch of its transaction is left; to be called for each control batch, in order."""
        cdef Marker marker
        cdef Producer *producer
        cdef Problem problem = read_marker(head, batch, &marker)
        if problem != NO_PROBLEM:
            return problem
        self.meet_aborted(head.last_offset)
        producer = self.table.find(head.producer_id)
        is_done[0] = marker != OTHER
        if producer == NULL:
            return NO_PROBLEM
        if marker == ABORT:
            is_done[0] = not (producer.is_aborting and producer.has_aborted_batches)
            producer.is_aborting = producer.has_aborted_batches = False
        elif marker == COMMIT:
            is_done[0] = not producer.has_committed_batches
            producer.has_committed_batches = False
        return NO_PROBLEM

    cdef bint is_last_of_live_producer(self, const Head *head) noexcept nogil:
        cdef const Producer *producer
        if head.producer_id < 0:
            return False
        producer = self.table.find(head.producer_id)
        if producer == NULL or producer.last_timestamp_ms <= self.live_after_ms:
            return False
        if producer.last_data_offset >= 0:
            return head.last_offset == producer.last_data_offset
        return is_control(head) and head.producer_epoch == producer.epoch
