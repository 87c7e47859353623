"""The results of the operations that one drain of a shard handles. Compiled: each drain has one."""

cimport cython

from coordinator.core.stored_batch cimport StoredBatch


class RecordsTooLarge(ValueError):
    """The records of one decision do not fit into a record batch of the log."""


@cython.freelist(8)
cdef class Batch:
    def __cinit__(self, Py_ssize_t bytes_max):
        self.bytes_max = bytes_max
        self.queued = []
        self.stored = []
        self.replies = []

    def check(self, decided):
        cdef StoredBatch batch
        for batch in decided:
            if batch.size_bytes > self.bytes_max:
                raise RecordsTooLarge(
                    f"a record batch of {batch.size_bytes} bytes, message.max.bytes is {self.bytes_max}"
                )

    def divided(self, decided):
        cdef list fitting = []
        cdef StoredBatch batch
        for batch in decided:
            if batch.size_bytes <= self.bytes_max or len(batch.records) == 1:
                fitting.append(batch)
                continue
            half = len(batch.records) // 2
            halves = (
                StoredBatch(batch.producer, batch.records[:half]),
                StoredBatch(batch.producer, batch.records[half:]),
            )
            fitting += self.divided(halves)
        return fitting

    def store(self, decided):
        for batch in decided:
            self.store_one(batch)

    cdef int store_one(self, StoredBatch decided) except -1:
        if self.last is None or not self.last.extend_if_fits(decided, self.bytes_max):
            self.stored.append(decided)
            self.last = decided
        return 0

    def store_marker(self, marker not None):
        self.stored.append(marker)
        self.last = None
