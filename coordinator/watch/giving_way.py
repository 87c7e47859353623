"""Threads of a node that watch give way to the one that passes requests on.

Python lets one thread run at a time, and one that computes gives up its turn only after 5 ms, for each event that
another one waits to handle. So who watches computes for a millisecond at most, and then sleeps for as long: meanwhile
what clients ask passes at once. More is told later, and nothing is passed on later.
"""

from collections.abc import Callable
from time import monotonic, sleep
from typing import Final

WORK_SECONDS: Final = 0.001
PAUSE_SECONDS_MAX: Final = 0.005
"""What took longer than that mostly waited for brokers."""


class GivesWay:
    """Call it between two small pieces of work of one thread."""

    def __init__(self, pause: Callable[[float], object] = sleep, clock: Callable[[], float] = monotonic) -> None:
        self._pause, self._clock = pause, clock
        self._began = clock()

    def __call__(self) -> None:
        worked = self._clock() - self._began
        if worked >= WORK_SECONDS:
            self._pause(min(worked, PAUSE_SECONDS_MAX))
            self._began = self._clock()


def never() -> None:
    """Of who watches in a process of its own."""
