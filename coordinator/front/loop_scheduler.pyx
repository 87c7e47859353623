"""Runs end-of-iteration steps of the event loop and dispatches due timers. Compiled: each iteration goes this way."""

from libc.stdint cimport int64_t

from coordinator.timers.wheel cimport TimerWheel

from coordinator.logger import logger

STALL_MS = 250
TIMER_DELAY_MS_MAX = 24 * 3600 * 1000

cdef int64_t STALL = STALL_MS
cdef int64_t DELAY_MAX = TIMER_DELAY_MS_MAX


cdef class LoopScheduler:
    cdef object loop
    cdef public object call_soon
    cdef TimerWheel wheel
    cdef object now_ms
    cdef list end_steps
    cdef list handlers                  # of due timers
    cdef dict by_type                   # class of keys → the handlers that get them
    cdef bint is_requested
    cdef object timer
    cdef int64_t timer_deadline_ms
    cdef public bint is_abandoned

    def __init__(self, loop, TimerWheel wheel not None, now_ms):
        self.loop, self.call_soon, self.wheel, self.now_ms = loop, loop.call_soon, wheel, now_ms
        self.end_steps, self.handlers, self.by_type = [], [], {}
        self.timer_deadline_ms = -1

    def on_iteration_end(self, step):
        self.end_steps.append(step)

    def on_due(self, handler):
        self.handlers.append(handler)
        self.by_type.clear()

    cpdef int request_iteration(self) except -1:
        if not self.is_requested:
            self.is_requested = True
            self.loop.call_soon(self._end)
        return 0

    def start(self, key, int64_t deadline_ms):
        if not 0 <= self.timer_deadline_ms <= deadline_ms:
            self.request_iteration()  # else the loop wakes up before, and sees to it then
        return self.wheel.start(key, deadline_ms)

    def cancel(self, timer):
        return self.wheel.cancel(timer)

    def stop(self):
        if self.timer is not None:
            self.timer.cancel()

    def abandon(self):
        self.stop()
        self.is_abandoned = True

    def run_until(self, int64_t until_ms, set_time, before_due, timers_at_most):
        cdef int64_t due_ms
        for _ in range(timers_at_most):
            self._end_until_quiet()
            due_ms = self.wheel.next_deadline_ms()
            if not 0 <= due_ms <= until_ms:
                set_time(until_ms)
                self._advance()
                self._end_until_quiet()
                return True
            set_time(due_ms)
            before_due(due_ms)
            self._advance()
        return False

    def _end_until_quiet(self):
        while self.is_requested:
            self._end()

    cpdef int _end(self) except -1:
        cdef int64_t due_ms
        self.is_requested = False
        if self.is_abandoned:
            return 0
        now_ms = self.now_ms()
        for step in self.end_steps:
            try:
                step(now_ms)
            except Exception:
                # The other steps, and the timer for the next wake-up, must not be lost.
                logger.exception("unhandled exception in an end-of-iteration step; continuing with the next step")
        due_ms = self.wheel.next_deadline_ms()
        if due_ms != self.timer_deadline_ms:
            self.set_timer(due_ms, now_ms)
        return 0

    cdef int set_timer(self, int64_t due_ms, int64_t now_ms) except -1:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.timer_deadline_ms = due_ms
        if due_ms >= 0:
            delay_ms = min(max(due_ms - now_ms, 0), DELAY_MAX)
            self.timer = self.loop.call_later(<double>delay_ms / 1000, self._wake_up, due_ms)
        return 0

    def fire_due(self):
        cdef int64_t now_ms = self.now_ms(), due_ms = self.wheel.next_deadline_ms()
        if 0 <= due_ms <= now_ms <= due_ms + STALL and not self.is_abandoned:
            self.request_iteration()
            self.fire(now_ms)

    def _wake_up(self, int64_t due_ms):
        if <int64_t>self.now_ms() - due_ms > STALL:
            # The loop was blocked. After two more iterations, the data in the sockets has been read.
            self.loop.call_soon(self.loop.call_soon, self._advance)
        else:
            self._advance()

    cpdef int _advance(self) except -1:
        if self.timer is not None:
            self.timer.cancel()
        self.timer, self.timer_deadline_ms = None, -1
        self.fire(self.now_ms())
        return self._end()

    cdef int fire(self, now_ms) except -1:
        for key in self.wheel.advance(now_ms):
            handlers = self.by_type.get(type(key))
            if handlers is None:
                handlers = self.by_type[type(key)] = [
                    handler for handler in self.handlers if gets_keys(handler, type(key))
                ]
            for handler in handlers:
                try:
                    handler(key, now_ms)
                except Exception:
                    logger.exception("unhandled exception in a timer handler; the timer is lost", key=str(key))
        return 0


def gets_keys(handler, key_type):
    """Whether a handler of due timers gets keys of this class."""
    owned = getattr(getattr(handler, "__self__", None), "timer_keys", None)
    return owned is None or key_type in owned
