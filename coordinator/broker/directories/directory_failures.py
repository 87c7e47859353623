"""A log directory that fails while the server runs is taken offline (LogManager.handleLogDirFailure).

Its partitions have no leader from then on; the others are served. The directory of the metadata log, and the last one,
are served for as long as they can be read; the process has to stop when they are gone, or an fsync fails in them. Which
errors count, and why: docs/decisions/021-directories-by-id.md.
"""

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from coordinator.broker.directories.directory_assignment import DirectoryAssignment
from coordinator.broker.directories.disk_errors import DiskErrors
from coordinator.broker.partitions import Partitions
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.disk_failure import is_disk_failure, is_flush_failure, os_error, path_of
from coordinator.log.errors import LogDirectoryFailed, LogError, LogFlushError
from coordinator.logger import logger
from coordinator.runtime.slices import Slices

NOT_FOUND: Final = (errno.ENOENT, errno.ENOTDIR)
"""A file is not there: perhaps because the whole directory is gone."""


class DirectoryFailures:
    """Gets each error of the disk, and decides whether a log directory has failed."""

    def __init__(
        self,
        directories: LogDirectories,
        partitions: Partitions,
        assignment: DirectoryAssignment,
        slices: Slices,
        *,
        disk_errors: DiskErrors,
        call_soon: Callable[[Callable[[], None]], object],
        stop: Callable[[LogError], None],
    ) -> None:
        """Handle what is reported to `disk_errors`.

        `call_soon` calls back in the event loop; `stop` is called when the process has to stop.
        """
        disk_errors.handle_with(self)
        self._directories = directories
        self._partitions = partitions
        self._assignment = assignment
        self._slices = slices
        self._call_soon = call_soon
        self._stop = stop
        self._failed: set[Path] = set()
        """Those that are offline, or will be in a moment."""
        self._listeners: list[Callable[[], None]] = []

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Call `listener` when partitions have lost their leader, before their logs are closed."""
        self._listeners.append(listener)

    def report(self, problem: Exception, path: Path | None = None, is_read: bool = False) -> bool:
        """An operation has failed on a file of the log directory that has `path` (default: the file it names).

        Returns:
            True if that is the failure of the directory: it is offline, or a moment later, and no other line is needed.
        """
        root = self._root_of(problem, path)
        if root is None:
            return False
        if self._has_failed(root):
            return True
        is_gone = self._is_gone(problem, root)
        if not is_gone and not is_disk_failure(problem, is_read=is_read):
            return False
        if self._can_go_on_without(root):
            self._failed.add(root)
            # The caller may be in the middle of an append.
            self._call_soon(partial(self._set_offline, root, problem))
            return True
        if is_gone or is_flush_failure(problem):
            self._failed.add(root)
            self._stop(self._reason_to_stop(root, problem, is_gone))
            return True
        return False  # nobody would serve what can still be read

    def flush_failed(self, problem: Exception, path: Path | None) -> bool:
        """An fsync in a log directory has failed; it is offline at the return. False if the process has to stop."""
        root = self._root_of(problem, path)
        if root is None or not self._can_go_on_without(root):
            return False
        self._failed.add(root)
        self._set_offline(root, problem)
        return True

    def _root_of(self, problem: Exception, path: Path | None) -> Path | None:
        path = path or path_of(problem)
        return None if path is None else self._directories.root_of(path)

    def _has_failed(self, root: Path) -> bool:
        return root in self._failed or root in self._directories.offline_paths()

    def _is_gone(self, problem: Exception, root: Path) -> bool:
        error = os_error(problem)
        return error is not None and error.errno in NOT_FOUND and self._directories.is_gone(root)

    def _can_go_on_without(self, root: Path) -> bool:
        others = [
            directory
            for directory in self._directories.online
            if directory.root not in self._failed and directory.root != root
        ]
        return root != self._directories.metadata.root and bool(others)

    def _reason_to_stop(self, root: Path, problem: Exception, is_gone: bool) -> LogError:
        if not is_gone:
            return problem if isinstance(problem, LogFlushError) else LogFlushError(str(problem))
        has = "has the metadata log" if root == self._directories.metadata.root else "was the last one"
        return LogDirectoryFailed(f"log directory {root}, which {has}, is gone: {problem}")

    def _set_offline(self, root: Path, problem: Exception) -> None:
        directory = next((candidate for candidate in self._directories.online if candidate.root == root), None)
        if directory is None:
            return
        count = self._assignment.set_offline(directory)
        lost = "; acknowledged data in it may be lost" if is_flush_failure(problem) else ""
        logger.error(
            f"a log directory failed; it is offline until the next start, the others are served{lost}",
            directory=str(root),
            partitions=count,
            problem=str(problem),
        )
        for listener in self._listeners:
            listener()
        self._partitions.set_offline(directory)
        self._slices.start(self._directories.close_offline(directory), lambda _: None, self._close_failed(directory))

    def _close_failed(self, directory: LogDirectory) -> Callable[[Exception], None]:
        def failed(problem: Exception) -> None:
            logger.warning("cannot close a log directory", directory=str(directory.root), problem=str(problem))

        return failed
