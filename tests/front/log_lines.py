"""The log lines of a test, as they were handed to the logger."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coordinator.logger import lines_of_this_thread_to


class LogLines:
    """Event and fields of each line from the level info on."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.problems: list[str] = []
        """The events from the level warning on."""

    def is_enabled_for(self, level: int) -> bool:
        return level >= logging.INFO

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if level not in ("debug", "info"):
            self.problems.append(event)
        if level != "debug":
            self.lines.append((event, fields))

    def of(self, event: str) -> list[dict[str, Any]]:
        return [fields for each, fields in self.lines if each == event]


@contextmanager
def log_lines() -> Iterator[LogLines]:
    """Within the block, what this thread logs is kept."""
    lines = LogLines()
    with lines_of_this_thread_to(lines):
        yield lines
