"""Steps that wait for a moment."""

from collections.abc import Callable
from functools import partial

import msgspec

from coordinator.runtime.slices import Steps, awaited
from coordinator.timers.timers import Timers


class DelayKey(msgspec.Struct, frozen=True):
    """The key of a timer at which steps go on."""

    end: Callable[[None], None]


class Delays:
    """Lets steps wait on the timers of the event loop."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers

    def until(self, deadline_ms: int) -> Steps[None]:
        """Wait until then, in milliseconds since the epoch."""
        return awaited(partial(self._start, deadline_ms))

    def _start(self, deadline_ms: int, end: Callable[[None], None]) -> None:
        self._timers.start(DelayKey(end), deadline_ms)

    timer_keys = (DelayKey,)

    def due(self, key: object, now_ms: int) -> None:
        """A timer is due, perhaps one of these."""
        if isinstance(key, DelayKey):
            key.end(None)
