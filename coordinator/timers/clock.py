"""Clocks. Only the outermost layer holds one; everything below it is told the time as an argument."""

import time
from typing import Protocol

NANOSECONDS_PER_MS = 1_000_000


class Clock(Protocol):
    """One reading for timestamps and deadlines alike, so that they can be compared."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch. Never goes back."""


class SystemClock:
    """The machine's wall time when it was made, and the time that has passed since.

    A step of the wall clock (NTP, an operator) is not followed: it would expire every session at once, or none for as
    long as it went back. So timestamps are off by that step until the next start.
    """

    def __init__(self) -> None:
        self._epoch_ns = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        return (self._epoch_ns + time.monotonic_ns()) // NANOSECONDS_PER_MS


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
