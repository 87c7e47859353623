"""Follows the wall clock while no requests come, and logs that it was set or that the system was suspended."""

from typing import Final

import msgspec

from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.logger import logger
from coordinator.wall_time import WallTime

CHECK_INTERVAL_MS: Final = 10_000
STEP_LINE: Final = "the wall clock was set; records and events have the new time, deadlines stay"


class WallClockKey(msgspec.Struct, frozen=True):
    """The timer of the next check."""


def log_step(step_ms: int) -> None:
    logger.warning(STEP_LINE, step_ms=step_ms)


class WallClockWatch:
    """Has the wall clock followed at least every `CHECK_INTERVAL_MS`."""

    def __init__(self, scheduler: LoopScheduler, wall: WallTime) -> None:
        self._scheduler = scheduler
        self._wall = wall

    def start(self, now_ms: int) -> None:
        """Start the timer of the next check."""
        self._scheduler.start(WallClockKey(), now_ms + CHECK_INTERVAL_MS)

    timer_keys = (WallClockKey,)

    def due(self, key: object, now_ms: int) -> None:
        """Check, if this is the timer for it."""
        if isinstance(key, WallClockKey):
            self._wall.follow(now_ms)
            self.start(now_ms)
