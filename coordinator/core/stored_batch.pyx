"""Records that are appended together, measured as they are collected.

Compiled: every decision that is stored has one.
"""

cimport cython
from libc.stdint cimport uint64_t

cdef enum:
    BATCH_OVERHEAD_BYTES = 61           # of a record batch without its records (KIP-98)
    RECORD_OVERHEAD_BYTES = 3           # attributes, timestamp delta 0 and number of headers


cdef inline Py_ssize_t varint_bytes(uint64_t value) noexcept:
    """Of a length that is not negative: zigzag doubles it."""
    cdef Py_ssize_t size = 1
    value <<= 1
    while value >= 0x80:
        value >>= 7
        size += 1
    return size


cdef Py_ssize_t records_bytes(list records, Py_ssize_t position) except -1:
    """Bytes of records that follow `position` others in their batch."""
    cdef Py_ssize_t size = 0, body
    cdef tuple record
    cdef bytes key, value
    for record in records:
        key, value = record
        body = RECORD_OVERHEAD_BYTES + varint_bytes(position) + varint_bytes(len(key)) + len(key)
        body += 1 if value is None else varint_bytes(len(value)) + len(value)   # a null value has the length -1
        size += varint_bytes(body) + body
        position += 1
    return size


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class StoredBatch:
    def __init__(self, producer, list records not None):
        self.producer = producer
        self.records = records
        self.size_bytes = BATCH_OVERHEAD_BYTES + records_bytes(records, 0)

    def extend(self, list records not None):
        self.size_bytes += records_bytes(records, len(self.records))
        self.records.extend(records)

    cpdef bint extend_if_fits(self, StoredBatch other, Py_ssize_t bytes_max) except -1:
        cdef Py_ssize_t size_bytes
        if self.producer != other.producer:
            return False
        size_bytes = self.size_bytes + records_bytes(other.records, len(self.records))
        if size_bytes > bytes_max:
            return False
        self.records.extend(other.records)
        self.size_bytes = size_bytes
        return True

    def __eq__(self, other):
        if type(other) is not StoredBatch:
            return NotImplemented
        return self.producer == (<StoredBatch>other).producer and self.records == (<StoredBatch>other).records

    def __repr__(self):
        return f"StoredBatch(producer={self.producer!r}, records={self.records!r})"


cdef StoredBatch plain_batch(list records):
    """Records of no producer."""
    cdef StoredBatch batch = StoredBatch.__new__(StoredBatch)
    batch.records = records
    batch.size_bytes = BATCH_OVERHEAD_BYTES + records_bytes(records, 0)
    return batch
