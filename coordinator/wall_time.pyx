"""The time that people and records are told.

Compiled, because each iteration of the event loop follows the wall clock.
"""

from libc.stdint cimport int64_t

cdef enum:
    STEP_MS_MIN = 1_000                 # smaller changes are those of a clock that NTP slews

STEP_MS = STEP_MS_MIN


def _ignore(step_ms):
    """Nobody wants to know of steps."""


cdef class WallTime:
    def __init__(self, wall_ms=None, on_step=_ignore):
        self.wall_ms = wall_ms
        self.on_step = [on_step]

    def add_step_listener(self, listener not None):
        self.on_step.append(listener)

    def follow(self, int64_t now_ms):
        cdef int64_t change_ms
        if self.wall_ms is None:
            return
        change_ms = <int64_t>self.wall_ms() - now_ms - self.step_ms
        if change_ms >= STEP_MS_MIN or change_ms <= -STEP_MS_MIN:
            self.step_ms += change_ms
            for listener in self.on_step:
                listener(change_ms)

    def at(self, int64_t now_ms):
        return now_ms + self.step_ms


ONE_CLOCK = WallTime()
