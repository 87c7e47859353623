"""Replacement of segments by a cleaned one, so that a crash at any point leaves one or the other (LogLoader.java).

A cleaning writes files that end with `.cleaned`. When they are complete and on stable storage, they are renamed to
`.swap`: from then on they count, and a start completes what is left to do. Then the old files are renamed to
`.deleted`, and the new ones get their plain names.
"""

from contextlib import suppress
from pathlib import Path

from _wire.records import CorruptBatch
from coordinator.log.config import LogConfig
from coordinator.log.files import FileSystem
from coordinator.log.segments.files import (
    BASE_OFFSET_DIGITS,
    CLEANED_SUFFIX,
    SEGMENT_FILES,
    SWAP_SUFFIX,
    base_offsets,
    remove_segment_files,
    segment_path,
)
from coordinator.log.segments.segment import Segment


def complete_swaps(fs: FileSystem, folder: Path, config: LogConfig) -> None:
    """Remove what an unfinished cleaning has left, and complete the replacement by one that had finished.

    Its log file is the last one that is renamed: without one with the suffix `.swap` it had not finished. As in Kafka,
    nor has a segment at or after one with the suffix `.cleaned`.

    Raises:
        OSError: a file cannot be read, renamed or removed.
    """
    names = fs.names(folder)
    cleaned = [int(name[:BASE_OFFSET_DIGITS]) for name in names if _is_segment_file(name, CLEANED_SUFFIX)]
    swapped = {int(name[:BASE_OFFSET_DIGITS]) for name in names if _is_segment_file(name, SWAP_SUFFIX)}
    logs = set(base_offsets(fs, folder, SWAP_SUFFIX))
    for base_offset in sorted(swapped, reverse=True):
        is_unfinished = bool(cleaned) and base_offset >= min(cleaned)
        if is_unfinished or base_offset not in logs:
            remove_segment_files(fs, folder, base_offset, SWAP_SUFFIX)
        else:
            _complete(fs, folder, base_offset, config)
    for base_offset in cleaned:
        remove_segment_files(fs, folder, base_offset, CLEANED_SUFFIX)


def _complete(fs: FileSystem, folder: Path, base_offset: int, config: LogConfig) -> None:
    next_offset = _next_offset(fs, folder, base_offset, config)
    for old in base_offsets(fs, folder):
        if base_offset <= old < next_offset:
            remove_segment_files(fs, folder, old)
    for suffix in SEGMENT_FILES:
        path = segment_path(folder, base_offset, suffix + SWAP_SUFFIX)
        if fs.exists(path):
            fs.rename(path, segment_path(folder, base_offset, suffix))


def _next_offset(fs: FileSystem, folder: Path, base_offset: int, config: LogConfig) -> int:
    """The offset after the last batch of a segment that is to be swapped in."""
    segment = Segment(fs, folder, base_offset, config, SWAP_SUFFIX)
    next_offset = base_offset
    try:
        with suppress(CorruptBatch):  # the batches before it count; recovery does the same
            for header in segment.walk(0, segment.file_size(), check_crc=False):
                next_offset = header.next_offset
    finally:
        segment.close()
    return next_offset


def _is_segment_file(name: str, suffix: str) -> bool:
    stem, _, rest = name.removesuffix(suffix).partition(".")
    return (
        name.endswith(suffix) and len(stem) == BASE_OFFSET_DIGITS and stem.isdecimal() and f".{rest}" in SEGMENT_FILES
    )
