"""Loading and recovery of the segments of a log when it is opened (LogLoader.java).

After a clean shutdown the index files are trusted. Otherwise all batches from the recovery point on are read: the last
fsync covered the records before it; later ones may be torn or missing. The log is truncated at the first batch that is
not whole.

Above the recovery point there may be no gap between the offsets of two segments, because a lost end of a file looks
like that. Therefore a cleaning keeps the last batch of each segment, if necessary without its records.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from _wire.records import CorruptBatch
from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem
from coordinator.log.segment import DELETED_SUFFIX, Segment
from coordinator.log.swap import base_offsets as find_base_offsets
from coordinator.log.swap import complete_swaps, remove_segment_files


@dataclass(slots=True)
class Recovery:
    """What the recovery of a log read and removed."""

    scanned_bytes: int = 0
    truncated_bytes: int = 0
    removed_segments: int = 0


def load_segments(
    fs: FileSystem, folder: Path, config: LogConfig, recovery_point: int, *, log_start_offset: int = 0, clean: bool
) -> tuple[list[Segment], Recovery]:
    """Return the segments of a log in order, each of which ends with a whole batch.

    Those that lie before `log_start_offset` are removed: a deletion was interrupted, perhaps with gaps between them.

    Raises:
        OSError: a file cannot be read, truncated or removed.
    """
    recovery = Recovery()
    segments: list[Segment] = []
    _remove_deleted(fs, folder)
    complete_swaps(fs, folder, config)
    base_offsets = find_base_offsets(fs, folder)
    while len(base_offsets) > 1 and base_offsets[1] <= log_start_offset:
        remove_segment_files(fs, folder, base_offsets.pop(0))
    for position, base_offset in enumerate(base_offsets):
        end_offset = segments[-1].next_offset if segments else base_offset
        if base_offset < end_offset:
            remove_segment_files(fs, folder, base_offset)  # left by a failed roll; its batches are in another segment
            continue
        if base_offset > end_offset and base_offset > recovery_point and not clean:
            recovery.removed_segments += _remove_segments(fs, folder, base_offsets[position:])
            break
        segment = Segment(fs, folder, base_offset, config)
        segments.append(segment)
        is_flushed = position + 1 < len(base_offsets) and base_offsets[position + 1] <= recovery_point
        if ((clean or is_flushed) and segment.load()) or recover_segment(segment, recovery):
            continue
        recovery.removed_segments += _remove_segments(fs, folder, base_offsets[position + 1 :])
        break
    return segments, recovery


def recover_segment(segment: Segment, recovery: Recovery) -> bool:
    """Read the whole segment, rebuild its indexes and truncate it at the first invalid batch.

    Returns:
        False if the segment was truncated.
    """
    end = segment.file_size()
    segment.reset()
    with suppress(CorruptBatch):  # all batches before the corrupt one have been yielded: those are kept
        for header in segment.walk(0, end, check_crc=True):
            if not segment.can_be_next(header):
                break
            segment.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)
    recovery.scanned_bytes += end
    recovery.truncated_bytes += end - segment.size_bytes
    if segment.size_bytes < end:
        segment.truncate(segment.size_bytes)
    segment.finish()
    return segment.size_bytes == end


def _remove_segments(fs: FileSystem, folder: Path, base_offsets: list[int]) -> int:
    """Remove segments, the last one first so that a crash leaves no gap; return their number."""
    for base_offset in reversed(base_offsets):
        remove_segment_files(fs, folder, base_offset)
    return len(base_offsets)


def _remove_deleted(fs: FileSystem, folder: Path) -> None:
    """Remove the files of segments that were deleted when the process ended."""
    for name in fs.names(folder):
        if name.endswith(DELETED_SUFFIX):
            fs.remove(folder / name)
