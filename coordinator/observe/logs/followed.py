"""Where a log that is followed is read on, and what was read of it."""

import msgspec

from coordinator.observe.group_stream import LoggedClient, LoggedStatement
from coordinator.observe.kept_group import LineMark
from coordinator.observe.logs.log_files import FileBegin


class LogPosition(msgspec.Struct, frozen=True, array_like=True):
    """Where a log is read on: `number` counts its files since the first, `line` the lines of the file from 1."""

    number: int
    begin: FileBegin
    offset: int
    line: int

    @property
    def mark(self) -> LineMark:
        return self.number, self.line


class FollowedLog(msgspec.Struct):
    """What was read of a log. `position` is after it, `before` where it began; None: nothing is written yet.

    `current_at`: all that was written up to this time of the clock has been read.
    """

    lines: list[LoggedStatement]
    before: LogPosition | None
    position: LogPosition | None
    current_at: float | None
    notes: list[str]
    clients: list[LoggedClient] = []
    """Of a log of clients, in the place of `lines`."""
