"""The only place that touches the disk. A simulation puts a disk that fails and tears behind these two interfaces."""

import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import Protocol


class OpenFile(Protocol):
    """A file open for reading and writing at given positions. Every call may raise OSError."""

    def read_at(self, position: int, size: int) -> bytes:
        """`size` bytes from `position`; fewer only where the file ends."""

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        """Write all of `data`. After an error any part of it may have been written."""

    def truncate(self, size: int) -> None:
        """Cut off everything from `size` on."""

    def size(self) -> int:
        """Bytes in the file."""

    def flush(self) -> None:
        """Return when everything written is on the medium (fsync)."""

    def close(self) -> None:
        """Give the file back. What was not flushed stays in the page cache."""


class FileLock(Protocol):
    """An exclusive lock that ends with its process."""

    def release(self) -> None: ...


class FileSystem(Protocol):
    """Folders and files. Every call may raise OSError."""

    def open(self, path: Path) -> OpenFile:
        """The file, made if it is not there."""

    def exists(self, path: Path) -> bool: ...
    def is_directory(self, path: Path) -> bool: ...
    def names(self, directory: Path) -> list[str]:
        """What lies in a folder, sorted."""

    def make_directory(self, path: Path) -> None:
        """The folder and its parents, if they are not there."""

    def rename(self, path: Path, target: Path) -> None:
        """Replace `target` in one step."""

    def remove(self, path: Path) -> None:
        """A file; FileNotFoundError when there is none."""

    def remove_tree(self, path: Path) -> None:
        """A folder with everything in it."""

    def flush_directory(self, path: Path) -> None:
        """Return when the names in a folder are on the medium."""

    def lock(self, path: Path) -> FileLock:
        """Lock a file, made if it is not there. Raises BlockingIOError when another holds it."""


class DiskFile:
    """An OpenFile by its descriptor."""

    __slots__ = ("_descriptor",)

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def read_at(self, position: int, size: int) -> bytes:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        left = size - len(data)
        while left > 0 and (data := os.pread(self._descriptor, left, position + size - left)):
            parts.append(data)
            left -= len(data)
        return b"".join(parts)

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        written = os.pwrite(self._descriptor, data, position)
        while written < len(data):
            more = os.pwrite(self._descriptor, memoryview(data)[written:], position + written)
            if more == 0:
                raise OSError(errno.EIO, "the disk took nothing")
            written += more

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def flush(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class DiskFileLock:
    """A FileLock by flock(2): released by the kernel however the process ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        os.close(self._descriptor)


class DiskFileSystem:
    """The FileSystem of the machine."""

    def open(self, path: Path) -> OpenFile:
        return DiskFile(path)

    def exists(self, path: Path) -> bool:
        return path.exists()

    def is_directory(self, path: Path) -> bool:
        return path.is_dir()

    def names(self, directory: Path) -> list[str]:
        return sorted(os.listdir(directory))

    def make_directory(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def rename(self, path: Path, target: Path) -> None:
        path.replace(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def remove_tree(self, path: Path) -> None:
        shutil.rmtree(path)

    def flush_directory(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lock(self, path: Path) -> FileLock:
        return DiskFileLock(path)


def read_file(fs: FileSystem, path: Path) -> bytes:
    """The whole of a file that exists."""
    file = fs.open(path)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def write_file(fs: FileSystem, path: Path, data: bytes, *, flush: bool = False) -> None:
    """The whole of a file, over whatever it held."""
    file = fs.open(path)
    try:
        file.truncate(0)
        file.write_at(data, 0)
        if flush:
            file.flush()
    finally:
        file.close()


def write_file_atomically(fs: FileSystem, path: Path, data: bytes, *, flush: bool = True) -> None:
    """Replace the content of `path`: after any crash the file has the old content or the new one, whole.

    Without `flush` that holds for a crash of the process; a power loss may leave any part of the content.
    """
    temporary = path.with_name(path.name + ".tmp")
    write_file(fs, temporary, data, flush=flush)
    fs.rename(temporary, path)
    if flush:
        fs.flush_directory(path.parent)
