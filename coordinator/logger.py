"""The logger of all modules of the server. structlog, which takes long to import, is imported with the first line."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol


class Sink(Protocol):
    """Takes the lines that a thread logs, instead of structlog."""

    def is_enabled_for(self, level: int) -> bool:
        """Whether a line of this level (`logging.INFO` and so on) is kept."""

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """`fields` has `exc_info` if the exception that is being handled belongs to the line."""


_sinks: Final[dict[int, Sink]] = {}


class Logger:
    """Hands each line to structlog, or to the sink of the thread."""

    def __init__(self) -> None:
        self._level: int | None = None
        """The least level that structlog keeps; None: it has to be asked."""

    def debug(self, event: str, **fields: Any) -> None:
        _write("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        _write("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        _write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        _write("error", event, fields)

    def exception(self, event: str, **fields: Any) -> None:
        """Log at the level error, with the exception that is being handled."""
        _write("error", event, {"exc_info": True, **fields})

    def is_enabled_for(self, level: int) -> bool:
        """For lines that cost something to put together."""
        if _sinks and (sink := _sinks.get(threading.get_ident())) is not None:
            return sink.is_enabled_for(level)
        if self._level is not None:
            return level >= self._level
        return bool(_structlog().is_enabled_for(level))

    @contextmanager
    def lines_from(self, level: int) -> Iterator[None]:
        """Within the block, structlog is configured to keep lines of this level (`logging.INFO` and so on) and above.

        `is_enabled_for` is called at each change of a group, and structlog would take longer than the change.
        """
        before, self._level = self._level, level
        try:
            yield
        finally:
            self._level = before


def _write(level: str, event: str, fields: dict[str, Any]) -> None:
    sink = _sinks.get(threading.get_ident())
    if sink is None:
        getattr(_structlog(), level)(event, **fields)
    else:
        sink.write(level, event, fields)


def _structlog() -> Any:
    import structlog

    return structlog.get_logger()


@contextmanager
def lines_of_this_thread_to(sink: Sink) -> Iterator[None]:
    """Within the block, lines that this thread logs go to `sink`."""
    thread = threading.get_ident()
    _sinks[thread] = sink
    try:
        yield
    finally:
        del _sinks[thread]


logger: Final = Logger()
