"""A disk in memory: fast; on demand it fills up, tears writes and loses what was not flushed."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from coordinator.log import memory_files


class ProcessKilled(BaseException):
    """The process died in the middle of a write. No code under test may catch it."""


class MemoryFile(memory_files.MemoryFile):
    """An open file; the content outlives it."""

    def __init__(self, fs: "MemoryFileSystem", path: Path) -> None:
        super().__init__(fs.content(path))
        self._fs = fs
        self._path = path

    def read_at(self, position: int, size: int) -> bytes:
        if self._fs.is_unreadable:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().read_at(position, size)

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        fits = self._fs.take_bytes(len(data))
        super().write_at(data[:fits], position)
        if self._fs.is_killed:
            raise ProcessKilled
        if fits < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def truncate(self, size: int) -> None:
        if self._fs.truncate_fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().truncate(size)
        self._fs.note_truncated(self._path, size)

    def flush(self) -> None:
        self._fs.note_flushed(self._path)


class MemoryLock:
    def release(self) -> None:
        """Nobody else is in this memory."""


class MemoryFileSystem(memory_files.MemoryFileSystem):
    """Folders and files.

    `is_full` makes every write fail; `bytes_left` tears the one that does not fit and those after it;
    `bytes_until_kill` is how much is still written before the process dies, perhaps within a write.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.bytes_left: int | None = None
        self.bytes_until_kill: int | None = None
        self.is_killed = False
        self.truncate_fails = False
        self.is_unreadable = False
        self._flushed_bytes: dict[Path, int] = {}
        self._unflushed_names: set[Path] = set()

    def heal(self) -> None:
        """No fault is left; what was lost stays lost."""
        self.is_full = self.truncate_fails = self.is_unreadable = self.is_killed = False
        self.bytes_left = self.bytes_until_kill = None

    def lose_power(self, keep: Callable[[int], int]) -> None:
        """Of each file that part stays which was flushed, and `keep(n)` of the n bytes behind it.

        A new file whose name was not flushed may vanish, and then whatever was made later in its folder does too: the
        journal of a file system keeps their order.
        """
        shortened: set[Path] = set()
        for path in list(self._files):
            content, flushed = self._files[path], self._flushed_bytes.get(path, 0)
            if path in self._unflushed_names and (path.parent in shortened or keep(1) == 0):
                shortened.add(path.parent)
                del self._files[path]
                continue
            if len(content) > flushed:
                del content[flushed + keep(len(content) - flushed) :]
            self._flushed_bytes[path] = len(content)
        self._unflushed_names.clear()

    def names(self, directory: Path) -> list[str]:
        """By their text: comparing paths takes most of the time of a start."""
        prefix = f"{directory}{os.sep}"
        below = [
            text[len(prefix) :] for text in map(str, (*self._files, *self._directories)) if text.startswith(prefix)
        ]
        return sorted(name for name in below if os.sep not in name)

    def paths(self) -> list[Path]:
        """Every file, in order."""
        return sorted(self._files)

    def content(self, path: Path) -> bytearray:
        """What is in the file, made if it is not there."""
        if path not in self._files:
            self._unflushed_names.add(path)
        return super().content(path)

    def take_bytes(self, size: int) -> int:
        """How many of `size` bytes are written; the others are lost to whatever is wrong with the disk."""
        if self.is_full:
            return 0
        if self.bytes_until_kill is not None:
            self.is_killed = size >= self.bytes_until_kill
            written = min(size, self.bytes_until_kill)
            self.bytes_until_kill -= written
            return written
        if self.bytes_left is None:
            return size
        written = min(size, self.bytes_left)
        self.bytes_left -= written
        return written

    def note_flushed(self, path: Path) -> None:
        if path in self._files:
            self._flushed_bytes[path] = len(self._files[path])

    def note_truncated(self, path: Path, size: int) -> None:
        self._flushed_bytes[path] = min(self._flushed_bytes.get(path, 0), size)

    def open(self, path: Path) -> MemoryFile:
        return MemoryFile(self, path)

    def rename(self, path: Path, target: Path) -> None:
        is_directory = path in self._directories
        super().rename(path, target)
        if is_directory:
            moved = memory_files.moved
            self._flushed_bytes = {moved(name, path, target): size for name, size in self._flushed_bytes.items()}
            self._unflushed_names = {moved(name, path, target) for name in self._unflushed_names}
        else:
            self._flushed_bytes[target] = self._flushed_bytes.pop(path, 0)
            self._unflushed_names.discard(path)
            self._unflushed_names.add(target)

    def remove(self, path: Path) -> None:
        super().remove(path)
        self._flushed_bytes.pop(path, None)

    def flush_directory(self, path: Path) -> None:
        self._unflushed_names = {
            unflushed_name for unflushed_name in self._unflushed_names if unflushed_name.parent != path
        }

    def lock(self, path: Path) -> MemoryLock:
        return MemoryLock()
