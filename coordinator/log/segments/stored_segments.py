"""What can be said of the segments of a log on disk without opening it."""

from bisect import bisect_right
from pathlib import Path

import msgspec

from coordinator.log.files import FileSystem
from coordinator.log.segments.files import base_offsets, segment_path


class StoredSegments(msgspec.Struct, frozen=True):
    """The segments of a log on disk: all together, and the oldest one."""

    size_bytes: int = 0
    oldest_size_bytes: int = 0
    oldest_modified_ms: int = 0


def stored_segments(fs: FileSystem, folder: Path) -> StoredSegments:
    """Return the sizes of the segments in the directory of a log; nothing if there is no such directory.

    Raises:
        OSError: the directory or a file cannot be read.
    """
    if not fs.is_directory(folder):
        return StoredSegments()
    paths = [folder / name for name in fs.names(folder) if name.endswith(".log")]
    sizes = [_size_of(fs, path) for path in paths]
    if not any(sizes):
        return StoredSegments()
    return StoredSegments(sum(sizes), sizes[0], fs.modified_ms(paths[0]))


def stored_bytes_from(fs: FileSystem, folder: Path, offset: int) -> int:
    """Return the bytes of the segments from the one that contains `offset` on.

    Raises:
        OSError: the directory or a file cannot be read.
    """
    found = base_offsets(fs, folder)
    first = max(bisect_right(found, offset) - 1, 0)
    return sum(_size_of(fs, segment_path(folder, base_offset, ".log")) for base_offset in found[first:])


def _size_of(fs: FileSystem, path: Path) -> int:
    file = fs.open(path)
    try:
        return file.size()
    finally:
        file.close()
