"""Makes a backup of log directories to which a server may write meanwhile. They are only read, and not locked.

Each log is copied up to a batch that is whole. The order makes the logs fit together: a log that refers to another one
is copied first, so whatever it refers to is in the backup. No committed offset is above the end of its log, and a
transaction that has ended by the log of transactions has its markers. The metadata log is the last one: it has all ids
of producers that were given out before.
"""

import os
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from coordinator.backup.manifest import (
    BLOCK_BYTES,
    FORMAT,
    MANIFEST,
    BackedUpFile,
    BackupError,
    Manifest,
    Progress,
    flush_folders,
    sha256_of,
)
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from coordinator.log.data_dirs.checkpoints import CLEANER_OFFSETS, GROUP_AUDIT, LOG_START_OFFSETS, RECOVERY_POINTS
from coordinator.log.data_dirs.coordinator_epoch import COORDINATOR_EPOCH
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, parse_properties
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import DIRECTORY_MODE, DiskFileSystem, write_file_atomically
from coordinator.log.names import METADATA_LOG, folder_name, parse_folder_name
from coordinator.log.segments.batch_header import LENGTH_BYTES, LENGTH_END, OFFSET_BYTES
from coordinator.log.segments.files import CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX

OF_DIRECTORY: Final = (
    META_PROPERTIES,
    COORDINATOR_EPOCH,
    RECOVERY_POINTS,
    LOG_START_OFFSETS,
    CLEANER_OFFSETS,
    GROUP_AUDIT,
)
"""Files beside the logs. They are copied before these: a recovery point that is newer than its log would be wrong. The
mark of a clean stop is left out, so the first start checks what is above the recovery points."""
FIRST_TOPICS: Final = (TRANSACTIONS_TOPIC, OFFSETS_TOPIC, SHARE_STATE_TOPIC, AUDIT_TOPIC)
LOG_SUFFIX: Final = ".log"
LEFT_OUT: Final = (DELETED_SUFFIX, CLEANED_SUFFIX, ".tmp")
TRIES: Final = 20
PAUSE_SECONDS: Final = 0.25
"""Between two tries to copy a log whose segments are being replaced by the cleaner or deleted."""
LENGTH: Final = struct.Struct(">i")
BATCH_LENGTH_MIN: Final = 49
"""What follows the length of a batch without records."""

Source = tuple[int, Path, str, int]
"""The number of the log directory and its path; topic and partition."""


class _Changed(Exception):
    """Files of a log were replaced or deleted while it was copied."""


