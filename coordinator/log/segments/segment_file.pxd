"""The end of a segment, as C fields."""

from libc.stdint cimport int64_t


cdef class PrebuiltBatch:
    cdef readonly bytes data
    cdef readonly int64_t last_offset


cdef class SegmentFile:
    cdef public object file
    cdef public object offset_index
    cdef public object time_index
    cdef public list damages
    cdef public dict read_ends
    cdef public int64_t base_offset
    cdef public int64_t next_offset
    cdef public int64_t size_bytes
    cdef public int64_t first_timestamp_ms
    cdef public int64_t max_timestamp_ms
    cdef public int64_t offset_of_max_timestamp
    cdef readonly int64_t max_message_bytes
    cdef readonly int64_t segment_bytes
    cdef int64_t bytes_since_index_entry
    cdef int64_t segment_ms
    cdef int64_t index_interval_bytes
    cdef int64_t index_entries_max
    cdef bint has_torn_tail

    cpdef forget_batches(self)
    cpdef bint has_room_for(self, int64_t size_bytes, int64_t last_offset, int64_t timestamp_ms) except -1
    cpdef append_prebuilt(self, bytes data, batches, int64_t max_timestamp_ms)
    cdef int track(self, int64_t size_in_bytes, int64_t last_offset, int64_t max_timestamp_ms) except -1
    cpdef index_max_timestamp(self)
    cdef write(self, data)
    cpdef cut_torn_tail(self)


cdef PrebuiltBatch prebuilt(bytes data, int64_t last_offset)
