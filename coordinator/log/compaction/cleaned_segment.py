"""Completion of a segment that is written at once, to replace others (Cleaner.cleanSegments)."""

from collections.abc import Sequence

from coordinator.log.files import FileSystem
from coordinator.log.segments.segment import Segment
from coordinator.log.segments.segment_file import NO_TIMESTAMP


def complete_cleaned(
    segment: Segment,
    size_bytes: int,
    next_offset: int,
    timestamps_ms: tuple[int, int, int],
    index_entries: Sequence[tuple[int, int, int, int]],
) -> None:
    """Set the state of a segment whose batches have been written by `write_cleaned`, and save its indexes.

    `timestamps_ms` are the timestamp of the first batch, the greatest one, and the offset of that. An index entry
    is: last offset and position of a batch, the greatest timestamp so far, and its offset. All is flushed.

    Raises:
        OSError: a file cannot be written.
    """
    segment.size_bytes, segment.next_offset = size_bytes, next_offset
    segment.first_timestamp_ms, segment.max_timestamp_ms, segment.offset_of_max_timestamp = timestamps_ms
    for last_offset, position, max_timestamp_ms, offset_of_max_timestamp in index_entries:
        segment.offset_index.append(last_offset - segment.base_offset, position)
        if max_timestamp_ms != NO_TIMESTAMP:
            segment.time_index.append(max_timestamp_ms, offset_of_max_timestamp - segment.base_offset)
    segment.index_max_timestamp()
    segment.save_indexes(flush=True)
    segment.flush_log()


def keep_modified_time(fs: FileSystem, segment: Segment, of: Segment) -> None:
    """Give the files the time at which those of another segment were written: retention counts from it.

    Raises:
        OSError: the time cannot be read or set.
    """
    time_ms = fs.modified_ms(of.log_path)
    for path in (segment.offset_index.path, segment.time_index.path, segment.log_path):
        fs.set_modified_ms(path, time_ms)
