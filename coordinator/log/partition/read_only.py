"""A FileSystem that changes nothing: for tools that look at a data folder, also while a server uses it."""

import errno
import os
from pathlib import Path

from coordinator.log.files import DiskFileSystem, FileLock, OpenFile
from coordinator.log.open_files import DiskFile


class ReadOnlyFileSystem(DiskFileSystem):
    """Reads; whatever would write raises OSError (EROFS), and a file that is missing FileNotFoundError."""

    def open(self, path: Path) -> OpenFile:
        return DiskFile(path, self._files, os.O_RDONLY)

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
