"""Writes the log lines of the server in a separate thread, so that a blocked stderr delays no client.

Rendering a line costs as much as a tenth of a rebalance, so a burst of them is spread over time, and what is more than
the queue holds is dropped and counted.
"""

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from queue import Empty, Full, Queue
from threading import Event, Thread
from time import time
from typing import Any, Final, TextIO

import structlog

from coordinator.logger import logger
from coordinator.printable import printable, printable_traceback

LINES_QUEUED_MAX: Final = 10_000
LINES_AT_ONCE: Final = 50
PAUSE_SECONDS: Final = 0.05
"""After up to `LINES_AT_ONCE`: 1,000 lines a second take 2 % of a core."""

FLUSH_SECONDS: Final = 2
"""How long the end of the process waits for a reader of stderr."""

Line = MutableMapping[str, Any]


class LogWriter:
    """Takes lines in the thread of the event loop without waiting, and writes them in its own."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._lines: Queue[Line | None] = Queue(LINES_QUEUED_MAX)
        self._render = structlog.dev.ConsoleRenderer(colors=file.isatty(), sort_keys=False)
        self._dropped = 0
        self.lines_dropped = 0
        """Since the start; `_dropped` are those that the log does not tell of yet."""
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    def enqueue(self, logger: Any, method: str, line: Line) -> Line:
        """The last processor of structlog's chain: queue the line, or count it as dropped."""
        line["timestamp"] = time()
        try:
            self._lines.put_nowait(line)
        except Full:
            self._dropped += 1
            self.lines_dropped += 1
        raise structlog.DropEvent

    def stop(self) -> None:
        """Write the queued lines; return without them if stderr accepts nothing for `FLUSH_SECONDS`."""
        self._stopping.set()
        with suppress(Full):
            self._lines.put(None, timeout=FLUSH_SECONDS)
        self._thread.join(FLUSH_SECONDS)

    def _run(self) -> None:
        try:
            while self._write([self._lines.get()]):
                self._stopping.wait(PAUSE_SECONDS)
        except (OSError, ValueError):
            # stderr is closed or has no reader, so the error cannot be reported anywhere.
            self._lines = Queue(1)

    def _write(self, lines: list[Line | None]) -> bool:
        """Write these lines and some that follow; false after the last one."""
        with suppress(Empty):
            while len(lines) < LINES_AT_ONCE:
                lines.append(self._lines.get_nowait())
        rendered = [self._text(line) for line in lines if line is not None]
        dropped, self._dropped = self._dropped, 0
        if dropped:
            line = {"event": "log lines dropped, more than could be written", "count": dropped, "timestamp": time()}
            rendered.append(self._text(line | {"level": "warning"}))
        self._file.write("".join(rendered))
        self._file.flush()
        return None not in lines

    def _text(self, line: Line) -> str:
        for key, value in line.items():
            # What clients send must not move the cursor or make a line look like two.
            if isinstance(value, str):
                line[key] = printable_traceback(value) if key == "exception" else printable(value)
        line["timestamp"] = datetime.fromtimestamp(line["timestamp"], UTC).isoformat(timespec="milliseconds")
        return f"{self._render(None, '', line)}\n"


@contextmanager
def logging_to_stderr(level: str) -> Iterator[LogWriter]:
    """Within the block, log from `level` (debug, info, warning, error) on; all is written when it ends."""
    writer = LogWriter(sys.stderr)
    structlog.configure(
        processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info, writer.enqueue],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    try:
        with logger.lines_from(logging.getLevelNamesMapping()[level.upper()]):
            yield writer
    finally:
        writer.stop()
