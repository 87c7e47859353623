"""Logs that the wall clock of the system was set, or that the system was suspended."""

from dataclasses import dataclass
from typing import Final

from coordinator.logger import logger
from coordinator.server.loop_scheduler import LoopScheduler
from coordinator.wall_time import WallTime

CHECK_INTERVAL_MS: Final = 10_000
STEP_LINE: Final = "the wall clock was set; records and events have the new time, deadlines stay"


@dataclass(frozen=True, slots=True)
class WallClockKey:
    """The timer of the next check."""


class WallClockWatch:
    """Lets the time of records and events follow the wall clock: before operations are handled, and while none come."""

    def __init__(self, scheduler: LoopScheduler, wall: WallTime) -> None:
        self._scheduler = scheduler
        self._wall = wall

    def start(self, now_ms: int) -> None:
        """Start the timer of the next check."""
        self._scheduler.start(WallClockKey(), now_ms + CHECK_INTERVAL_MS)

    def check(self, now_ms: int) -> None:
        """Follow the wall clock, and log a step since the last check."""
        step_ms = self._wall.check()
        if step_ms:
            logger.warning(STEP_LINE, step_ms=step_ms)

    def due(self, key: object, now_ms: int) -> None:
        """Check, if this is the timer for it."""
        if isinstance(key, WallClockKey):
            self.check(now_ms)
            self.start(now_ms)
