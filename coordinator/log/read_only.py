"""A FileSystem that changes nothing: for tools that look at a data folder, also while a server uses it."""

import errno
import os
from pathlib import Path

from coordinator.log.files import DiskFile, DiskFileSystem, FileLock, OpenFile


class ReadOnlyFile(DiskFile):
    """A file that is open for reading alone."""

    __slots__ = ()

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)


class ReadOnlyFileSystem(DiskFileSystem):
    """Reads; whatever would write raises OSError (EROFS), and a file that is missing FileNotFoundError."""

    def open(self, path: Path) -> OpenFile:
        return ReadOnlyFile(path)

    def make_directory(self, path: Path) -> None:
        raise _refused(path)

    def rename(self, path: Path, target: Path) -> None:
        raise _refused(path)

    def remove(self, path: Path) -> None:
        raise _refused(path)

    def remove_tree(self, path: Path) -> None:
        raise _refused(path)

    def lock(self, path: Path) -> FileLock:
        raise _refused(path)


def _refused(path: Path) -> OSError:
    return OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
