"""Which errors mean that the disk of a log directory has failed, and which are about one file or will pass.

Kafka takes a directory offline for any IOException (LogDirFailureChannel). Here a full disk, a quota and a lack of file
descriptors are not among them, because they pass: docs/decisions/021-directories-by-id.md.
"""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from coordinator.log.errors import LogFlushError, OfflineDirectory

_NAMES: Final = ("EIO", "EROFS", "ENODEV", "ENXIO", "ESTALE", "ENOTCONN", "ESHUTDOWN", "EUCLEAN", "EREMOTEIO")
DISK_ERRORS: Final = frozenset(getattr(errno, name) for name in _NAMES if hasattr(errno, name))
"""The disk fails, is read-only, was removed, or its file system is damaged."""
OF_ONE_SECTOR: Final = errno.EIO
"""When a file is read: the rest of the disk may well be readable."""


def is_disk_failure(problem: BaseException, *, is_read: bool = False) -> bool:
    """Whether an error that a write, or with `is_read` a read, has raised is one of the whole disk.

    An fsync that failed always is: what it was to make safe may be lost.
    """
    if is_flush_failure(problem):
        return True
    error = os_error(problem)
    if error is None or isinstance(error, OfflineDirectory):  # that one is known
        return False
    return error.errno in DISK_ERRORS and not (is_read and error.errno == OF_ONE_SECTOR)


def is_flush_failure(problem: BaseException) -> bool:
    """Whether an error comes from an fsync that failed."""
    return any(isinstance(base_exception, LogFlushError) for base_exception in _chain(problem))


def os_error(problem: BaseException) -> OSError | None:
    """The error of the system behind an exception; None if there is none."""
    return next(
        (
            base_exception
            for base_exception in _chain(problem)
            if isinstance(base_exception, OSError) and base_exception.errno is not None
        ),
        None,
    )


def path_of(problem: BaseException) -> Path | None:
    """The file or directory that an exception is about, if it says so."""
    error = os_error(problem)
    name = None if error is None else error.filename
    return Path(name) if isinstance(name, str) else None


def _chain(problem: BaseException) -> Iterator[BaseException]:
    base_exception: BaseException | None = problem
    while base_exception is not None:
        yield base_exception
        base_exception = base_exception.__cause__
