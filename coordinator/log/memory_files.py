"""A FileSystem in memory, for logs that nobody needs after the process: a coordinator in a test.

What was written outlives a kill of the server that wrote it, as in a page cache, and ends with the process.
"""

import errno
import os
import time
from pathlib import Path

from coordinator.log.files import FileLock, OpenFile


class MemoryFile:
    """An open file; the content outlives it."""

    def __init__(self, content: bytearray) -> None:
        self._content = content

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self._content[position : position + size])

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        if position > len(self._content):
            self._content.extend(bytes(position - len(self._content)))
        self._content[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        del self._content[size:]

    def size(self) -> int:
        return len(self._content)

    def flush(self) -> None:
        """There is nothing more stable than this memory."""

    def pin(self, *, is_open: bool = True) -> None:
        """It has no descriptor."""

    def unpin(self) -> None:
        """It has no descriptor."""

    def moved_to(self, path: Path) -> None:
        """It does not know its name."""

    def close(self) -> None:
        """The content stays."""


class MemoryLock:
    """A FileLock. Unlike a lock of the kernel it does not end by itself with its owner."""

    def __init__(self, locked: set[Path], path: Path) -> None:
        self._locked = locked
        self._path = path

    def release(self) -> None:
        self._locked.discard(self._path)


class MemoryFileSystem:
    """Folders and files of one process. Not safe for several threads."""

    def __init__(self) -> None:
        self._files: dict[Path, bytearray] = {}
        self._directories: set[Path] = set()
        self._locked: set[Path] = set()

    def content(self, path: Path) -> bytearray:
        """What is in the file, made if it is not there."""
        return self._files.setdefault(path, bytearray())

    def open(self, path: Path) -> OpenFile:
        return MemoryFile(self.content(path))

    def exists(self, path: Path) -> bool:
        return path in self._files or path in self._directories

    def is_directory(self, path: Path) -> bool:
        return path in self._directories

    def names(self, directory: Path) -> list[str]:
        return sorted(path.name for path in (*self._files, *self._directories) if path.parent == directory)

    def make_directory(self, path: Path) -> None:
        self._directories.update((path, *path.parents))

    def modified_ms(self, path: Path) -> int:
        """Not kept: nobody needs these logs for long, so none is ever old by this time."""
        return time.time_ns() // 1_000_000

    def volume_bytes(self, path: Path) -> tuple[int, int]:
        """Memory is no volume: -1, which stands for unknown in DescribeLogDirs."""
        return -1, -1

    def set_modified_ms(self, path: Path, time_ms: int) -> None:
        """Not kept."""

    def rename(self, path: Path, target: Path) -> None:
        if path in self._directories:
            self._files = {moved(name, path, target): content for name, content in self._files.items()}
            self._directories = {moved(name, path, target) for name in self._directories}
        else:
            self._files[target] = self._files.pop(path)

    def remove(self, path: Path) -> None:
        if path not in self._files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        del self._files[path]

    def remove_tree(self, path: Path) -> None:
        self._files = {file: content for file, content in self._files.items() if path not in file.parents}
        self._directories = {
            directory for directory in self._directories if directory != path and path not in directory.parents
        }

    def flush_directory(self, path: Path) -> None:
        """There is nothing more stable than this memory."""

    def lock(self, path: Path) -> FileLock:
        if path in self._locked:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), str(path))
        self._locked.add(path)
        return MemoryLock(self._locked, path)


def moved(name: Path, path: Path, target: Path) -> Path:
    """The name of a file or directory after `path` was renamed."""
    return target / name.relative_to(path) if name.is_relative_to(path) else name
