"""Runs the steps at the end of each iteration of the event loop, and the handlers of due timers."""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from coordinator.timers.wheel import TimerWheel

log = structlog.get_logger()

STALL_MS: Final = 250
"""After a pause this long, what clients sent meanwhile is read before any timer counts as due."""

ALARM_MS_AT_MOST: Final = 24 * 3600 * 1000
"""An alarm for a later deadline rings early and is set again. asyncio limits its delays to a day, too: an event loop
may raise for longer ones or let them fire at once."""


class LoopScheduler:
    """One wheel for all timers; the loop wakes at its next deadline.

    `request_iteration` asks for an end of turn; it costs nothing to ask twice.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, wheel: TimerWheel, now_ms: Callable[[], int]) -> None:
        self._loop = loop
        self._wheel = wheel
        self._now_ms = now_ms
        self._at_end: list[Callable[[int], None]] = []
        self._on_due: list[Callable[[object, int], None]] = []
        self._woken = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_deadline_ms = -1

    def on_iteration_end(self, step: Callable[[int], None]) -> None:
        """Call `step(now_ms)` at the end of every turn that something happened in, in the order of registration."""
        self._at_end.append(step)

    def on_due(self, handler: Callable[[object, int], None]) -> None:
        """Call `handler(key, now_ms)` for each due timer; it passes over keys that are not its own."""
        self._on_due.append(handler)

    def request_iteration(self) -> None:
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self._end)

    def start(self, key: object, deadline_ms: int) -> int:
        """Start a timer on the wheel and see to it that the loop wakes for it; returns its number."""
        self.request_iteration()
        return self._wheel.start(key, deadline_ms)

    def cancel(self, timer: int) -> bool:
        """Cancel a timer by its number; False if it fired or was cancelled before."""
        return self._wheel.cancel(timer)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self._woken = False
        now_ms = self._now_ms()
        for step in self._at_end:
            try:
                step(now_ms)
            except Exception:
                # An exception must not prevent the other steps, nor the alarm for the next deadline.
                log.exception("unhandled exception at the end of a loop iteration")
        self._set_timer(now_ms)

    def _set_timer(self, now_ms: int) -> None:
        due_ms = self._wheel.next_deadline_ms()
        if due_ms == self._timer_deadline_ms:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_deadline_ms = due_ms
        if due_ms >= 0:
            delay_ms = min(max(due_ms - now_ms, 0), ALARM_MS_AT_MOST)
            self._timer = self._loop.call_later(delay_ms / 1000, self._wake_up, due_ms)

    def _wake_up(self, due_ms: int) -> None:
        if self._now_ms() - due_ms > STALL_MS:
            # The loop was blocked: two iterations later, what waits in the sockets has been read.
            self._loop.call_soon(self._loop.call_soon, self._advance)
        else:
            self._advance()

    def _advance(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_deadline_ms = None, -1
        now_ms = self._now_ms()
        for key in self._wheel.advance(now_ms):
            for handler in self._on_due:
                try:
                    handler(key, now_ms)
                except Exception:
                    log.exception("unhandled exception in a timer", key=str(key))
        self._end()
