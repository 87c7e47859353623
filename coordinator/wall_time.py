"""The time that people and records are told, for a time of the clock of the deadlines."""

from collections.abc import Callable
from typing import Final

STEP_MS: Final = 1_000
"""A change that counts. Smaller ones are those of a clock that NTP slews."""


class WallTime:
    """How far the wall clock was set since the start, or went on while the system was suspended.

    A time of the clock of the deadlines that leaves the process (in a record, an audit event, a response) is
    converted with `at`.
    """

    def __init__(self, now_ms: Callable[[], int] | None = None, wall_ms: Callable[[], int] | None = None) -> None:
        """`now_ms` is the clock of the deadlines, `wall_ms` the wall clock; without them both are the same."""
        self._now_ms = now_ms
        self._wall_ms = wall_ms
        self.step_ms = 0
        """What is added to a time of the clock of the deadlines. Only `check` changes it."""

    def check(self) -> int:
        """Follow the wall clock; return by how many milliseconds it was set since the last call."""
        if self._now_ms is None or self._wall_ms is None:
            return 0
        change_ms = self._wall_ms() - self._now_ms() - self.step_ms
        if -STEP_MS < change_ms < STEP_MS:
            return 0
        self.step_ms += change_ms
        return change_ms

    def at(self, now_ms: int) -> int:
        """The wall-clock time in milliseconds since the epoch."""
        return now_ms + self.step_ms


ONE_CLOCK: Final = WallTime()
"""Where there is no wall clock besides the clock of the deadlines."""
