"""What the code under test logs: kept, or thrown away."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from coordinator.logger import logger


class Discarded:
    """Takes lines from a level on, and keeps none."""

    def __init__(self, least: int = logging.DEBUG) -> None:
        self._least = least

    def is_enabled_for(self, level: int) -> bool:
        return level >= self._least

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        """Nobody reads it."""


class Captured:
    """Keeps each line as a dictionary of its `event`, its `log_level` and its fields."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def is_enabled_for(self, level: int) -> bool:
        return True

    def write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        self.lines.append({"event": event, "log_level": level} | fields)


@contextmanager
def capture_logs() -> Iterator[list[dict[str, Any]]]:
    """Within the block, the lines of all threads that have no sink of their own are kept."""
    captured = Captured()
    with logger.lines_to(captured):
        yield captured.lines
