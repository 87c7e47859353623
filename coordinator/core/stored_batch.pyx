"""Records that are appended together, measured as they are collected.

Compiled: every decision that is stored has one.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t

from _wire.written_records cimport WRITTEN_SIZE_BYTES, length_bytes, read_length, size_in_batch, written_size

cdef enum:
    BATCH_OVERHEAD_BYTES = 61           # of a record batch without its records (KIP-98)


cdef Py_ssize_t pairs_bytes(list pairs, Py_ssize_t position) except -1:
    """Bytes of records that follow `position` others in their batch."""
    cdef Py_ssize_t size = 0, written
    cdef tuple pair
    cdef bytes key, value
    for pair in pairs:
        key, value = pair
        written = 1 + length_bytes(len(key)) + len(key)
        written += 1 if value is None else length_bytes(len(value)) + len(value)    # a null value has the length -1
        size += size_in_batch(written, position)
        position += 1
    return size


cdef Py_ssize_t pieces_bytes(list pieces, Py_ssize_t position) except -1:
    """The same of written records."""
    cdef Py_ssize_t size = 0
    cdef const uint8_t *p
    cdef bytes piece
    for piece in pieces:
        p = <const uint8_t *>PyBytes_AS_STRING(piece)
        while written_size(p):
            size += size_in_batch(written_size(p), position)
            p += WRITTEN_SIZE_BYTES + written_size(p)
            position += 1
    return size


cdef list pairs_of(list pieces):
    """Keys and values of written records."""
    cdef list pairs = []
    cdef const uint8_t *p
    cdef bytes piece, key, value
    for piece in pieces:
        p = <const uint8_t *>PyBytes_AS_STRING(piece)
        while written_size(p):
            p += WRITTEN_SIZE_BYTES
            key = next_bytes(&p)
            value = next_bytes(&p)
            p += 1                      # the number of headers
            pairs.append((key, value))
    return pairs


cdef bytes next_bytes(const uint8_t **position):
    """None of a null."""
    cdef Py_ssize_t size
    cdef const uint8_t *p = read_length(position[0], &size)
    position[0] = p + max(size, 0)
    return None if size < 0 else PyBytes_FromStringAndSize(<const char *>p, size)


@cython.final
@cython.no_gc
@cython.freelist(16)
cdef class StoredBatch:
    def __init__(self, producer, list records not None):
        self.producer = producer
        self.pairs, self.count = records, len(records)
        self.size_bytes = BATCH_OVERHEAD_BYTES + pairs_bytes(records, 0)

    @property
    def records(self):
        return self.as_pairs()

    cdef list as_pairs(self):
        if self.pairs is None:
            self.pairs, self.pieces = pairs_of(self.pieces), None
        return self.pairs

    def extend(self, list records not None):
        self.size_bytes += pairs_bytes(records, self.count)
        self.as_pairs().extend(records)
        self.count += len(records)

    cpdef bint extend_if_fits(self, StoredBatch other, Py_ssize_t bytes_max) except -1:
        cdef Py_ssize_t size_bytes
        cdef bint is_written = self.pieces is not None and other.pieces is not None
        if self.producer is not other.producer and self.producer != other.producer:
            return False
        if is_written:
            size_bytes = self.size_bytes + pieces_bytes(other.pieces, self.count)
        else:
            size_bytes = self.size_bytes + pairs_bytes(other.as_pairs(), self.count)
        if size_bytes > bytes_max:
            return False
        if is_written:
            self.pieces.extend(other.pieces)
        else:
            self.as_pairs().extend(other.pairs)
        self.count += other.count
        self.size_bytes = size_bytes
        return True

    def __eq__(self, other):
        if type(other) is not StoredBatch:
            return NotImplemented
        return self.producer == (<StoredBatch>other).producer and self.records == (<StoredBatch>other).records

    def __repr__(self):
        return f"StoredBatch(producer={self.producer!r}, records={self.records!r})"


def batches_of(tuple events not None, dict makers not None, state, transactional):
    cdef list batches = [], records
    cdef StoredBatch last = None
    for event in events:
        make = makers.get(type(event))
        if make is None:
            continue
        records = make(event, state, events)
        if not records:
            continue
        producer = event.producer if type(event) is transactional else None
        if last is not None and (last.producer is producer or last.producer == producer):
            last.extend(records)
        else:
            last = StoredBatch(producer, records)
            batches.append(last)
    return batches


cdef StoredBatch written_batch(bytes piece, Py_ssize_t count, Py_ssize_t records_bytes):
    """Written records of no producer, which take so many bytes in a batch of their own."""
    cdef StoredBatch batch = StoredBatch.__new__(StoredBatch)
    batch.pieces, batch.count = [piece], count
    batch.size_bytes = BATCH_OVERHEAD_BYTES + records_bytes
    return batch
