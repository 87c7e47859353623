"""All access to the disk. Tests and the simulation implement the same protocols with disks that fail."""

import fcntl
import os
from pathlib import Path
from typing import Final, Protocol

from coordinator.log.open_files import FILE_MODE, DiskFile, OpenFiles

DIRECTORY_MODE: Final = 0o750
"""The permissions of directories that are created, those above them as well. The umask may restrict them further."""


class OpenFile(Protocol):
    """A file that is open for positional reads and writes.

    Raises:
        OSError: each method may raise it.
    """

    def read_at(self, position: int, size: int) -> bytes:
        """Return `size` bytes from `position`; fewer only at the end of the file."""

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data`. After an error, any part of it may have been written."""

    def truncate(self, size: int) -> None:
        """Remove all bytes from position `size` on."""

    def size(self) -> int:
        """Return the number of bytes in the file."""

    def flush(self) -> None:
        """Return when all written data is on stable storage (fsync)."""

    def pin(self, *, is_open: bool = True) -> None:
        """Another thread uses the file until `unpin`. Both are called in the thread of the event loop.

        With `is_open` it may do so in any way, else it may only flush the file.
        """

    def unpin(self) -> None: ...

    def moved_to(self, path: Path) -> None:
        """The file was renamed."""

    def close(self) -> None:
        """Close the file without a flush; unflushed data stays in the page cache."""


class FileLock(Protocol):
    """An exclusive lock. It is released at the latest when the process ends."""

    def release(self) -> None: ...


class FileSystem(Protocol):
    """Directories and files.

    Raises:
        OSError: each method may raise it.
    """

    def open(self, path: Path) -> OpenFile:
        """Open a file; create it if it does not exist."""

    def exists(self, path: Path) -> bool: ...
    def is_directory(self, path: Path) -> bool: ...
    def names(self, directory: Path) -> list[str]:
        """Return the names of the entries of a directory, sorted."""

    def make_directory(self, path: Path) -> None:
        """Create a directory and its parents, if they do not exist."""

    def modified_ms(self, path: Path) -> int:
        """Return when a file was last written, in ms since the epoch."""

    def volume_bytes(self, path: Path) -> tuple[int, int]:
        """Return the size of the volume that has `path`, and what this process may still write to it."""

    def set_modified_ms(self, path: Path, time_ms: int) -> None:
        """Let `modified_ms` return this time."""

    def rename(self, path: Path, target: Path) -> None:
        """Rename `path` to `target`, which is replaced atomically."""

    def remove(self, path: Path) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: it does not exist.
        """

    def remove_tree(self, path: Path) -> None:
        """Remove a directory with its content."""

    def flush_directory(self, path: Path) -> None:
        """Return when the entries of a directory are on stable storage (fsync)."""

    def lock(self, path: Path) -> FileLock:
        """Lock a file; create it if it does not exist.

        Raises:
            BlockingIOError: another process holds the lock.
        """


class DiskFileLock:
    """A FileLock by flock(2) and fcntl(2): the kernel releases it when the process ends, also after a kill.

    Kafka's lock is the second one, which another thread of this process would get as well.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        os.close(self._descriptor)


class DiskFileSystem:
    """The FileSystem of the operating system."""

    def __init__(self, open_files_max: int | None = None) -> None:
        """`open_files_max`: how many files have a descriptor at a time; None: all that are open."""
        self._files = OpenFiles(open_files_max)

    def open_count(self) -> int:
        """How many files have a descriptor."""
        return len(self._files)

    def open(self, path: Path) -> OpenFile:
        return DiskFile(path, self._files)

    def exists(self, path: Path) -> bool:
        return path.exists()

    def is_directory(self, path: Path) -> bool:
        return path.is_dir()

    def names(self, directory: Path) -> list[str]:
        return sorted(os.listdir(directory))

    def make_directory(self, path: Path) -> None:
        # `mkdir(parents=True)` would use the mode for the last directory only.
        missing = [parent for parent in path.parents if not parent.exists()]
        for folder in (*reversed(missing), path):
            folder.mkdir(DIRECTORY_MODE, exist_ok=True)

    def modified_ms(self, path: Path) -> int:
        return path.stat().st_mtime_ns // 1_000_000

    def volume_bytes(self, path: Path) -> tuple[int, int]:
        volume = os.statvfs(path)
        return volume.f_frsize * volume.f_blocks, volume.f_frsize * volume.f_bavail

    def set_modified_ms(self, path: Path, time_ms: int) -> None:
        os.utime(path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))

    def rename(self, path: Path, target: Path) -> None:
        path.replace(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def remove_tree(self, path: Path) -> None:
        from shutil import rmtree  # with all kinds of archives: few servers delete partitions

        rmtree(path)

    def flush_directory(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path) -> FileLock:
        return DiskFileLock(path)


def read_file(fs: FileSystem, path: Path) -> bytes:
    """Return the content of a file. The file must exist."""
    file = fs.open(path)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def write_file(fs: FileSystem, path: Path, data: bytes, *, flush: bool = False) -> None:
    """Replace the content of a file, not atomically."""
    file = fs.open(path)
    try:
        file.truncate(0)
        file.write_at(data, 0)
        if flush:
            file.flush()
    finally:
        file.close()


def write_file_atomically(fs: FileSystem, path: Path, data: bytes, *, flush: bool = True) -> None:
    """Replace the content of `path`: after any crash the file has either the old or the new content, complete.

    Without `flush` this holds for a crash of the process only; a power loss may leave any part of the content.
    """
    temporary = path.with_name(path.name + ".tmp")
    write_file(fs, temporary, data, flush=flush)
    fs.rename(temporary, path)
    if flush:
        fs.flush_directory(path.parent)
