"""Clocks. Only the outermost layer holds one; everything below it is told the time as an argument."""

from typing import Protocol


class Clock(Protocol):
    """One reading for timestamps and deadlines alike, so that they can be compared."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch. Never goes back."""


class VirtualClock:
    """Stands still until it is told to move, so that a test can look at any millisecond."""

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
            raise ValueError(f"time cannot pass backwards: {ms} ms")
        self._now_ms += ms
