"""The logger of all modules of the server: what they log goes to the sink of the process, or to that of the thread."""

import logging
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from coordinator.printable import printable_traceback

LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
"""Name of a level → its number in the standard library."""

CALLS_BETWEEN: Final = 3
"""From `findCaller` to who logs: `write`, and one function of this module."""


class Sink(Protocol):
    """Takes the lines that are logged."""

    def is_enabled_for(self, level: int) -> bool:
        """Whether a line of this level (`logging.INFO` and so on) is kept."""

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Take a line, or leave it out if its level is not kept.

        `fields` has `exc_info` if an exception belongs to the line: the exception, or True for the one that is being
        handled.
        """


class StandardLogging:
    """The logger `coordinator` of the standard library, whose handlers and levels belong to the application."""

    def __init__(self) -> None:
        self._logger = logging.getLogger("coordinator")

    def is_enabled_for(self, level: int) -> bool:
        return self._logger.isEnabledFor(level)

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        number = LEVELS[level]
        if not self._logger.isEnabledFor(number):
            return
        text = " ".join(f"{name}={value!r}" for name, value in fields.items() if name != "exc_info")
        raised = raised_of(fields.get("exc_info"))
        path, line, function, _ = self._logger.findCaller(stacklevel=CALLS_BETWEEN)
        information = None if raised is None else (type(raised), raised, raised.__traceback__)
        record = self._logger.makeRecord(
            self._logger.name, number, path, line, "%s %s", (event, text), information, func=function
        )
        if raised is not None:
            record.exc_text = traceback_text(raised)  # handlers take this text in place of their own
        self._logger.handle(record)


def raised_of(exc_info: Any) -> BaseException | None:
    """The exception of a line, by its field `exc_info`; None if it has none."""
    if not exc_info:
        return None
    return exc_info if isinstance(exc_info, BaseException) else sys.exception()


def traceback_text(raised: BaseException) -> str:
    """The traceback of an exception, harmless for a terminal: clients may have chosen a part of it."""
    return printable_traceback("".join(traceback.format_exception(raised)).rstrip())


class Logger:
    """Hands each line to the sink of the thread, or else to that of the process."""

    def __init__(self) -> None:
        self._sink: Sink = StandardLogging()
        self._of_threads: dict[int, Sink] = {}

    def debug(self, event: str, **fields: Any) -> None:
        self.sink_here().write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        (self.sink_here() if self._of_threads else self._sink).write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self.sink_here().write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self.sink_here().write("error", event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """Log at the level error, with the exception that is being handled."""
        self.sink_here().write("error", event, {"exc_info": True, **fields})

    def is_enabled_for(self, level: int) -> bool:
        """For lines that cost something to put together."""
        return (self.sink_here() if self._of_threads else self._sink).is_enabled_for(level)

    def sink_here(self) -> Sink:
        """That of this thread, or else that of the process."""
        return self._of_threads.get(threading.get_ident(), self._sink) if self._of_threads else self._sink

    @contextmanager
    def lines_to(self, sink: Sink) -> Iterator[None]:
        """Within the block, what the process logs goes to `sink`."""
        before, self._sink = self._sink, sink
        try:
            yield
        finally:
            self._sink = before

    @contextmanager
    def lines_of_this_thread_to(self, sink: Sink) -> Iterator[None]:
        """Within the block, lines that this thread logs go to `sink`."""
        thread = threading.get_ident()
        self._of_threads[thread] = sink
        try:
            yield
        finally:
            del self._of_threads[thread]


logger: Final = Logger()
lines_of_this_thread_to: Final = logger.lines_of_this_thread_to
