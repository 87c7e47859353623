"""The file of batches of a segment. Compiled, because each append goes through it."""

from libc.stdint cimport INT32_MAX, int64_t

NO_TIMESTAMP = -1

cdef enum:
    NONE_YET = -1
    OFFSET_ENTRY_BYTES = 8
    ENDS_MAX = 32

READ_ENDS_MAX = ENDS_MAX


cdef class PrebuiltBatch:
    def __init__(self, bytes data not None, int64_t last_offset):
        self.data = data
        self.last_offset = last_offset


cdef PrebuiltBatch prebuilt(bytes data, int64_t last_offset):
    cdef PrebuiltBatch batch = PrebuiltBatch.__new__(PrebuiltBatch)
    batch.data, batch.last_offset = data, last_offset
    return batch


cdef class SegmentFile:
    def __init__(self, int64_t base_offset, config):
        self.base_offset = base_offset
        self.configure(config)
        self.damages = []
        self.read_ends = {}
        self.forget_batches()

    def configure(self, config):
        self.max_message_bytes = config.max_message_bytes
        self.segment_bytes = config.segment_bytes
        self.segment_ms = config.segment_ms
        self.index_interval_bytes = config.index_interval_bytes
        self.index_entries_max = config.segment_index_bytes // OFFSET_ENTRY_BYTES

    def note_read_end(self, int64_t offset, int64_t position):
        if offset not in self.read_ends and len(self.read_ends) >= ENDS_MAX:
            del self.read_ends[next(iter(self.read_ends))]
        self.read_ends[offset] = position

    cpdef forget_batches(self):
        self.next_offset = self.offset_of_max_timestamp = self.base_offset
        self.size_bytes = self.bytes_since_index_entry = 0
        self.max_timestamp_ms = self.first_timestamp_ms = NONE_YET

    cpdef bint has_room_for(self, int64_t size_bytes, int64_t last_offset, int64_t timestamp_ms) except -1:
        if self.size_bytes == 0:
            return True
        return (
            self.size_bytes + size_bytes <= self.segment_bytes
            and last_offset - self.base_offset <= INT32_MAX
            and (
                self.first_timestamp_ms < 0
                or timestamp_ms <= self.first_timestamp_ms
                or timestamp_ms - self.first_timestamp_ms <= self.segment_ms
            )
            and len(self.offset_index.offsets) < self.index_entries_max
        )

    def append(self, batches, headers):
        self.write(batches)
        for header in headers:
            self.track(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)

    cpdef append_prebuilt(self, bytes data, batches, int64_t max_timestamp_ms):
        cdef PrebuiltBatch batch
        self.write(data)
        for batch in batches:
            self.track(len(batch.data), batch.last_offset, max_timestamp_ms)

    def track_batch(self, int64_t size_in_bytes, int64_t last_offset, int64_t max_timestamp_ms):
        self.track(size_in_bytes, last_offset, max_timestamp_ms)

    cdef int track(self, int64_t size_in_bytes, int64_t last_offset, int64_t max_timestamp_ms) except -1:
        if self.size_bytes == 0:
            self.first_timestamp_ms = max_timestamp_ms
        if max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = max_timestamp_ms
            self.offset_of_max_timestamp = last_offset
        if self.bytes_since_index_entry > self.index_interval_bytes:
            self.offset_index.append(last_offset - self.base_offset, self.size_bytes)
            self.index_max_timestamp()
            self.bytes_since_index_entry = 0
        self.size_bytes += size_in_bytes
        self.bytes_since_index_entry += size_in_bytes
        self.next_offset = last_offset + 1
        return 0

    cpdef index_max_timestamp(self):
        if self.max_timestamp_ms != NONE_YET:
            self.time_index.append(self.max_timestamp_ms, self.offset_of_max_timestamp - self.base_offset)

    cdef write(self, data):
        if self.has_torn_tail:
            self.cut_torn_tail()
        try:
            self.file.write_at(data, self.size_bytes)
        except OSError:
            self.has_torn_tail = True
            self.cut_torn_tail()
            raise

    cpdef cut_torn_tail(self):
        if self.has_torn_tail:
            self.file.truncate(self.size_bytes)
            self.has_torn_tail = False
