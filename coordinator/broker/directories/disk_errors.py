"""Where those who use the log directories report the errors of their disks."""

from pathlib import Path
from typing import Protocol


class DiskErrorHandler(Protocol):
    """Decides what an error means (DirectoryFailures)."""

    def report(self, problem: Exception, path: Path | None = None, is_read: bool = False) -> bool: ...

    def flush_failed(self, problem: Exception, path: Path | None) -> bool: ...


class DiskErrors:
    """Made before the logs, whose handler needs them. Until it is there, an error is that of its operation alone."""

    def __init__(self) -> None:
        self._handler: DiskErrorHandler | None = None

    def handle_with(self, handler: DiskErrorHandler) -> None:
        assert self._handler is None
        self._handler = handler

    def report(self, problem: Exception, path: Path | None = None, is_read: bool = False) -> bool:
        """An operation has failed on a file of the log directory that has `path` (default: the file it names).

        Returns:
            True if that is the failure of the directory, which is handled: no other line is needed.
        """
        return self._handler is not None and self._handler.report(problem, path, is_read)

    def flush_failed(self, problem: Exception, path: Path | None) -> bool:
        """An fsync in a log directory has failed; it is offline at the return. False if the process has to stop."""
        return self._handler is not None and self._handler.flush_failed(problem, path)
