"""Clocks. Only the runtime holds one; everything below it is told the time as an argument."""

import time
from typing import Protocol

NANOSECONDS_PER_MS = 1_000_000


class Clock(Protocol):
    """Two readings of time, both in whole milliseconds."""

    def now_ms(self) -> int:
        """Wall time since the Unix epoch: for stored timestamps. It may step in either direction."""

    def monotonic_ms(self) -> int:
        """Time that never goes back, from an arbitrary start: for deadlines."""


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // NANOSECONDS_PER_MS

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // NANOSECONDS_PER_MS


class VirtualClock:
    """Stands still until it is told to move, so that a test can look at any millisecond."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    def advance(self, ms: int) -> None:
        """Let time pass on both clocks.

        Raises:
            ValueError: `ms` is negative.
        """
        if ms < 0:
            raise ValueError(f"time cannot pass backwards: {ms} ms")
        self._now_ms += ms
        self._monotonic_ms += ms

    def step_wall(self, ms: int) -> None:
        """Correct the wall clock, in either direction, while no time passes: what NTP or an operator does."""
        self._now_ms += ms
