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
