"""The machine's disk, failing on demand."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coordinator.log.files import DiskFileSystem, OpenFile
from coordinator.log.open_files import DiskFile


class FaultyFileSystem(DiskFileSystem):
    """`bytes_left` is what still fits on the disk; a write that does not fit is torn where the disk is full."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes_left: int | None = None
        self.truncate_fails = False
        self.flush_fails = False
        self.writes = 0
        self.flushed: list[str] = []

    def open(self, path: Path) -> OpenFile:
        return FaultyFile(self, path)

    def flush_directory(self, path: Path) -> None:
        self.flushed.append(path.name + "/")
        super().flush_directory(path)

    @contextmanager
    def full_after(self, bytes_left: int, *, truncate_fails: bool = False) -> Iterator[None]:
        """Within the block only so many bytes can be written."""
        self.bytes_left, self.truncate_fails = bytes_left, truncate_fails
        try:
            yield
        finally:
            self.bytes_left, self.truncate_fails = None, False


class FaultyFile(DiskFile):
    __slots__ = ("_fs", "_name")

    def __init__(self, fs: FaultyFileSystem, path: Path) -> None:
        super().__init__(path, fs._files)
        self._fs = fs
        self._name = path.name

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        fits = len(data) if self._fs.bytes_left is None else min(len(data), self._fs.bytes_left)
        super().write_at(memoryview(data)[:fits], position)
        self._fs.writes += 1
        if self._fs.bytes_left is not None:
            self._fs.bytes_left -= fits
        if fits < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def truncate(self, size: int) -> None:
        if self._fs.truncate_fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        super().truncate(size)

    def flush(self) -> None:
        if self._fs.flush_fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._fs.flushed.append(self._name)
        super().flush()
