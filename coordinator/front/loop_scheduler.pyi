import asyncio
from collections.abc import Callable
from typing import Final

from coordinator.timers.wheel import TimerWheel

STALL_MS: Final = 250
"""If the loop is late by more than this, data that clients sent meanwhile is read before any timer fires."""

TIMER_DELAY_MS_MAX: Final = 86_400_000
"""The maximum delay of a timer of the event loop, which is set again for a later deadline. asyncio has the same limit:
with longer delays, an event loop may raise an error or call back at once."""

class LoopScheduler:
    """Wakes the event loop at the next deadline of the timing wheel, which holds all timers.

    `request_iteration` schedules the end-of-iteration steps. Further calls before they run have no effect.
    """

    call_soon: Callable[[Callable[[], None]], object]
    is_abandoned: bool
    """Whether nothing is done any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wheel: TimerWheel, now_ms: Callable[[], int]) -> None: ...
    def on_iteration_end(self, step: Callable[[int], None]) -> None:
        """Call `step(now_ms)` at the end of each requested iteration, in the order of registration."""

    def on_due(self, handler: Callable[[object, int], None]) -> None:
        """Call `handler(key, now_ms)` for each due timer whose key is its own, in the order of registration.

        A method gets keys of the classes that its object names as `timer_keys`; any other handler gets all keys.
        """

    def request_iteration(self) -> None: ...
    def start(self, key: object, deadline_ms: int) -> int:
        """Start a timer, for which the loop wakes up; return its number."""

    def cancel(self, timer: int) -> bool:
        """Cancel a timer by its number; return False if it has fired or has been cancelled."""

    def stop(self) -> None: ...
    def abandon(self) -> None:
        """Do nothing any more, not even what is requested already: the logs are closed, or about to be."""

    def run_until(
        self, until_ms: int, set_time: Callable[[int], None], before_due: Callable[[int], None], timers_at_most: int
    ) -> bool:
        """Let the time up to `until_ms` pass at once: each timer fires at its own time, in order, with what follows.

        `set_time` sets the clock of this scheduler, `before_due` is called before the timers of a time fire. No data is
        read meanwhile, and this counts as no stall of the loop. Returns False if `timers_at_most` deadlines were not
        enough; the clock then shows the last of them.
        """

    def fire_due(self) -> None:
        """Let timers fire that are due, before data that comes now is read: what they change is true for it.

        The timer of the event loop comes some milliseconds late. If the loop was blocked, it is left to that timer:
        data that others have sent meanwhile must be read first.
        """

def gets_keys(handler: Callable[[object, int], None], key_type: type) -> bool:
    """Whether a handler of due timers gets keys of this class."""
