"""Names of the files of a segment (LogFileUtils.java)."""

from pathlib import Path
from typing import Final

from coordinator.log.files import FileSystem

BASE_OFFSET_DIGITS: Final = 20
SEGMENT_FILES: Final = (".index", ".timeindex", ".txnindex", ".log")
"""The files of a segment. Whoever removes them removes the log last: without one, the others are leftovers."""
DELETED_SUFFIX: Final = ".deleted"
"""The end of the name of a file whose segment was deleted, until it is removed (file.delete.delay.ms)."""
CLEANED_SUFFIX: Final = ".cleaned"
"""The end of the name of a file that a cleaning writes and that is not complete yet."""
SWAP_SUFFIX: Final = ".swap"
"""The end of the name of a file that a cleaning has completed, until it has replaced those that it was made of."""


def segment_path(directory: Path, base_offset: int, suffix: str) -> Path:
    """Return the path of a segment's file, named as in Kafka. `suffix` is `.log` or that of an index."""
    return directory / f"{base_offset:020d}{suffix}"


def base_offsets(fs: FileSystem, folder: Path, suffix: str = "") -> list[int]:
    """Return the base offsets of the segments in a folder whose log files have this suffix, in order.

    Raises:
        OSError: the folder cannot be read.
    """
    ending = f".log{suffix}"
    stems = [name.removesuffix(ending) for name in fs.names(folder) if name.endswith(ending)]
    return sorted(int(stem) for stem in stems if len(stem) == BASE_OFFSET_DIGITS and stem.isdecimal())


def remove_segment_files(fs: FileSystem, folder: Path, base_offset: int, suffix: str = "") -> None:
    """Remove the files of one segment, those that exist.

    Raises:
        OSError: a file cannot be removed.
    """
    for segment_file in SEGMENT_FILES:
        path = segment_path(folder, base_offset, segment_file + suffix)
        if fs.exists(path):
            fs.remove(path)
