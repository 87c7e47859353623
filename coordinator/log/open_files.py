"""Files of which only some are open at a time: a process may have only so many (RLIMIT_NOFILE).

Descriptors are closed in one thread only, that of the event loop, and only of files that this thread uses alone. Else
another thread might have read the number of a descriptor that is closed, and given to another file, before it is used.
"""

import errno
import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final

from coordinator.log.descriptor_file import CLOSED, DescriptorFile
from coordinator.log.errors import OUT_OF_DESCRIPTORS

CLOSED_WHEN_NONE_IS_LEFT: Final = 16
"""Files that are closed when the process has no descriptor left, although it has fewer open than it may."""
FILE_MODE: Final = 0o640
"""The permissions of files that are created: others may not read the records. The umask may restrict them further."""

_sync = getattr(os, "fdatasync", os.fsync)
"""fdatasync(2), where there is one: the data and the size, but not the times of the file."""


class DiskFile(DescriptorFile):
    """An OpenFile of the operating system. While nobody uses it, its descriptor may be closed."""

    __slots__ = ("_access", "_files", "_path", "_pins")

    def __init__(self, path: Path, files: "OpenFiles", access: int = os.O_RDWR) -> None:
        """Open a file; create it if it does not exist and is to be written."""
        self._path = str(path)
        self._access = access | os.O_CLOEXEC
        self._files = files
        self._pins = 0
        self._open(os.O_CREAT if access == os.O_RDWR else 0)

    def _open(self, flags: int = 0) -> int:
        self._files.make_room()
        self._is_read_only = False
        try:
            self._descriptor = self._open_descriptor(self._access | flags)
        except OSError as problem:
            if problem.errno == errno.EROFS:
                # The file system is read-only since an error: what is there can still be read.
                self._descriptor = self._open_descriptor(os.O_RDONLY | os.O_CLOEXEC)
                self._is_read_only = True
            elif problem.errno in OUT_OF_DESCRIPTORS and self._files.close_some(CLOSED_WHEN_NONE_IS_LEFT):
                self._descriptor = self._open_descriptor(self._access | flags)
            else:
                raise
        self._files.opened(self)
        return self._descriptor

    def _open_descriptor(self, flags: int) -> int:
        return os.open(self._path, flags, FILE_MODE)

    def _used(self) -> int:
        self.was_used = True
        return self._descriptor if self._descriptor != CLOSED else self._open()

    def _used_to_write(self) -> int:
        descriptor = self._used()
        if self._is_read_only and not self.is_pinned:
            self.close()
            descriptor = self._open()
        if self._is_read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), self._path)
        return descriptor

    @property
    def is_pinned(self) -> bool:
        return self._pins > 0

    def truncate(self, size: int) -> None:
        descriptor = self._used_to_write()
        # ext4 writes a file that was truncated to nothing as soon as it is closed, also if it was empty before.
        if os.fstat(descriptor).st_size != size:
            os.ftruncate(descriptor, size)

    def size(self) -> int:
        return os.fstat(self._used()).st_size

    def flush(self) -> None:
        # A flush of many files may be waited for in many threads: it leaves the files open that are open.
        while (descriptor := self._descriptor) == CLOSED:
            try:
                descriptor = os.open(self._path, self._access)
            except FileNotFoundError:
                if self._descriptor == CLOSED:
                    raise
                continue  # it was renamed, and therefore open
            try:
                _sync(descriptor)
            finally:
                os.close(descriptor)
            return
        _sync(descriptor)

    def pin(self, *, is_open: bool = True) -> None:
        if is_open:
            self._used()
        self._pins += 1

    def unpin(self) -> None:
        self._pins -= 1
        if self._pins == 0 and self._descriptor != CLOSED:
            self._files.opened(self)  # it may have been opened in the other thread
            self._files.close_surplus()

    def moved_to(self, path: Path) -> None:
        self._path = str(path)

    def release_descriptor(self) -> None:
        """Close the descriptor; the next use opens the file again. Dirty pages stay with the system."""
        descriptor, self._descriptor = self._descriptor, CLOSED
        os.close(descriptor)

    def close(self) -> None:
        if self._descriptor != CLOSED:
            self._files.closed(self)
            self.release_descriptor()


class OpenFiles:
    """The files of one thread that have a descriptor.

    At the limit, those are closed that were not used for a while (second chance). Files that other threads have opened
    are not among them.
    """

    def __init__(self, limit: int | None = None) -> None:
        """`limit`: how many are open at most, unless more of them are pinned; None: all. For the calling thread."""
        self._limit = limit
        self._thread = threading.get_ident()
        self._open: OrderedDict[int, DiskFile] = OrderedDict()
        """By `id`, in the order in which they are considered for closing."""

    def __len__(self) -> int:
        return len(self._open)

    def make_room(self) -> None:
        """Close a file if one more would be too many."""
        if self._limit is not None and len(self._open) >= self._limit and self._is_own_thread():
            self.close_some(len(self._open) - self._limit + 1)

    def close_surplus(self) -> None:
        """Close what is open beyond the limit, because it was pinned."""
        if self._limit is not None and len(self._open) > self._limit:
            self.close_some(len(self._open) - self._limit)

    def close_some(self, count: int) -> int:
        """Close up to so many files that are not pinned; return how many."""
        closed = 0
        if not self._is_own_thread():
            return closed
        for _ in range(2 * len(self._open)):
            if closed == count:
                break
            key, file = self._open.popitem(last=False)
            if file.was_used or file.is_pinned:
                file.was_used = False
                self._open[key] = file
            else:
                file.release_descriptor()
                closed += 1
        return closed

    def opened(self, file: DiskFile) -> None:
        """A file has a descriptor now."""
        if self._is_own_thread():
            self._open[id(file)] = file

    def closed(self, file: DiskFile) -> None:
        """A file has none any more, and is not used again."""
        self._open.pop(id(file), None)

    def _is_own_thread(self) -> bool:
        return threading.get_ident() == self._thread
