"""The end of a log, where the server's own batches are appended. Compiled, because each append goes through it."""

from libc.stdint cimport int64_t

from coordinator.log.segments.segment_file cimport PrebuiltBatch, SegmentFile

from coordinator.log.errors import LogAppendError


cdef class LogEnd:
    def append_prebuilt(self, list batches not None, int64_t max_timestamp_ms):
        cdef PrebuiltBatch last = batches[len(batches) - 1]
        cdef bytes data = last.data if len(batches) == 1 else b"".join([batch.data for batch in batches])
        cdef int64_t size_bytes = len(data)
        cdef list segments = self.segments.items
        cdef SegmentFile active = segments[len(segments) - 1] if segments else None
        try:
            if active is None or active.damages or size_bytes > active.segment_bytes or not active.has_room_for(
                size_bytes, last.last_offset, max_timestamp_ms
            ):
                self._check_size(size_bytes)
                active = self._segment_for(size_bytes, last.last_offset, max_timestamp_ms)
            active.append_prebuilt(data, batches, max_timestamp_ms)
        except OSError as error:
            raise LogAppendError(f"{self.name}: {error}") from error
        self._appended(last.last_offset, size_bytes)

    cpdef _appended(self, int64_t last_offset, int64_t size_bytes):
        self.log_end_offset = last_offset + 1
        self.appended_bytes += size_bytes
        if self.log_end_offset >= self._flush_trigger.notify_at:
            self._flush_trigger.notify(self)
