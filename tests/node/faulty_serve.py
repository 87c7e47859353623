"""`coordinator` on a disk that fails on demand: what a test writes into the file that FAULTS names.

Each line of it is an operation, the name of an errno, and a part of the paths that it is about:

    read EIO orders-0/

BLOCK in place of an errno: the operation waits for as long as the line is there. The file FAULTS.blocked then exists.
"""

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from coordinator.log.files import DiskFileSystem, FileLock, OpenFile
from coordinator.log.open_files import DiskFile
from coordinator.node import disk_host

CONTROL: Final = "FAULTS"
BLOCK: Final = "BLOCK"
BLOCKED_SUFFIX: Final = ".blocked"
EVERYTHING_THAT_WRITES: Final = ("open", "write", "truncate", "rename", "remove", "make_directory", "lock")
"""What a file system that is mounted read-only refuses; `open` is that of a file for writing."""


def check(operation: str, path: object) -> None:
    """Raise OSError if this operation is to fail; wait for as long as it is to block."""
    control = Path(os.environ[CONTROL])
    while BLOCK in (errors := list(faults_of(control, operation, path))):
        control.with_suffix(BLOCKED_SUFFIX).touch()
        threading.Event().wait(0.005)
    for error in errors:
        number = getattr(errno, error)
        raise OSError(number, os.strerror(number), str(path))


def faults_of(control: Path, operation: str, path: object) -> Iterator[str]:
    """What is to happen to this operation."""
    for line in control.read_text().splitlines() if control.exists() else ():
        name, error, part = line.split(" ")
        if name == operation and part in f"{path}/":
            yield error


class FaultyFile(DiskFile):
    __slots__ = ()

    def _open_descriptor(self, flags: int) -> int:
        if flags & os.O_RDWR:
            check("open", self._path)
        return super()._open_descriptor(flags)

    def read_at(self, position: int, size: int) -> bytes:
        check("read", self._path)
        return super().read_at(position, size)

    def write_at(self, data: bytes | bytearray | memoryview, position: int) -> None:
        check("write", self._path)
        super().write_at(data, position)

    def truncate(self, size: int) -> None:
        check("truncate", self._path)
        super().truncate(size)

    def flush(self) -> None:
        check("flush", self._path)
        super().flush()


class FaultyDisk(DiskFileSystem):
    def open(self, path: Path) -> OpenFile:
        return FaultyFile(path, self._files)

    def rename(self, path: Path, target: Path) -> None:
        check("rename", path)
        super().rename(path, target)

    def remove(self, path: Path) -> None:
        check("remove", path)
        super().remove(path)

    def make_directory(self, path: Path) -> None:
        if not path.is_dir():
            check("make_directory", path)
        super().make_directory(path)

    def lock(self, path: Path) -> FileLock:
        check("lock", path)
        return super().lock(path)


if __name__ == "__main__":
    from coordinator.cli import main

    vars(disk_host)["DiskFileSystem"] = FaultyDisk
    main()
