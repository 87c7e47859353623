"""A disk in memory: as fast as a simulation needs, and full when a test says so."""

import errno
import os
from pathlib import Path


class MemoryFile:
    """An open file; the content outlives it."""

    def __init__(self, fs: "MemoryFileSystem", content: bytearray) -> None:
        self._fs = fs
        self._content = content

    def read_at(self, position: int, size: int) -> bytes:
        return bytes(self._content[position : position + size])

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        if self._fs.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if position > len(self._content):
            self._content.extend(bytes(position - len(self._content)))
        self._content[position : position + len(data)] = data

    def truncate(self, size: int) -> None:
        del self._content[size:]

    def size(self) -> int:
        return len(self._content)

    def flush(self) -> None:
        """Nothing in memory is further from safety than anything else."""

    def close(self) -> None:
        """The content stays."""


class MemoryLock:
    def release(self) -> None:
        """Nobody else is in this memory."""


class MemoryFileSystem:
    """Folders and files; `is_full` makes every write fail."""

    def __init__(self) -> None:
        self.is_full = False
        self._files: dict[Path, bytearray] = {}
        self._directories: set[Path] = set()

    def open(self, path: Path) -> MemoryFile:
        return MemoryFile(self, self._files.setdefault(path, bytearray()))

    def exists(self, path: Path) -> bool:
        return path in self._files or path in self._directories

    def is_directory(self, path: Path) -> bool:
        return path in self._directories

    def names(self, directory: Path) -> list[str]:
        return sorted(path.name for path in (*self._files, *self._directories) if path.parent == directory)

    def make_directory(self, path: Path) -> None:
        self._directories.update((path, *path.parents))

    def rename(self, path: Path, target: Path) -> None:
        self._files[target] = self._files.pop(path)

    def remove(self, path: Path) -> None:
        if path not in self._files:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        del self._files[path]

    def remove_tree(self, path: Path) -> None:
        self._files = {each: content for each, content in self._files.items() if path not in each.parents}
        self._directories = {each for each in self._directories if each != path and path not in each.parents}

    def flush_directory(self, path: Path) -> None:
        """See MemoryFile.flush."""

    def lock(self, path: Path) -> MemoryLock:
        return MemoryLock()
