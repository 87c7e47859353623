"""Sets damaged batches of a log aside, so that it can be read without them. No server may use the data folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from coordinator.config.key import INT64_MAX
from coordinator.log.config import METADATA_LOG_CONFIG, LogConfig
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.files import FileSystem
from coordinator.log.names import METADATA_LOG, folder_name
from coordinator.log.recovery.damage import Damage, is_unacknowledged, scan
from coordinator.log.recovery.verify import DAMAGED_FOLDER, SegmentCheck, Totals
from coordinator.log.segments.files import base_offsets as base_offsets_of
from coordinator.log.segments.files import segment_path
from coordinator.log.segments.segment import Segment

COPIED_AT_ONCE_BYTES: Final = 1 << 20
COPY_DEPTH: Final = 3
"""How many directories may be new, or have a new entry, above a copy: that of the log, `damaged`, the data folder."""


class Repaired(msgspec.Struct, frozen=True):
    """Damage that was set aside, or with a dry run would be."""

    damage: Damage
    copied_to: Path | None
    """The copy of its bytes; None if there are none."""


def damages_of(fs: FileSystem, folder: Path, *, clean: bool) -> Iterator[Damage]:
    """Yield the damage of all segments of a log.

    Bytes at its end that cannot hold an acknowledged batch are none unless the last stop was `clean`: the start cuts
    them.

    Raises:
        OSError: a file cannot be read.
    """
    bases = base_offsets_of(fs, folder)
    for number, base_offset in enumerate(bases):
        is_last = number + 1 == len(bases)
        segment = Segment(fs, folder, base_offset, LogConfig())
        try:
            end = segment.file_size()
            highest = INT64_MAX if is_last else bases[number + 1]
            found = scan(segment, 0, end, base_offset, next_base_offset=highest, may_have_gaps=not is_last)
            for item in found:
                if not isinstance(item, Damage):
                    continue
                is_cut = not clean and is_last and item.end == end and is_unacknowledged(segment, item)
                if not is_cut:
                    yield item
        finally:
            segment.close()


def repair_log(fs: FileSystem, root: Path, topic: str, partition: int, *, clean: bool, dry_run: bool) -> list[Repaired]:
    """Copy damaged bytes to `damaged/`, cut them out, and begin a new segment with the batch after them.

    The last damage of a log goes first, so the files before it keep their names. The indexes are rebuilt when the log
    is opened. A crash or a power loss leaves both the old bytes and their copy, or a log that can be repaired again.
    `clean`: the last stop was.

    Raises:
        OSError: a file cannot be read or written.
    """
    folder = root / folder_name(topic, partition)
    repaired = []
    for damage in reversed(list(damages_of(fs, folder, clean=clean))):
        name = f"{damage.path.name}.{damage.position}"
        copy = root / DAMAGED_FOLDER / folder.name / name if damage.size_bytes else None
        repaired.append(Repaired(damage, copy))
        if not dry_run:
            _set_aside(fs, damage, copy)
    return repaired[::-1]


def _set_aside(fs: FileSystem, damage: Damage, copy: Path | None) -> None:
    folder = damage.path.parent
    file = fs.open(damage.path)
    size = file.size()
    file.close()
    if copy is not None:
        fs.make_directory(copy.parent)
        _copy(fs, damage.path, damage.position, damage.end, copy)
        for parent in list(copy.parents)[:COPY_DEPTH]:
            fs.flush_directory(parent)
    rest = segment_path(folder, damage.next_offset, ".log")
    if not fs.exists(rest):
        temporary = rest.with_name(rest.name + ".repaired")
        _copy(fs, damage.path, damage.end, size, temporary)
        fs.rename(temporary, rest)
    remove_indexes(fs, damage.path)
    # The truncation may become durable at any time from here on, so the names have to be durable before it.
    fs.flush_directory(folder)
    cut = fs.open(damage.path)
    try:
        cut.truncate(damage.position)
        cut.flush()
    finally:
        cut.close()


def wrong_indexes(fs: FileSystem, root: Path, topic: str, partition: int) -> list[Path]:
    """Return the index files of a log that do not fit their log file, or are missing.

    Raises:
        OSError: a file cannot be read.
    """
    folder = root / folder_name(topic, partition)
    bases = base_offsets_of(fs, folder)
    found = set()
    for number, base_offset in enumerate(bases):
        check = SegmentCheck(fs, folder, base_offset, None if number + 1 == len(bases) else bases[number + 1])
        found |= {problem.file for problem in check.run(Totals(), lambda _: None) if problem.file.suffix != ".log"}
    return sorted(found)


def remove_indexes(fs: FileSystem, log_path: Path) -> None:
    """Remove the indexes of a segment; they are built again when the log is opened.

    Raises:
        OSError: a file cannot be removed.
    """
    for suffix in (".index", ".timeindex"):
        path = log_path.with_suffix(suffix)
        if fs.exists(path):
            fs.remove(path)


def _copy(fs: FileSystem, path: Path, start: int, end: int, target: Path) -> None:
    source, copy = fs.open(path), fs.open(target)
    try:
        copy.truncate(0)
        for position in range(start, end, COPIED_AT_ONCE_BYTES):
            copy.write_at(source.read_at(position, min(COPIED_AT_ONCE_BYTES, end - position)), position - start)
        copy.flush()
    finally:
        source.close()
        copy.close()


def rebuild(directory: LogDirectory) -> None:
    """Open each log of a directory, which rebuilds what is missing of its indexes, and close it as after a clean stop.

    Raises:
        LogFlushError: an fsync failed.
        OSError: a log cannot be read or written.
    """
    for topic, partition in directory.stored_partitions():
        if topic == METADATA_LOG:
            directory.open_metadata_log(METADATA_LOG_CONFIG)
        else:
            directory.open_log(topic, partition, LogConfig())
    directory.close()
