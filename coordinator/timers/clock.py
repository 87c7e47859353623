"""Clocks. Only the outermost layer has one; all other code gets the time as an argument."""

from typing import Protocol


class Clock(Protocol):
    """One source for timestamps and deadlines, so that they can be compared."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch. Never goes back."""


class VirtualClock:
    """A clock that only a test advances, so that it can examine any millisecond."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Let time pass.

        Raises:
            ValueError: `ms` is negative.
        """
        if ms < 0:
            raise ValueError(f"time cannot go back: {ms} ms")
        self._now_ms += ms


class AdvanceableClock:
    """Goes with another clock, and can be put ahead of it; never goes back."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_ms = 0
        self._standing_at_ms: int | None = None

    def now_ms(self) -> int:
        if self._standing_at_ms is not None:
            return self._standing_at_ms
        return self._clock.now_ms() + self._ahead_ms

    def stand_at(self, now_ms: int) -> None:
        """Show this time, unless it is past, until the next call or `resume`."""
        self._standing_at_ms = max(self.now_ms(), now_ms)

    def resume(self) -> None:
        """Go on from the time at which the clock stands."""
        if self._standing_at_ms is not None:
            self._ahead_ms = max(self._ahead_ms, self._standing_at_ms - self._clock.now_ms())
            self._standing_at_ms = None
