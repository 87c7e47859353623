"""`backup.json`: what a backup holds. It is written last, so a backup without it is incomplete."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from coordinator.log.files import FileSystem

MANIFEST: Final = "backup.json"
FORMAT: Final = 1
BLOCK_BYTES: Final = 1 << 20
MANIFEST_BYTES_MAX: Final = 1 << 30
NAME_BYTES_MAX: Final = 255
TIME_MS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999."""

Progress = Callable[[int], object]
"""Is called with the bytes that were copied since the last call."""


class BackupError(Exception):
    """A backup cannot be made or put back; the message is one line."""


class BackedUpFile(msgspec.Struct, frozen=True):
    path: str
    """In the backup: the number of the log directory, then the path in it, with `/`."""
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    server_version: str
    cluster_id: str
    node_id: int
    began_ms: int
    """When the first file was copied, ms since the epoch."""
    ended_ms: int
    directories: list[str]
    """The log directories that were copied, in their order."""
    files: list[BackedUpFile]

    @property
    def size_bytes(self) -> int:
        return sum(file.bytes for file in self.files)


class _Format(msgspec.Struct):
    format: int


def read_manifest(backup: Path) -> Manifest:
    """Read what a backup holds.

    Raises:
        BackupError: it is no backup, is incomplete or damaged, or was made by a newer version.
        OSError: the file cannot be read.
    """
    path = backup / MANIFEST
    if not path.exists():
        raise BackupError(f"{backup} is no complete backup: it has no {MANIFEST}")
    if path.stat().st_size > MANIFEST_BYTES_MAX:
        raise BackupError(f"{path} is damaged: it is larger than that of any backup")
    content = path.read_bytes()
    try:
        found = msgspec.json.decode(content, type=_Format).format
        if found > FORMAT:
            raise BackupError(f"{path} has format {found}, which is newer than this version of the server ({FORMAT})")
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise BackupError(f"{path} is damaged: {problem}") from problem
    if not 0 <= manifest.began_ms <= TIME_MS_MAX or not 0 <= manifest.ended_ms <= TIME_MS_MAX:
        raise BackupError(f"{path} is damaged: it was made in no year")
    _check_paths(path, manifest)
    return manifest


def _check_paths(path: Path, manifest: Manifest) -> None:
    """No file of a backup may be put anywhere but in the log directories."""
    numbers = {str(number) for number in range(len(manifest.directories))}
    seen: set[str] = set()
    for file in manifest.files:
        number, _, rest = file.path.partition("/")
        if number not in numbers or not is_normal(rest) or file.path in seen or file.bytes < 0:
            raise BackupError(f"{path} is damaged: it names the file {file.path!r}")
        seen.add(file.path)


def is_normal(path: str) -> bool:
    """Whether a path with `/` is relative, as short as it can be, and leads nowhere but below where it begins."""
    if not path.isprintable() or "\\" in path:
        return False
    return all(part not in ("", ".", "..") and len(part.encode()) <= NAME_BYTES_MAX for part in path.split("/"))


def file_in(folder: Path, path: str) -> Path:
    """The file of a manifest below a folder of the backup, or a log directory. Paths become files here alone.

    Raises:
        BackupError: it would lie elsewhere, as by a symbolic link.
        OSError: that cannot be found out.
    """
    file = folder / path
    try:
        is_there = file.parent.resolve() == folder.resolve() / PurePosixPath(path).parent
    except RuntimeError:  # a loop of symbolic links, before Python 3.13
        is_there = False
    if not is_normal(path) or not is_there:
        raise BackupError(f"{file} is not in {folder}")
    if file.is_symlink():
        raise BackupError(f"{file} is a symbolic link")
    return file


def sha256_of(path: Path, progress: Progress = lambda _: None) -> str:
    """The SHA-256 of a file, in hex digits.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            progress(len(block))
    return digest.hexdigest()


def flush_folders(fs: FileSystem, root: Path) -> None:
    """Return when the names of all files below a folder are on stable storage.

    Raises:
        OSError: a folder cannot be flushed.
    """
    for folder, _, _ in os.walk(root):
        fs.flush_directory(Path(folder))
