"""Puts a backup into empty log directories. Until all is there, no server starts on them."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from coordinator.backup.manifest import (
    BLOCK_BYTES,
    BackedUpFile,
    BackupError,
    Manifest,
    Progress,
    file_in,
    flush_folders,
    read_manifest,
    sha256_of,
)
from coordinator.log.data_dirs.directory import LOCK
from coordinator.log.data_dirs.meta_properties import META_PROPERTIES, RESTORE, parse_properties, write_properties
from coordinator.log.errors import DataDirectoryError
from coordinator.log.files import DIRECTORY_MODE, DiskFileSystem

LEFT_ALONE: Final = frozenset({"lost+found", LOCK})
"""What a directory may have that counts as empty."""


def verify(backup: Path, progress: Progress = lambda _: None) -> Manifest:
    """Compare all files of a backup with what was copied.

    Raises:
        BackupError: one is missing or damaged, or it is no backup.
        OSError: a file cannot be read.
    """
    manifest = read_manifest(backup)
    _check_sizes(backup, manifest)
    for file in manifest.files:
        path = file_in(backup, file.path)
        if sha256_of(path, progress) != file.sha256:
            raise BackupError(f"{path} is damaged: it is not what was copied")
    return manifest


def restore(backup: Path, directories: Sequence[Path], progress: Progress = lambda _: None) -> Manifest:
    """Copy a backup into as many log directories as it was made of. They are empty, or of an interrupted restore.

    Raises:
        BackupError: it is damaged or incomplete, or does not fit the directories.
        OSError: a file cannot be read or written.
    """
    manifest = read_manifest(backup)
    _check_directories(manifest, directories)
    _check_sizes(backup, manifest)
    fs = DiskFileSystem()
    for directory in directories:
        directory.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
    locks = []
    try:
        for number, directory in enumerate(directories):
            try:
                locks.append(fs.lock(directory / LOCK))
            except BlockingIOError:
                raise BackupError(f"{directory} is in use by another process") from None
            _empty(directory)
            _check_room(directory, manifest, number)
        for number, directory in enumerate(directories):
            properties = file_in(backup, f"{number}/{META_PROPERTIES}")
            unfinished = _properties_of(properties) | {"version": RESTORE}
            write_properties(fs, directory, unfinished, is_ours=True)
        for file in manifest.files:
            _restore_file(backup, file, directories, progress)
        for number, directory in enumerate(directories):
            flush_folders(fs, directory)
            write_properties(
                fs, directory, _properties_of(file_in(backup, f"{number}/{META_PROPERTIES}")), is_ours=True
            )
    finally:
        for lock in locks:
            lock.release()
    return manifest


def _check_directories(manifest: Manifest, directories: Sequence[Path]) -> None:
    if len(directories) != len(manifest.directories):
        raise BackupError(
            f"the backup was made of {len(manifest.directories)} log directories"
            f" ({', '.join(manifest.directories)}), not of {len(directories)}: name as many, in the same order"
        )
    if len({directory.resolve() for directory in directories}) < len(directories):
        raise BackupError("two of the log directories are the same")
    for number in range(len(directories)):
        if not any(file.path == f"{number}/{META_PROPERTIES}" for file in manifest.files):
            raise BackupError(
                f"the backup has no {META_PROPERTIES} of the log directory {manifest.directories[number]}"
            )


def _check_sizes(backup: Path, manifest: Manifest) -> None:
    for file in manifest.files:
        path = file_in(backup, file.path)
        if not path.is_file():
            raise BackupError(f"{path} is missing")
        if path.stat().st_size != file.bytes:
            raise BackupError(f"{path} is damaged: it has {path.stat().st_size} bytes, {file.bytes} were copied")


def _empty(directory: Path) -> None:
    """Remove what an interrupted restore has left. Raises BackupError: the directory has something else."""
    names = [name for name in os.listdir(directory) if name not in LEFT_ALONE]
    if not names:
        return
    if not _is_unfinished(directory):
        raise BackupError(f"{directory} is not empty: a backup is put into empty log directories")
    # The mark goes last: until then it is known what the rest is.
    for name in sorted(names, key=lambda name: name == META_PROPERTIES):
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _is_unfinished(directory: Path) -> bool:
    path = directory / META_PROPERTIES
    try:
        return path.exists() and parse_properties(path, path.read_bytes(), unfinished=RESTORE)["version"] == RESTORE
    except DataDirectoryError:
        return False


def _check_room(directory: Path, manifest: Manifest, number: int) -> None:
    needed = sum(file.bytes for file in manifest.files if file.path.startswith(f"{number}/"))
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise BackupError(f"{directory} has {free} bytes free; the backup needs {needed}")


def _properties_of(path: Path) -> dict[str, str]:
    try:
        return parse_properties(path, path.read_bytes())
    except DataDirectoryError as problem:
        raise BackupError(str(problem)) from problem


def _restore_file(backup: Path, file: BackedUpFile, directories: Sequence[Path], progress: Progress) -> None:
    number, _, rest = file.path.partition("/")
    if rest == META_PROPERTIES:
        return
    source, target = file_in(backup, file.path), file_in(directories[int(number)], rest)
    target.parent.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as writing:
        for block in _blocks(source):
            digest.update(block)
            writing.write(block)
            progress(len(block))
        writing.flush()
        os.fsync(writing.fileno())
    if digest.hexdigest() != file.sha256:
        raise BackupError(f"{source} is damaged: it is not what was copied")


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as reading:
        while block := reading.read(BLOCK_BYTES):
            yield block
