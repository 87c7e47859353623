from typing import Any

from coordinator.log.config import LogConfig
from coordinator.log.partition.flush_trigger import FlushTrigger
from coordinator.log.segments.log_segments import LogSegments
from coordinator.log.segments.segment_file import PrebuiltBatch

class LogEnd:
    """The end of a log. A subclass has `name`, and finds the segment for an append that the active one does not take.

    Its `_segment_for(size_bytes, last_offset, max_timestamp_ms)` rolls segments, and `_check_size(size_bytes)` raises
    RecordListTooLarge.
    """

    config: LogConfig
    segments: LogSegments
    _flush_trigger: FlushTrigger[Any]
    log_end_offset: int
    appended_bytes: int
    """Bytes appended since the log was opened; what retention removes is not subtracted."""

    def append_prebuilt(self, batches: list[PrebuiltBatch], max_timestamp_ms: int) -> None:
        """Write the server's own batches, whose offsets start at `log_end_offset`, with one write.

        They are not validated, and max.message.bytes does not apply to them.

        Raises:
            RecordListTooLarge: the batches are together larger than segment.bytes.
            LogAppendError: the write failed.
        """
    def _appended(self, last_offset: int, size_bytes: int) -> None:
        """Note what was written to the active segment; tell the listener of the log if a flush is due."""
