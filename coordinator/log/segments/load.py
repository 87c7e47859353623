"""Loading of a segment after a clean stop: its indexes are trusted as far as they fit (LogSegment.sanityCheck)."""

from _wire.records import BatchHeader, CorruptBatch
from coordinator.config.key import INT32_MAX
from coordinator.log.files import FileSystem
from coordinator.log.segments.batch_header import RECORD_FORMAT
from coordinator.log.segments.reads import time_entry_fits
from coordinator.log.segments.segment import Segment
from coordinator.log.segments.segment_file import NO_TIMESTAMP


def load(fs: FileSystem, segment: Segment) -> bool:
    """Restore the segment's state from the indexes and the batches after their last entries.

    Returns:
        False if the indexes do not fit the log file, or the file does not end with a whole batch. The segment must
        then be recovered.

    Raises:
        OSError: a file cannot be read.
    """
    end = segment.file.size()
    if not segment.transaction_index.load(fs, segment.base_offset):
        return False
    if not segment.offset_index.load(fs, end) or not segment.time_index.load(fs):
        segment.reset()
        return end == 0
    if segment.time_index.offsets:
        segment.max_timestamp_ms = segment.time_index.timestamps_ms[-1]
        segment.offset_of_max_timestamp = segment.base_offset + segment.time_index.offsets[-1]
    try:
        _load_after_last_index_entry(segment, end)
        first = next(segment.walk(0, segment.size_bytes, check_crc=False), None)
    except CorruptBatch:
        return False
    segment.first_timestamp_ms = NO_TIMESTAMP if first is None else first.max_timestamp_ms
    return segment.size_bytes == end and _indexes_fit(segment)


def _load_after_last_index_entry(segment: Segment, end: int) -> None:
    """Track the batches after the last index entry, up to the first one that cannot be the next."""
    segment.size_bytes = segment.offset_index.positions[-1] if segment.offset_index.positions else 0
    for header in segment.walk(segment.size_bytes, end, check_crc=True):
        if not _can_be_next(segment, header):
            break
        segment.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)


def _can_be_next(segment: Segment, header: BatchHeader) -> bool:
    """Return whether a batch at the end of the file is a valid next batch, as `track_batch` requires."""
    return (
        header.magic == RECORD_FORMAT
        and header.base_offset >= segment.next_offset
        and header.last_offset - segment.base_offset <= INT32_MAX
        and segment.size_bytes <= INT32_MAX
    )


def _indexes_fit(segment: Segment) -> bool:
    """Return whether the last entries of the indexes refer to batches that exist."""
    last_offset = segment.next_offset - segment.base_offset - 1
    if segment.time_index.offsets and (
        segment.time_index.offsets[-1] > last_offset or not time_entry_fits(segment, *segment.time_index.last)
    ):
        return False
    if not segment.offset_index.offsets:
        return True
    header = next(segment.walk(segment.offset_index.positions[-1], segment.size_bytes, check_crc=False))
    return header.last_offset - segment.base_offset == segment.offset_index.offsets[-1]
