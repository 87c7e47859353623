"""File descriptors: how many the process may have, and how they are shared out.

Connections have three quarters of the limit. The last quarter is for the files of the logs, which are closed and opened
again as they are needed (`log/open_files.py`), and for all else. Neither can take what belongs to the other one.
"""

import os
import resource
from collections.abc import Callable
from typing import Final

from coordinator.log.errors import OUT_OF_DESCRIPTORS

RESERVE_MIN: Final = 256
RESERVE_SHARE: Final = 4
"""A quarter of the limit is never given to connections, for the files of the log and the admin port."""

OTHER_DESCRIPTORS: Final = 64
"""Listeners, the event loop, the admin port, and directories and checkpoints that are being written."""
FILES_MIN: Final = 8

LIMITS_TRIED: Final = (1 << 20, 10_240)
"""Where the hard limit is infinite, as on macOS, the soft one has another bound, which the system does not tell."""

UNBOUNDED: Final = 1 << 31
FAR: Final = 1_024
"""As long as the last connection's number is so far below the reserve, it says how many descriptors are in use; nearer
to it that is looked up."""


def raise_limit() -> int:
    """Raise the soft limit on open files (RLIMIT_NOFILE) to the hard one, as far as possible; return what it is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for tried in LIMITS_TRIED if hard == resource.RLIM_INFINITY else (hard,):
        if soft == resource.RLIM_INFINITY or soft >= tried:
            return soft
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (tried, hard))
        except (ValueError, OSError):
            continue  # not allowed, or more than the system has: the next one, or the limit as it was
        return tried
    return soft


def reserve_of(limit: int) -> int:
    """How many of `limit` descriptors are kept free of connections: a quarter, at least 256, at most half of them."""
    return min(max(limit // RESERVE_SHARE, RESERVE_MIN), limit // 2)


def files_of_the_logs() -> int | None:
    """How many files the logs may have open: what connections leave, without some for all else; None: any number."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if limit < 0 else max(reserve_of(limit) - OTHER_DESCRIPTORS, FILES_MIN)


class DescriptorReserve:
    """Says whether a connection more leaves the reserve free."""

    def __init__(self, open_log_files: Callable[[], int] = lambda: 0) -> None:
        """`open_log_files` says how many files the logs have open. They have their own share (`files_of_the_logs`)."""
        self._open_log_files = open_log_files
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.limit: Final = soft
        """The most open files; negative: there is no limit."""
        self.reserve: Final = reserve_of(soft)
        self.connections_max: Final = UNBOUNDED if soft < 0 else soft - self.reserve
        """The most connections that leave the reserve free if nothing else has descriptors of the others."""
        self._last_given: int | None = None

    def given(self, descriptor: int) -> None:
        """Note the number of a descriptor that the system has just given out: the lowest one that was free."""
        self._last_given = descriptor

    def room(self, descriptor: int, connections: int) -> int:
        """How many more than so many `connections` leave the reserve free. `descriptor` is any open one.

        They are counted, and so is all else that is in use, but for the files of the logs: the system gives out the
        lowest free number, so at least so many are in use. There may be more, after files were closed.

        Raises:
            OSError: the descriptor is not open.
        """
        if self.limit < 0:
            return UNBOUNDED
        room = self.connections_max - connections
        if room <= 0:
            return room
        if self._last_given is not None and self._last_given < self.connections_max - FAR:
            return min(room, self._left_of(self._last_given))
        try:
            probe = os.dup(descriptor)
        except OSError as problem:
            if problem.errno in OUT_OF_DESCRIPTORS:
                return 0
            raise
        os.close(probe)
        return min(room, self._left_of(probe))

    def _left_of(self, lowest_free: int) -> int:
        return self.connections_max - (lowest_free - self._open_log_files())
