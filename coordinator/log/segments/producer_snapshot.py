"""Snapshots of the producer state of a log, in Kafka's format: `<offset>.snapshot` holds the state before that offset.

Counterpart in Kafka: the snapshot files of `ProducerStateManager`.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from _wire.checksums import checksum
from coordinator.log.files import FileSystem, read_file, write_file_atomically
from coordinator.logger import logger

SUFFIX: Final = ".snapshot"
OFFSET_DIGITS: Final = 20
VERSION: Final = 1
HEAD: Final = struct.Struct(">hIi")
"""Version, CRC-32C of all that follows it, number of entries."""
CRC_END: Final = 6
ENTRY: Final = struct.Struct(">qhiqiqiq")
SNAPSHOTS_KEPT: Final = 3
"""More than one, as the newest may be damaged or lie after the end of the log when a crash truncated it."""
ENTRIES_PER_STEP: Final = 1_000


class SnapshotEntry(NamedTuple):
    """One producer. Sequence and offset are those of its last batch, -1 if it has none since its epoch began.

    `first_offset` is where its open transaction begins; -1: it has none open.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp_ms: int
    coordinator_epoch: int
    first_offset: int


class DamagedSnapshot(ValueError):
    """A snapshot that cannot be used. The message says why."""


def encode(entries: Iterable[SnapshotEntry]) -> Iterator[bytes | None]:
    """Encode a snapshot in steps: None after each, at the end the bytes."""
    parts: list[bytes] = []
    count = 0
    for entry in entries:
        parts.append(ENTRY.pack(*entry))
        count += 1
        if count % ENTRIES_PER_STEP == 0:
            yield None
    body = struct.pack(">i", count) + b"".join(parts)
    yield struct.pack(">hI", VERSION, checksum(body)) + body


def decode(data: bytes) -> list[SnapshotEntry]:
    """Read a snapshot.

    Raises:
        DamagedSnapshot: the checksum, the version or the size is wrong.
    """
    if len(data) < HEAD.size:
        raise DamagedSnapshot(f"{len(data)} bytes are less than a head")
    version, crc, count = HEAD.unpack_from(data)
    if version != VERSION:
        raise DamagedSnapshot(f"version {version} is not known")
    if checksum(data[CRC_END:]) != crc:
        raise DamagedSnapshot("the checksum is wrong")
    if count < 0 or len(data) != HEAD.size + count * ENTRY.size:
        raise DamagedSnapshot(f"{len(data)} bytes do not hold {count} entries")
    return [SnapshotEntry(*fields) for fields in ENTRY.iter_unpack(data[HEAD.size :])]


def snapshot_path(folder: Path, offset: int) -> Path:
    return folder / f"{offset:0{OFFSET_DIGITS}d}{SUFFIX}"


def stored_offsets(fs: FileSystem, folder: Path) -> list[int]:
    """The offsets of the snapshots in a folder, ascending; empty if there is no such folder.

    Raises:
        OSError: the folder cannot be read.
    """
    if not fs.is_directory(folder):
        return []
    stems = [name.removesuffix(SUFFIX) for name in fs.names(folder) if name.endswith(SUFFIX)]
    return sorted(int(stem) for stem in stems if len(stem) == OFFSET_DIGITS and stem.isdecimal())


def read_snapshot(fs: FileSystem, folder: Path, offset: int) -> list[SnapshotEntry]:
    """Read a snapshot that exists.

    Raises:
        DamagedSnapshot: it cannot be used.
        OSError: it cannot be read.
    """
    return decode(read_file(fs, snapshot_path(folder, offset)))


def write_snapshot(fs: FileSystem, folder: Path, offset: int, data: bytes, *, flush: bool) -> None:
    """Store a snapshot, and remove all but the newest few.

    Raises:
        OSError: a file cannot be written or removed.
    """
    write_file_atomically(fs, snapshot_path(folder, offset), data, flush=flush)
    remove_snapshots(fs, folder, stored_offsets(fs, folder)[:-SNAPSHOTS_KEPT])


def remove_snapshots(fs: FileSystem, folder: Path, offsets: Sequence[int]) -> None:
    """Remove snapshots that exist.

    Raises:
        OSError: a file cannot be removed.
    """
    for offset in offsets:
        fs.remove(snapshot_path(folder, offset))


def newest_snapshot(fs: FileSystem, folder: Path, log_end_offset: int) -> tuple[int, list[SnapshotEntry]]:
    """The newest snapshot of a log and its offset; a damaged one is removed, and the one before it counts.

    Offset 0 and no producer if there is none.

    Raises:
        OSError: a file cannot be read or removed.
    """
    for offset in reversed(stored_offsets(fs, folder)):
        try:
            if offset <= log_end_offset:
                return offset, read_snapshot(fs, folder, offset)
            problem = f"the log ends at {log_end_offset}"
        except DamagedSnapshot as damage:
            problem = str(damage)
        logger.warning("producer snapshot ignored", log=folder.name, offset=offset, problem=problem)
        remove_snapshots(fs, folder, [offset])
    return 0, []


def remove_snapshots_after(fs: FileSystem, folder: Path, offset: int) -> None:
    """Remove the snapshots after whose offset the log has to be read again.

    Raises:
        OSError: a file cannot be removed.
    """
    offsets = stored_offsets(fs, folder)
    remove_snapshots(fs, folder, offsets[bisect_right(offsets, offset) :])
