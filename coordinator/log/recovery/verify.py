"""Checks the files of a data folder without changing them, also while a server writes to them."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from _wire.checksums import checksum
from coordinator.config.key import INT64_MAX
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import (
    CLEANER_OFFSETS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    UNRECOVERED,
    read_checkpoint,
)
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, parse_properties
from coordinator.log.data_dirs.partition_metadata import PARTITION_METADATA, PartitionMetadataDamaged, read_topic_id
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import FileSystem, read_file
from coordinator.log.names import METADATA_LOG, folder_name, parse_folder_name
from coordinator.log.recovery.damage import INCOMPLETE, Damage, Scanned, offsets_between, scan
from coordinator.log.segments.files import base_offsets as base_offsets_of
from coordinator.log.segments.files import segment_path
from coordinator.log.segments.index import OFFSET_ENTRY, TIME_ENTRY
from coordinator.log.segments.segment import Segment

DAMAGED_FOLDER: Final = "damaged"
"""The directory of the data folder to which a repair copies damaged bytes."""
TRIES: Final = 5
"""How often a partition is checked whose files change meanwhile."""
SNAPSHOT_CHECKED_FROM: Final = 6
"""The checksum of a producer snapshot is that of all bytes after it."""


class TopicOfMetadata(msgspec.Struct, frozen=True):
    """What the metadata log says of a topic."""

    topic_id: bytes
    partitions: int
    is_compacted: bool


class Problem(msgspec.Struct, frozen=True):
    """What is wrong with a file. `position` is a byte of it, if that is known."""

    file: Path
    what: str
    position: int | None = None
    is_repaired: bool = False
    """It is what a repair left."""


class Totals(msgspec.Struct):
    """What was read."""

    partitions: int = 0
    segments: int = 0
    batches: int = 0
    bytes: int = 0


Progress = Callable[[int], None]
"""Is told how many bytes of log files were read since the last call."""


class Verifier:
    """One check of a log directory. `topics` is None if the metadata log cannot be read."""

    def __init__(
        self,
        fs: FileSystem,
        root: Path,
        topics: Mapping[str, TopicOfMetadata] | None,
        progress: Progress = lambda _: None,
        totals: Totals | None = None,
    ) -> None:
        """What is read is added to `totals`."""
        self.totals = totals or Totals()
        self._fs = fs
        self._root = root
        self._topics = topics
        self._progress = progress

    def run(self, keys: list[tuple[str, int]] | None = None) -> Iterator[Problem]:
        """Yield what is wrong, of these partitions or of all; a file that is deleted meanwhile is left out.

        Raises:
            OSError: a file cannot be read.
        """
        yield from self._check_properties()
        ends: dict[tuple[str, int], int] = {}
        for key in stored_partitions(self._fs, self._root) if keys is None else keys:
            yield from self._check_settled(key, ends)
        yield from self._check_checkpoints(ends)

    def _check_settled(self, key: tuple[str, int], ends: dict[tuple[str, int], int]) -> list[Problem]:
        """Check a partition, again if a server deleted or compacted segments meanwhile."""
        folder = self._root / folder_name(*key)
        self.totals.partitions += 1
        for _ in range(TRIES):
            try:
                before = self._fs.names(folder)
                found = list(self._check_partition(key, ends))
                if self._fs.names(folder) == before:
                    return found
            except FileNotFoundError:
                if not self._fs.is_directory(folder):
                    return []  # its topic was deleted
        return [Problem(folder, "changes all the time, so it could not be checked")]

    def _check_properties(self) -> Iterator[Problem]:
        path = self._root / META_PROPERTIES
        if not self._fs.exists(path):
            yield Problem(path, "is missing")
            return
        try:
            parse_properties(path, read_file(self._fs, path))
        except DataDirectoryError as problem:
            yield Problem(path, str(problem).removeprefix(f"{path} "))

    def _check_checkpoints(self, ends: Mapping[tuple[str, int], int]) -> Iterator[Problem]:
        for name in (RECOVERY_POINTS, LOG_START_OFFSETS, CLEANER_OFFSETS, UNRECOVERED):
            path = self._root / name
            try:
                offsets = read_checkpoint(self._fs, path)
            except DataDirectoryError as problem:
                yield Problem(path, str(problem).removeprefix(f"{path} "))
                continue
            for key, offset in sorted(offsets.items()):
                if name != UNRECOVERED and offset > ends.get(key, INT64_MAX):
                    yield Problem(path, f"has offset {offset} of {folder_name(*key)}, whose log ends at {ends[key]}")

    def _check_partition(self, key: tuple[str, int], ends: dict[tuple[str, int], int]) -> Iterator[Problem]:
        folder = self._root / folder_name(*key)
        yield from self._check_topic_id(key, folder)
        yield from self._check_snapshots(folder)
        topic = None if self._topics is None else self._topics.get(key[0])
        bases = base_offsets_of(self._fs, folder)
        end_offset = bases[0] if bases else None
        for number, base_offset in enumerate(bases):
            path = segment_path(folder, base_offset, ".log")
            assert end_offset is not None
            if base_offset < end_offset:
                yield Problem(path, f"begins at offset {base_offset}, before the end of the segment before it")
            elif base_offset > end_offset and (topic is None or not topic.is_compacted):
                repaired = self._fs.is_directory(self._root / DAMAGED_FOLDER / folder.name)
                yield Problem(
                    path, f"{offsets_between(end_offset, base_offset)} missing before it", is_repaired=repaired
                )
            is_last = number + 1 == len(bases)
            check = SegmentCheck(self._fs, folder, base_offset, None if is_last else bases[number + 1])
            yield from check.run(self.totals, self._progress)
            end_offset = max(check.next_offset, end_offset)
        if end_offset is not None:
            ends[key] = end_offset

    def _check_topic_id(self, key: tuple[str, int], folder: Path) -> Iterator[Problem]:
        if key[0] == METADATA_LOG:
            return
        try:
            found = read_topic_id(self._fs, folder)
        except PartitionMetadataDamaged as problem:
            yield Problem(folder / PARTITION_METADATA, f"is damaged: {problem}")
            return
        if self._topics is None:
            return
        topic = self._topics.get(key[0])
        if topic is None or key[1] >= topic.partitions:
            yield Problem(folder, "belongs to no topic of the metadata log")
        elif found not in (None, topic.topic_id):
            yield Problem(folder / PARTITION_METADATA, "has another id than the topic of this name")

    def _check_snapshots(self, folder: Path) -> Iterator[Problem]:
        for name in self._fs.names(folder):
            if name.endswith(".snapshot"):
                content = read_file(self._fs, folder / name)
                if int.from_bytes(content[2:6], "big") != checksum(content[SNAPSHOT_CHECKED_FROM:]):
                    yield Problem(folder / name, "its checksum is wrong")


class SegmentCheck:
    """The check of one segment and its indexes."""

    def __init__(self, fs: FileSystem, folder: Path, base_offset: int, next_base_offset: int | None) -> None:
        """`next_base_offset` is that of the next segment; None: this is the last one, which may be appended to."""
        self.next_offset = base_offset
        self._fs = fs
        self._folder = folder
        self._base_offset = base_offset
        self._next_base_offset = next_base_offset
        self._offset_entries: dict[int, int] = {}
        """Position → relative offset."""
        self._time_entries: dict[int, int] = {}
        """Relative offset → timestamp."""

    def run(self, totals: Totals, progress: Progress) -> Iterator[Problem]:
        """Yield what is wrong.

        Raises:
            FileNotFoundError: the segment was deleted meanwhile.
            OSError: a file cannot be read.
        """
        # Before the log file: what an index names is in that by then, though more may be appended meanwhile.
        yield from self._read_indexes()
        segment = Segment(self._fs, self._folder, self._base_offset, LogConfig())
        try:
            totals.segments += 1
            yield from self._check_batches(segment, totals, progress)
        finally:
            segment.close()
        for position, offset in sorted(self._offset_entries.items()):
            yield Problem(
                segment.offset_index.path, f"names position {position} for offset {offset}, where no such batch begins"
            )
        for offset, timestamp in sorted(self._time_entries.items()):
            yield Problem(
                segment.time_index.path, f"has timestamp {timestamp} for offset {offset}, whose batch has another one"
            )

    def _check_batches(self, segment: Segment, totals: Totals, progress: Progress) -> Iterator[Problem]:
        is_last = self._next_base_offset is None
        end = segment.file_size()
        highest = INT64_MAX if self._next_base_offset is None else self._next_base_offset
        reported = 0
        for item in scan(segment, 0, end, self._base_offset, next_base_offset=highest, may_have_gaps=not is_last):
            progress(item.position - reported)
            reported = item.position
            if isinstance(item, Scanned):
                totals.batches += 1
                self._check_entries(item)
                self.next_offset = item.header.next_offset
                if item.header.partition_leader_epoch < 0:
                    yield Problem(segment.log_path, f"leader epoch {item.header.partition_leader_epoch}", item.position)
            elif not (is_last and item.end == end and _is_being_written(segment, item)):
                lost = f"{offsets_between(item.first_offset, item.next_offset)} cannot be read"
                yield Problem(segment.log_path, f"{item.why}; {lost} ({item.size_bytes} bytes)", item.position)
                self.next_offset = item.next_offset
        progress(end - reported)
        totals.bytes += end

    def _check_entries(self, found: Scanned) -> None:
        last = found.header.last_offset - self._base_offset
        if self._offset_entries.get(found.position) == last:
            del self._offset_entries[found.position]
        if self._time_entries.get(last) == found.header.max_timestamp_ms:
            del self._time_entries[last]

    def _read_indexes(self) -> Iterator[Problem]:
        for suffix, entry in ((".index", OFFSET_ENTRY), (".timeindex", TIME_ENTRY)):
            path = segment_path(self._folder, self._base_offset, suffix)
            content = read_file(self._fs, path) if self._fs.exists(path) else None
            if content is None:
                yield Problem(path, "is missing")
                continue
            whole = len(content) - len(content) % entry.size
            if whole < len(content):
                yield Problem(path, f"ends within an entry of {entry.size} bytes", whole)
            rows = list(entry.iter_unpack(content[:whole]))
            if any(after <= before for before, after in pairwise(rows)):
                yield Problem(path, "its entries do not ascend")
            if suffix == ".index":
                self._offset_entries = {position: offset for offset, position in rows}
            else:
                self._time_entries = {offset: timestamp for timestamp, offset in rows}


def _is_being_written(segment: Segment, damage: Damage) -> bool:
    """Whether the incomplete batch at the end of a log is one that a server has appended or is appending."""
    if damage.why != INCOMPLETE:
        return False
    return segment.file_size() != damage.end


def stored_partitions(fs: FileSystem, root: Path) -> list[tuple[str, int]]:
    """Return topic and partition of each log in a data folder, the metadata log among them.

    Raises:
        OSError: the folder cannot be read.
    """
    parsed = map(parse_folder_name, fs.names(root))
    return sorted(key for key in parsed if key and fs.is_directory(root / folder_name(*key)))


def log_bytes(fs: FileSystem, root: Path, keys: list[tuple[str, int]]) -> int:
    """Return the size of the log files of partitions.

    Raises:
        OSError: a folder cannot be read.
    """
    size = 0
    for key in keys:
        folder = root / folder_name(*key)
        for base_offset in base_offsets_of(fs, folder):
            size += _size(fs, segment_path(folder, base_offset, ".log"))
    return size


def _size(fs: FileSystem, path: Path) -> int:
    file = fs.open(path)
    try:
        return file.size()
    finally:
        file.close()