def back_up(
    directories: Sequence[Path],
    target: Path,
    server_version: str,
    wall_ms: Callable[[], int],
    progress: Progress = lambda _: None,
) -> Manifest:
    """Copy all log directories of a server (log.dirs, and metadata.log.dir) into a new folder.

    Raises:
        BackupError: it is no data folder of this server, one is missing, or the target is not empty.
        OSError: a file cannot be read or written.
    """
    properties = [_properties_of(directory) for directory in directories]
    if len({entries["cluster.id"] for entries in properties}) > 1:
        raise BackupError(f"{_named(directories)} belong to several servers")
    if not any((directory / folder_name(METADATA_LOG, 0)).is_dir() for directory in directories):
        raise BackupError(f"none of {_named(directories)} has the metadata log: name all of log.dirs")
    _make_empty(target)
    began_ms = wall_ms()
    files: list[BackedUpFile] = []
    for number, directory in enumerate(directories):
        (target / str(number)).mkdir(DIRECTORY_MODE)
        for name in OF_DIRECTORY:
            if (directory / name).exists():
                _copy(directory / name, target / str(number) / name, progress)
                files.append(_described(target, f"{number}/{name}"))
    for number, directory, topic, partition in _logs_of(directories):
        folder = folder_name(topic, partition)
        copied = target / str(number) / folder
        if _copy_log(directory / folder, copied, progress):
            files.extend(_described(target, f"{number}/{folder}/{name}") for name in sorted(os.listdir(copied)))
    manifest = Manifest(
        format=FORMAT,
        server_version=server_version,
        cluster_id=properties[0]["cluster.id"],
        node_id=int(properties[0]["node.id"]),
        began_ms=began_ms,
        ended_ms=wall_ms(),
        directories=[str(directory) for directory in directories],
        files=files,
    )
    fs = DiskFileSystem()
    flush_folders(fs, target)
    write_file_atomically(fs, target / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    return manifest


def size_of(directories: Sequence[Path]) -> int:
    """About how many bytes `back_up` will copy.

    Raises:
        OSError: a folder cannot be read.
    """
    size = 0
    for _, directory, topic, partition in _logs_of(directories):
        with suppress(FileNotFoundError):  # deleted meanwhile
            size += sum(entry.stat().st_size for entry in os.scandir(directory / folder_name(topic, partition)))
    return size


def _properties_of(directory: Path) -> dict[str, str]:
    path = directory / META_PROPERTIES
    if not path.exists():
        raise BackupError(f"{directory} is no data folder: it has no {META_PROPERTIES}")
    try:
        return parse_properties(path, path.read_bytes())
    except DataDirectoryError as problem:
        raise BackupError(str(problem)) from problem


def _make_empty(target: Path) -> None:
    target.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
    if os.listdir(target):
        raise BackupError(f"{target} is not empty: a backup needs a folder of its own")


def _logs_of(directories: Sequence[Path]) -> list[Source]:
    """All logs, in the order in which they are copied."""

    def rank(source: Source) -> tuple[int, str, int]:
        _, _, topic, partition = source
        if topic == METADATA_LOG:
            return len(FIRST_TOPICS) + 1, topic, partition
        position = FIRST_TOPICS.index(topic) if topic in FIRST_TOPICS else len(FIRST_TOPICS)
        return position, topic, partition

    found = [
        (number, directory, *parsed)
        for number, directory in enumerate(directories)
        for name in os.listdir(directory)
        if (parsed := parse_folder_name(name)) is not None and (directory / name).is_dir()
    ]
    return sorted(found, key=rank)


def _copy_log(source: Path, target: Path, progress: Progress) -> bool:
    """Copy a log; False if it was deleted meanwhile.

    Raises:
        BackupError: its files change too often.
    """
    for _ in range(TRIES):
        try:
            target.mkdir(DIRECTORY_MODE)
            _copy_files(source, target, progress)
            return True
        except _Changed:
            _remove(target)
            if not source.exists():
                return False
            time.sleep(PAUSE_SECONDS)
    raise BackupError(f"the files of {source} were replaced {TRIES} times while they were copied: try again")


def _copy_files(source: Path, target: Path, progress: Progress) -> None:
    """Copy indexes and producer snapshots first, so that they are not newer than the segments."""
    before = _inodes(source)
    names = sorted(before, key=lambda name: (name.endswith(LOG_SUFFIX), name))
    try:
        for name in names:
            _copy(source / name, target / name, progress)
    except FileNotFoundError as gone:
        raise _Changed from gone
    after = _inodes(source)
    if any(after.get(name) != inode for name, inode in before.items() if name.endswith(LOG_SUFFIX)):
        raise _Changed
    if names and names[-1].endswith(LOG_SUFFIX):
        _cut_incomplete_batch(target / names[-1])


def _inodes(folder: Path) -> dict[str, int]:
    """The files that count, by name. Raises _Changed: the cleaner is about to replace some, or the log is gone."""
    try:
        with os.scandir(folder) as entries:
            found = {entry.name: entry.inode() for entry in entries if not entry.name.endswith(LEFT_OUT)}
    except FileNotFoundError as gone:
        raise _Changed from gone
    if any(name.endswith(SWAP_SUFFIX) for name in found):
        raise _Changed
    return found


def _copy(source: Path, target: Path, progress: Progress) -> None:
    """Copy what the file has now, and no more: it may grow meanwhile."""
    with source.open("rb", buffering=0) as reading, target.open("xb") as writing:
        left = os.fstat(reading.fileno()).st_size
        while left and (block := reading.read(min(left, BLOCK_BYTES))):
            writing.write(block)
            left -= len(block)
            progress(len(block))


def _cut_incomplete_batch(path: Path) -> None:
    """Cut a segment off behind its last whole batch: the next one was being written.

    What is no batch at all stays, as it does at a start (docs/durability.md).
    """
    descriptor = os.open(path, os.O_RDWR)
    try:
        size, end = os.fstat(descriptor).st_size, 0
        while end + LENGTH_END <= size:
            (length,) = LENGTH.unpack(os.pread(descriptor, LENGTH_BYTES, end + OFFSET_BYTES))
            if length < BATCH_LENGTH_MIN:
                return
            if end + LENGTH_END + length > size:
                break
            end += LENGTH_END + length
        os.ftruncate(descriptor, end)
    finally:
        os.close(descriptor)


def _described(target: Path, path: str) -> BackedUpFile:
    """A file of the backup, once it is on stable storage."""
    copied = target / path
    descriptor = os.open(copied, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    return BackedUpFile(path, size, sha256_of(copied))


def _remove(folder: Path) -> None:
    for name in os.listdir(folder):
        (folder / name).unlink()
    folder.rmdir()


def _named(directories: Sequence[Path]) -> str:
    return ", ".join(map(str, directories))
