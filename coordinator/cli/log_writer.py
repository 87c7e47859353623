"""Writes the log lines of the server in a separate thread, so that a blocked stderr delays no client.

A burst of lines is spread over time, and what is more than the queue holds is dropped and counted.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import time
from typing import Any, Final, TextIO

from coordinator.cli.log_styles import STYLES, Line, Style, coloured_style
from coordinator.logger import LEVELS, logger, raised_of, traceback_text

LINES_QUEUED_MAX: Final = 10_000
LINES_AT_ONCE: Final = 50
PAUSE_SECONDS: Final = 0.05
"""After up to `LINES_AT_ONCE`, so that at most 1,000 are written in a second."""

FLUSH_SECONDS: Final = 2
"""How long the end of the process waits for a reader of stderr."""


class LogWriter:
    """Takes lines in the thread of the event loop without waiting, and writes them in its own."""

    def __init__(self, file: TextIO, level: str = "debug", style: str = "text") -> None:
        """Lines from `level` on (debug, info, warning, error) are kept; `style` is a name of `STYLES`."""
        self._file = file
        self._least = LEVELS[level]
        self._text: Style = STYLES[style]()
        if style == "text" and file.isatty():
            self._text = coloured_style()
        self._lines: SimpleQueue[Line | None] = SimpleQueue()
        self._accepts_lines = True
        self._dropped = 0
        self.lines_dropped = 0
        """Since the start; `_dropped` are those that the log does not report yet."""
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    def is_enabled_for(self, level: int) -> bool:
        return level >= self._least

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Queue the line, or count it as dropped."""
        if LEVELS[level] < self._least:
            return
        if not self._accepts_lines or self._lines.qsize() >= LINES_QUEUED_MAX:
            self._dropped += 1
            self.lines_dropped += 1
            return
        raised = raised_of(fields.pop("exc_info")) if "exc_info" in fields else None
        self._lines.put(Line(time(), level, event, fields, "" if raised is None else traceback_text(raised)))

    def stop(self) -> None:
        """Write the queued lines; return without them if stderr accepts nothing for `FLUSH_SECONDS`."""
        self._stopping.set()
        self._lines.put(None)
        self._thread.join(FLUSH_SECONDS)

    def _run(self) -> None:
        try:
            while self._write([self._lines.get()]):
                self._stopping.wait(PAUSE_SECONDS)
        except (OSError, ValueError):
            # stderr is closed or has no reader, so the error cannot be reported anywhere.
            self._accepts_lines = False

    def _write(self, lines: list[Line | None]) -> bool:
        """Write these lines and some that follow; false after the last one."""
        with suppress(Empty):
            while len(lines) < LINES_AT_ONCE:
                lines.append(self._lines.get_nowait())
        texts = [self._text(line) for line in lines if line is not None]
        dropped, self._dropped = self._dropped, 0
        if dropped:
            event, fields = "log lines dropped, more than could be written", {"count": dropped}
            texts.append(self._text(Line(time(), "warning", event, fields)))
        self._file.write("".join(texts))
        self._file.flush()
        return None not in lines


@contextmanager
def logging_to_stderr(level: str, style: str = "text") -> Iterator[LogWriter]:
    """Within the block, log from `level` (debug, info, warning, error) on; all is written when it ends.

    Args:
        level: the least that is logged.
        style: a name of `STYLES`.
    """
    writer = LogWriter(sys.stderr, level, style)
    try:
        with logger.lines_to(writer):
            yield writer
    finally:
        writer.stop()
