"""The offsets of the record batches that a fetch has read, from their headers alone."""

from libc.stdint cimport int16_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc

from _wire.batches cimport (
    ATTRIBUTES, BASE_OFFSET, BATCH_LENGTH, CONTROL_FLAG, LAST_OFFSET_DELTA, LENGTH_END, PRODUCER_ID, RECORDS,
    TRANSACTIONAL_FLAG,
)
from _wire.big_endian cimport load_uint16, load_uint32, load_uint64

cdef enum:
    BATCHES_AT_FIRST = 16
    ABORT_MARKER = 0


cdef class FetchedBatches:
    def __cinit__(self, data):
        cdef const uint8_t[::1] view
        cdef const uint8_t *batch
        cdef Py_ssize_t position = 0, size, room = BATCHES_AT_FIRST
        cdef Bounds *more
        self.data = data
        self.bounds = <Bounds *>malloc(room * sizeof(Bounds))
        if self.bounds == NULL:
            raise MemoryError
        if len(data) == 0:
            return
        view = data
        while position + RECORDS <= view.shape[0]:
            batch = &view[position]
            size = LENGTH_END + <Py_ssize_t>load_uint32(batch + BATCH_LENGTH)
            if size < RECORDS or position + size > view.shape[0]:
                break
            if self.count == room:
                room *= 2
                more = <Bounds *>realloc(self.bounds, room * sizeof(Bounds))
                if more == NULL:
                    raise MemoryError
                self.bounds = more
            self.bounds[self.count].base_offset = <int64_t>load_uint64(batch + BASE_OFFSET)
            self.bounds[self.count].last_offset = (
                self.bounds[self.count].base_offset + <int64_t>load_uint32(batch + LAST_OFFSET_DELTA)
            )
            self.bounds[self.count].position = position
            self.count += 1
            position += size

    def __dealloc__(self):
        free(self.bounds)

    def __len__(self):
        return self.count

    @property
    def last_offset(self):
        return self.last()

    cdef int64_t last(self) noexcept:
        return self.bounds[self.count - 1].last_offset if self.count else -1

    cdef int64_t end_of_batch_with(self, int64_t offset) noexcept:
        # The last batch that begins at the offset or before it.
        cdef Py_ssize_t low = 0, high = self.count, middle
        while low < high:
            middle = (low + high) // 2
            if self.bounds[middle].base_offset <= offset:
                low = middle + 1
            else:
                high = middle
        if low and offset <= self.bounds[low - 1].last_offset:
            return self.bounds[low - 1].last_offset
        return offset

    cpdef Py_ssize_t bytes_before(self, int64_t offset) except -1:
        cdef Py_ssize_t index
        for index in range(self.count):
            if self.bounds[index].last_offset >= offset:
                return self.bounds[index].position
        return len(self.data)

    cpdef Py_ssize_t bytes_through(self, int64_t offset) except -1:
        cdef Py_ssize_t index
        for index in range(self.count):
            if self.bounds[index].base_offset > offset:
                return self.bounds[index].position
        return len(self.data)

    cpdef around(self, int64_t first, int64_t last):
        cdef Py_ssize_t start = 0, end
        if self.count < 2:
            return self.data
        # As Kafka: a batch that begins at `first` or before it takes the place of the one before.
        while start + 1 < self.count and self.bounds[start + 1].base_offset <= first:
            start += 1
        end = start + 1
        while end < self.count and self.bounds[end].base_offset <= last:
            end += 1
        if start == 0 and end == self.count:
            return self.data
        return memoryview(self.data)[
            self.bounds[start].position : self.bounds[end].position if end < self.count else len(self.data)
        ]

    def aborted(self, transactions):
        cdef const uint8_t[::1] view
        cdef const uint8_t *batch
        cdef int64_t producer_id
        cdef int16_t attributes
        cdef Py_ssize_t index
        cdef set producer_ids = set()
        cdef list found = [], pending = sorted(transactions, key=lambda transaction: -transaction[1])
        if not pending or self.count == 0:
            return found
        view = self.data
        for index in range(self.count):
            batch = &view[self.bounds[index].position]
            producer_id = <int64_t>load_uint64(batch + PRODUCER_ID)
            if producer_id < 0:
                continue
            while pending and pending[len(pending) - 1][1] <= self.bounds[index].last_offset:
                producer_ids.add(pending.pop()[0])
            attributes = <int16_t>load_uint16(batch + ATTRIBUTES)
            if attributes & CONTROL_FLAG:
                if _is_abort_marker(batch, batch + _size(batch)):
                    producer_ids.discard(producer_id)
            elif attributes & TRANSACTIONAL_FLAG and producer_id in producer_ids:
                found.append((self.bounds[index].base_offset, self.bounds[index].last_offset))
        return found


cdef inline Py_ssize_t _size(const uint8_t *batch) noexcept:
    return LENGTH_END + <Py_ssize_t>load_uint32(batch + BATCH_LENGTH)


cdef bint _is_abort_marker(const uint8_t *batch, const uint8_t *end) noexcept:
    # The first record: length, attributes, timestamp delta, offset delta, key length as varints; then version and type.
    cdef const uint8_t *p = batch + RECORDS
    p = _after_varint(p, end)
    p = _after_varint(p + 1, end)
    p = _after_varint(p, end)
    p = _after_varint(p, end)
    return p + 4 <= end and load_uint16(p + 2) == ABORT_MARKER


cdef inline const uint8_t *_after_varint(const uint8_t *p, const uint8_t *end) noexcept:
    while p < end and p[0] & 0x80:
        p += 1
    return p + 1
