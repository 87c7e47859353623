"""Loading and recovery of the segments of a log when it is opened (LogLoader.java).

After a clean shutdown the index files are trusted. Otherwise all batches from the recovery point on are read: the last
fsync covered the records before it; later ones may be torn or missing. The log is cut at the first batch above the
recovery point that is not whole. What lies below it, or was there at a clean shutdown, is never cut: bytes that are
damaged stay in the file, and reads go around them. If the system has run since, nothing that was written is missing,
flushed or not, so only bytes at the end that cannot hold an acknowledged batch are cut (`Loss`, `is_unacknowledged`).

Above the recovery point there may be no gap between the offsets of two segments, because a lost end of a file looks
like that. Therefore a cleaning keeps the last batch of each segment, if necessary without its records.
"""

from enum import Enum, auto
from itertools import islice
from pathlib import Path

import msgspec

from coordinator.config.key import INT32_MAX, INT64_MAX
from coordinator.log.compaction.swap import complete_swaps
from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem
from coordinator.log.recovery.damage import Damage, is_unacknowledged, scan
from coordinator.log.segments.files import DELETED_SUFFIX, remove_segment_files, segment_path
from coordinator.log.segments.files import base_offsets as find_base_offsets
from coordinator.log.segments.load import load
from coordinator.log.segments.segment import Segment
from coordinator.logger import logger


class Recovery(msgspec.Struct):
    """What the recovery of a log read and removed."""

    scanned_bytes: int = 0
    truncated_bytes: int = 0
    removed_segments: int = 0


class Loss(Enum):
    """What the end of the last process may have cost a log."""

    NOTHING = auto()
    """It stopped cleanly."""
    LAST_APPEND = auto()
    """It was killed, but the system ran on and kept what was written: only the last write may be incomplete."""
    UNFLUSHED = auto()
    """The power may have failed: of what no fsync had covered, any part may be lost."""


class Durable(msgspec.Struct, frozen=True):
    """Which records are still there if the disk did not damage them."""

    recovery_point: int
    loss: Loss

    @property
    def everything(self) -> bool:
        """Whether this is true of all that was appended completely."""
        return self.loss is not Loss.UNFLUSHED

    def keeps(self, damage: Damage, segment: Segment, end: int) -> bool:
        """Whether bytes that are no batch were one, so that they may not be cut off. `end` is that of the log."""
        if damage.first_offset < self.recovery_point or self.loss is Loss.NOTHING:
            return True
        return self.everything and not (damage.end == end and is_unacknowledged(segment, damage))


def load_segments(
    fs: FileSystem, folder: Path, config: LogConfig, recovery_point: int, *, log_start_offset: int = 0, loss: Loss
) -> tuple[list[Segment], Recovery]:
    """Return the segments of a log in order, each of which ends with a whole batch or with damage.

    Those that lie before `log_start_offset` are removed: a deletion was interrupted, perhaps with gaps between them.

    Raises:
        OSError: a file cannot be read, truncated or removed.
    """
    recovery = Recovery()
    segments: list[Segment] = []
    durable = Durable(recovery_point, loss)
    clean = loss is Loss.NOTHING
    _remove_deleted(fs, folder)
    complete_swaps(fs, folder, config)
    base_offsets = find_base_offsets(fs, folder)
    # A segment that begins at the recovery point or later is enough to know that nothing is missing before it.
    least_end = recovery_point if base_offsets and base_offsets[-1] < recovery_point else 0
    while len(base_offsets) > 1 and base_offsets[1] <= log_start_offset:
        remove_segment_files(fs, folder, base_offsets.pop(0))
    for position, base_offset in enumerate(base_offsets):
        end_offset = segments[-1].next_offset if segments else base_offset
        if base_offset < end_offset:
            remove_segment_files(fs, folder, base_offset)  # left by a failed roll; its batches are in another segment
            continue
        if base_offset > end_offset and base_offset > recovery_point and not durable.everything:
            recovery.removed_segments += _remove_segments(fs, folder, base_offsets[position:])
            break
        segment = Segment(fs, folder, base_offset, config)
        segments.append(segment)
        is_flushed = position + 1 < len(base_offsets) and base_offsets[position + 1] <= recovery_point
        # An empty file may be left by a failed roll; then it says nothing about where this segment ends.
        later = islice(base_offsets, position + 1, None)
        next_base_offset = next((offset for offset in later if _size_of(fs, folder, offset)), None)
        if (clean or is_flushed) and load(fs, segment) and _ends_right(segment, next_base_offset, least_end):
            continue
        if clean or is_flushed:
            logger.warning("an index does not fit its log file; the segment is read", file=str(segment.log_path))
        is_active = position + 1 == len(base_offsets)
        if recover_segment(segment, recovery, durable, next_base_offset, least_end, is_active=is_active):
            continue
        recovery.removed_segments += _remove_segments(fs, folder, base_offsets[position + 1 :])
        break
    return segments, recovery


