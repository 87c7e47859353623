"""Reads that go on where an earlier one has ended, in the active segment.

Compiled: consumers that keep up make no others. Everything else, and every doubt about what was read, is left to
`segments/reads.py`.
"""

from libc.stdint cimport int64_t

from coordinator.log.partition.log_end cimport LogEnd
from coordinator.log.segments.segment_file cimport SegmentFile

from _wire.batches import damaged_batch, end_of_whole_batches, next_offset_after

cdef enum:
    NOT_DAMAGED = -1


cpdef view_on(LogEnd log, int64_t offset, int64_t max_bytes, int64_t limit):
    cdef list segments = log.segments.items
    cdef SegmentFile active
    cdef int64_t position, left
    cdef Py_ssize_t end
    cdef bytes data
    if not segments or offset >= limit or max_bytes <= 0:
        return None
    active = segments[len(segments) - 1]
    if active.damages or offset < active.base_offset:
        return None
    found = (<dict>active.read_ends).get(offset)
    if found is None:
        return None
    position = found
    left = active.size_bytes - position
    data = active.file.read_at(position, min(max_bytes, left))
    end = end_of_whole_batches(data, limit)
    if end == 0 or len(data) < min(max_bytes, left):
        return None
    whole = data if end == len(data) else memoryview(data)[:end]
    if damaged_batch(whole, offset) != NOT_DAMAGED:
        return None
    active.note_read_end(next_offset_after(whole), position + end)
    return whole
