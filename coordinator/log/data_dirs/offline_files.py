"""The files of a log directory that cannot be used: there are none, and none can be written."""

import errno
from pathlib import Path

from coordinator.log.errors import OfflineDirectory
from coordinator.log.files import DiskFileSystem, FileLock, OpenFile


class OfflineFiles(DiskFileSystem):
    """Nothing exists; whatever would read or write raises OfflineDirectory."""

    def open(self, path: Path) -> OpenFile:
        raise _offline(path)

    def exists(self, path: Path) -> bool:
        return False

    def is_directory(self, path: Path) -> bool:
        return False

    def names(self, directory: Path) -> list[str]:
        raise _offline(directory)

    def make_directory(self, path: Path) -> None:
        raise _offline(path)

    def rename(self, path: Path, target: Path) -> None:
        raise _offline(path)

    def remove(self, path: Path) -> None:
        raise _offline(path)

    def remove_tree(self, path: Path) -> None:
        raise _offline(path)

    def flush_directory(self, path: Path) -> None:
        raise _offline(path)

    def lock(self, path: Path) -> FileLock:
        raise _offline(path)


def _offline(path: Path) -> OSError:
    return OfflineDirectory(errno.EIO, "the log directory is offline", str(path))
