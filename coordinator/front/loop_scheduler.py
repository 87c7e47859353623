"""Runs end-of-iteration steps of the event loop and dispatches due timers."""

import asyncio
from collections.abc import Callable
from typing import Final

from coordinator.logger import logger
from coordinator.timers.wheel import TimerWheel

STALL_MS: Final = 250
"""If the loop is late by more than this, data that clients sent meanwhile is read before any timer fires."""

TIMER_DELAY_MS_MAX: Final = 24 * 3600 * 1000
"""The maximum delay of a timer of the event loop, which is set again for a later deadline. asyncio has the same limit:
with longer delays, an event loop may raise an error or call back at once."""


class LoopScheduler:
    """Wakes the event loop at the next deadline of the timing wheel, which holds all timers.

    `request_iteration` schedules the end-of-iteration steps. Further calls before they run have no effect.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, wheel: TimerWheel, now_ms: Callable[[], int]) -> None:
        self._loop = loop
        self.call_soon: Callable[[Callable[[], None]], object] = loop.call_soon
        self._wheel = wheel
        self._now_ms = now_ms
        self._end_steps: list[Callable[[int], None]] = []
        self._on_due: list[Callable[[object, int], None]] = []
        self._by_type: dict[type, list[Callable[[object, int], None]]] = {}
        """Class of keys → the handlers that get them."""
        self._is_requested = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_deadline_ms = -1
        self.is_abandoned = False
        """Whether nothing is done any more."""

    def on_iteration_end(self, step: Callable[[int], None]) -> None:
        """Call `step(now_ms)` at the end of each requested iteration, in the order of registration."""
        self._end_steps.append(step)

    def on_due(self, handler: Callable[[object, int], None]) -> None:
        """Call `handler(key, now_ms)` for each due timer whose key is its own, in the order of registration.

        A method gets keys of the classes that its object names as `timer_keys`; any other handler gets all keys.
        """
        self._on_due.append(handler)
        self._by_type.clear()

    def request_iteration(self) -> None:
        if not self._is_requested:
            self._is_requested = True
            self._loop.call_soon(self._end)

    def start(self, key: object, deadline_ms: int) -> int:
        """Start a timer, for which the loop wakes up; return its number."""
        if not 0 <= self._timer_deadline_ms <= deadline_ms:
            self.request_iteration()  # else the loop wakes up before, and sees to it then
        return self._wheel.start(key, deadline_ms)

    def cancel(self, timer: int) -> bool:
        """Cancel a timer by its number; return False if it has fired or has been cancelled."""
        return self._wheel.cancel(timer)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def abandon(self) -> None:
        """Do nothing any more, not even what is requested already: the logs are closed, or about to be."""
        self.stop()
        self.is_abandoned = True

    def run_until(
        self, until_ms: int, set_time: Callable[[int], None], before_due: Callable[[int], None], timers_at_most: int
    ) -> bool:
        """Let the time up to `until_ms` pass at once: each timer fires at its own time, in order, with what follows.

        `set_time` sets the clock of this scheduler, `before_due` is called before the timers of a time fire. No data is
        read meanwhile, and this counts as no stall of the loop. Returns False if `timers_at_most` deadlines were not
        enough; the clock then shows the last of them.
        """
        for _ in range(timers_at_most):
            self._end_until_quiet()
            due_ms = self._wheel.next_deadline_ms()
            if not 0 <= due_ms <= until_ms:
                set_time(until_ms)
                self._advance()
                self._end_until_quiet()
                return True
            set_time(due_ms)
            before_due(due_ms)
            self._advance()
        return False

    def _end_until_quiet(self) -> None:
        while self._is_requested:
            self._end()

    def _end(self) -> None:
        self._is_requested = False
        if self.is_abandoned:
            return
        now_ms = self._now_ms()
        for step in self._end_steps:
            try:
                step(now_ms)
            except Exception:
                # The other steps, and the timer for the next wake-up, must not be lost.
                logger.exception("unhandled exception in an end-of-iteration step; continuing with the next step")
        due_ms = self._wheel.next_deadline_ms()
        if due_ms != self._timer_deadline_ms:
            self._set_timer(due_ms, now_ms)

    def _set_timer(self, due_ms: int, now_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_deadline_ms = due_ms
        if due_ms >= 0:
            delay_ms = min(max(due_ms - now_ms, 0), TIMER_DELAY_MS_MAX)
            self._timer = self._loop.call_later(delay_ms / 1000, self._wake_up, due_ms)

    def fire_due(self) -> None:
        """Let timers fire that are due, before data that comes now is read: what they change is true for it.

        The timer of the event loop comes some milliseconds late. If the loop was blocked, it is left to that timer:
        data that others have sent meanwhile must be read first.
        """
        now_ms, due_ms = self._now_ms(), self._wheel.next_deadline_ms()
        if 0 <= due_ms <= now_ms <= due_ms + STALL_MS and not self.is_abandoned:
            self.request_iteration()
            self._fire(now_ms)

    def _wake_up(self, due_ms: int) -> None:
        if self._now_ms() - due_ms > STALL_MS:
            # The loop was blocked. After two more iterations, the data in the sockets has been read.
            self._loop.call_soon(self._loop.call_soon, self._advance)
        else:
            self._advance()

    def _advance(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_deadline_ms = None, -1
        self._fire(self._now_ms())
        self._end()

    def _fire(self, now_ms: int) -> None:
        for key in self._wheel.advance(now_ms):
            handlers = self._by_type.get(type(key))
            if handlers is None:
                handlers = self._by_type[type(key)] = [
                    handler for handler in self._on_due if gets_keys(handler, type(key))
                ]
            for handler in handlers:
                try:
                    handler(key, now_ms)
                except Exception:
                    logger.exception("unhandled exception in a timer handler; the timer is lost", key=str(key))


def gets_keys(handler: Callable[[object, int], None], key_type: type) -> bool:
    """Whether a handler of due timers gets keys of this class."""
    owned = getattr(getattr(handler, "__self__", None), "timer_keys", None)
    return owned is None or key_type in owned
