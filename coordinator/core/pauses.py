"""When the coordinator itself stood still: it heard nobody then, so a member's silence says less."""

from collections import deque
from typing import Final

PAUSES_KEPT: Final = 100
AFTER_PAUSE_MS: Final = 1_000
"""What the event loop finds within this time after a pause may have happened in it."""


class Pauses:
    """The newest pauses of the event loop. Times are those of deadlines, in milliseconds."""

    def __init__(self) -> None:
        self._pauses: deque[tuple[int, int]] = deque(maxlen=PAUSES_KEPT)

    def add(self, from_ms: int, until_ms: int) -> None:
        self._pauses.append((from_ms, until_ms))

    def within(self, from_ms: int, until_ms: int) -> int:
        """For how many milliseconds of this time the coordinator stood still."""
        return sum(max(0, min(until_ms, end_ms) - max(from_ms, start_ms)) for start_ms, end_ms in self._pauses)

    def around(self, time_ms: int, since_ms: int) -> int | None:
        """How long the pause was in which something may have happened that was found at this time; None: in none.

        Of one that was there since `since_ms`: it has seen no pause that had ended by then.
        """
        lengths_ms = (
            end_ms - start_ms
            for start_ms, end_ms in self._pauses
            if start_ms <= time_ms <= end_ms + AFTER_PAUSE_MS and end_ms >= since_ms
        )
        return max(lengths_ms, default=None)


NO_PAUSES: Final = Pauses()
