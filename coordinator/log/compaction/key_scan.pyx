# cython: language_level=3, boundscheck=False, wraparound=False
"""The keys of the dirty part of a log go into an offset map (Cleaner.buildOffsetMap)."""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t

from _wire.batches cimport COMPRESSION_MASK, RECORDS
from coordinator.log.compaction.offset_map cimport FULL, NO_MEMORY, OffsetMap
from coordinator.log.compaction.raw_batches cimport (
    BAD_COUNT, BAD_RECORD, COMPRESSED, NO_PROBLEM, OUT_OF_MEMORY, Head, Problem, RecordView, is_control,
    read_head, read_record,
)
from coordinator.log.compaction.transactions cimport Transactions, corrupt_batch

from _wire.compression import COMPRESSIONS, BadCompression, decompress

DECOMPRESSED_BYTES_MAX = 100 * 1024 * 1024      # as when records are read (_wire/batch_reader.pyx)

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *memory, Py_ssize_t size, int flags)


cdef class KeyScan:
    cdef OffsetMap map
    cdef Transactions transactions
    cdef int64_t from_offset
    cdef readonly bint is_full
    cdef Head head

    def __cinit__(self, OffsetMap map, Transactions transactions, int64_t from_offset):
        self.map = map
        self.transactions = transactions
        self.from_offset = from_offset
        transactions.begin_pass(from_offset)

    def add(self, data):
        cdef Py_buffer view
        cdef Py_ssize_t position = 0
        cdef Problem problem
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            while True:
                with nogil:
                    problem = self.add_batches(<const uint8_t *>view.buf, view.len, &position)
                if problem == COMPRESSED:
                    problem = self.add_compressed(<const uint8_t *>view.buf + position)
                    if problem == NO_PROBLEM and not self.is_full:
                        position += self.head.size
                        continue
                if problem > COMPRESSED:
                    raise corrupt_batch(problem, position)
                return position
        finally:
            PyBuffer_Release(&view)

    def end_segment(self, int64_t next_base_offset):
        self.map.advance_to(next_base_offset - 1)

    cdef Problem add_batches(self, const uint8_t *data, Py_ssize_t size, Py_ssize_t *position) noexcept nogil:
        """Take batches up to the first that is compressed, or damaged, or not whole."""
        cdef Problem problem
        cdef const uint8_t *batch
        cdef bint is_done
        while not self.is_full:
            batch = data + position[0]
            problem = read_head(batch, size - position[0], True, &self.head)
            if problem != NO_PROBLEM:
                return problem
            if is_control(&self.head):
                problem = self.transactions.meet_marker(&self.head, batch, &is_done)
            elif not self.transactions.is_aborted(&self.head):
                if self.head.attributes & COMPRESSION_MASK and self.head.record_count > 0:
                    return COMPRESSED
                problem = self.add_records(batch + RECORDS, batch + self.head.size)
            if problem != NO_PROBLEM:
                return problem
            self.end_batch()
            if not self.is_full:
                position[0] += self.head.size
        return NO_PROBLEM

    cdef void end_batch(self) noexcept nogil:
        if not self.is_full and self.head.last_offset >= self.from_offset:
            self.map.advance_to(self.head.last_offset)

    cdef Problem add_records(self, const uint8_t *p, const uint8_t *end) noexcept nogil:
        cdef RecordView record
        cdef int64_t offset
        cdef int result
        for _ in range(self.head.record_count):
            p = read_record(p, end, &self.head, &record)
            if p == NULL:
                return BAD_RECORD
            offset = self.head.base_offset + record.offset_delta
            if record.key == NULL or offset < self.from_offset:
                continue
            result = self.map.put_key(record.key, record.key_size, offset)
            if result == NO_MEMORY:
                return OUT_OF_MEMORY
            if result == FULL:
                self.is_full = True
                return NO_PROBLEM
        return NO_PROBLEM if p == end else BAD_COUNT

    cdef Problem add_compressed(self, const uint8_t *batch) except *:
        cdef Py_buffer view
        cdef Problem problem
        cdef const uint8_t *records
        payload = PyMemoryView_FromMemory(<char *>batch + RECORDS, self.head.size - RECORDS, PyBUF_READ)
        try:
            plain = decompress(COMPRESSIONS[self.head.attributes & COMPRESSION_MASK], payload, DECOMPRESSED_BYTES_MAX)
        except BadCompression:
            return BAD_RECORD
        PyObject_GetBuffer(plain, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                records = <const uint8_t *>view.buf
                problem = self.add_records(records, records + view.len)
                self.end_batch()
            return problem
        finally:
            PyBuffer_Release(&view)
