"""Timers and a clock that a test moves."""

from collections.abc import Callable
from typing import cast

from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.timers.wheel import TimerWheel

BEGIN_MS = 1_000_000


class ManualScheduler:
    """A timing wheel without an event loop."""

    def __init__(self) -> None:
        self._now_ms = BEGIN_MS
        self._wheel = TimerWheel(BEGIN_MS)
        self._on_due: list[Callable[[object, int], None]] = []

    @property
    def as_loop_scheduler(self) -> LoopScheduler:
        return cast(LoopScheduler, self._wheel)

    @property
    def has_timers(self) -> bool:
        return self._wheel.next_deadline_ms() >= 0

    def now_ms(self) -> int:
        return self._now_ms

    def on_due(self, handler: Callable[[object, int], None]) -> None:
        self._on_due.append(handler)

    def advance(self, ms: int) -> None:
        """Let time pass; each timer fires at its own time."""
        until_ms = self._now_ms + ms
        while 0 <= (due_ms := self._wheel.next_deadline_ms()) <= until_ms:
            self._now_ms = max(due_ms, self._now_ms)
            for key in self._wheel.advance(self._now_ms):
                for handler in self._on_due:
                    handler(key, self._now_ms)
        self._now_ms = until_ms
        self._wheel.advance(until_ms)
