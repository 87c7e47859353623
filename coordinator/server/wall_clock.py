"""Logs that the wall clock of the system was set, or that the system was suspended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from coordinator.logger import logger
from coordinator.server.loop_scheduler import LoopScheduler

CHECK_INTERVAL_MS: Final = 10_000
STEP_MS: Final = 1_000
"""A change that is logged. Smaller ones are those of a clock that NTP slews."""


@dataclass(frozen=True, slots=True)
class WallClockKey:
    """The timer of the next check."""


class WallClockWatch:
    """Compares the time of records with that of deadlines."""

    def __init__(self, scheduler: LoopScheduler, now_ms: Callable[[], int], wall_ms: Callable[[], int]) -> None:
        self._scheduler = scheduler
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self._ahead_ms = wall_ms() - now_ms()
        """How far the wall clock was ahead at the last check."""

    def start(self) -> None:
        """Start the timer of the next check."""
        self._scheduler.start(WallClockKey(), self._now_ms() + CHECK_INTERVAL_MS)

    def due(self, key: object, now_ms: int) -> None:
        """Log a step of the wall clock since the last check, if this is the timer for it."""
        if not isinstance(key, WallClockKey):
            return
        ahead_ms = self._wall_ms() - self._now_ms()
        step_ms, self._ahead_ms = ahead_ms - self._ahead_ms, ahead_ms
        if abs(step_ms) >= STEP_MS:
            logger.warning("the wall clock was set; records have the new time, deadlines stay", step_ms=step_ms)
        self.start()
