"""The interface of timers: a timing wheel, or what wakes up the event loop for one."""

from typing import Protocol


class Timers(Protocol):
    """Timers of the event loop; the loop hands a key that is due to its owner."""

    def start(self, key: object, deadline_ms: int) -> int:
        """Start a timer that is due at that time, in ms since the epoch. Returns its id."""


class CancellableTimers(Timers, Protocol):
    """Timers that can be stopped before they are due."""

    def cancel(self, timer: int) -> bool:
        """Stop the timer with this id; False if it is not running."""