def _ends_right(segment: Segment, next_base_offset: int | None, least_end: int) -> bool:
    """Return whether a segment that was flushed ends at an offset at which it may."""
    if next_base_offset is not None:
        return segment.next_offset <= next_base_offset
    return least_end in (0, segment.next_offset)


def recover_segment(
    segment: Segment,
    recovery: Recovery,
    durable: Durable,
    next_base_offset: int | None,
    least_end: int,
    *,
    is_active: bool,
) -> bool:
    """Read the whole segment and rebuild its indexes. It is cut at the first invalid batch that is not `durable`.

    `next_base_offset` is that of the next segment with records; if there is none, the records up to `least_end` must be
    there. `is_active`: there is no next segment, not even an empty one.

    Returns:
        False if the segment was cut.
    """
    end = segment.file_size()
    segment.reset()
    is_last = next_base_offset is None
    highest = INT64_MAX if next_base_offset is None else next_base_offset
    # Compaction leaves gaps, but never in the segment that is appended to.
    batches = scan(segment, 0, end, segment.base_offset, next_base_offset=highest, may_have_gaps=not is_active)
    recovery.scanned_bytes += end
    for item in batches:
        if isinstance(item, Damage):
            at_the_end = item.end == end and is_last
            if not durable.keeps(item, segment, end if is_last else -1):
                break
            least = least_end if at_the_end else 0
            segment.skip(msgspec.structs.replace(item, next_offset=max(item.next_offset, least)))
        elif segment.size_bytes > INT32_MAX:
            break
        else:
            header = item.header
            segment.track_batch(header.size_in_bytes, header.last_offset, header.max_timestamp_ms)
    was_cut = segment.size_bytes < end
    if was_cut:
        cut = end - segment.size_bytes
        recovery.truncated_bytes += cut
        logger.warning(
            "cut the end of a log: an append that no fsync had made safe",
            file=str(segment.log_path),
            position=segment.size_bytes,
            bytes=cut,
            offset=segment.next_offset,
        )
        segment.truncate(segment.size_bytes)
    elif is_last and segment.next_offset < least_end and not segment.ends_damaged:
        lost = Damage(segment.log_path, end, 0, segment.next_offset, least_end, "the file is too short")
        segment.skip(lost)
    if is_active:
        segment.complete()
        segment.save_indexes()
    else:
        segment.finish()
    return not was_cut


def _remove_segments(fs: FileSystem, folder: Path, base_offsets: list[int]) -> int:
    """Remove segments, the last one first so that a crash leaves no gap; return their number."""
    for base_offset in reversed(base_offsets):
        path = segment_path(folder, base_offset, ".log")
        logger.warning("removed a segment above the recovery point: the log ends before it", file=str(path))
        remove_segment_files(fs, folder, base_offset)
    return len(base_offsets)


def _remove_deleted(fs: FileSystem, folder: Path) -> None:
    """Remove the files of segments that were deleted when the process ended."""
    for name in fs.names(folder):
        if name.endswith(DELETED_SUFFIX):
            fs.remove(folder / name)


def _size_of(fs: FileSystem, folder: Path, base_offset: int) -> int:
    file = fs.open(segment_path(folder, base_offset, ".log"))
    try:
        return file.size()
    finally:
        file.close()
