class TimerWheel:
    """Returns the timers that are due. It reads no clock: the caller passes the time to `advance`."""

    def __init__(self, start_ms: int = 0) -> None: ...
    @property
    def now_ms(self) -> int:
        """The latest time passed to `advance`, or `start_ms`."""
    @property
    def pending(self) -> int:
        """The number of timers that were started and have neither fired nor been cancelled."""
    @property
    def capacity(self) -> int:
        """The number of timers for which memory is allocated: the most that were pending at once."""
    def start(self, key: object, deadline_ms: int) -> int:
        """Start a timer and return its number, which is never 0 and never reused.

        The first `advance` whose `now_ms` is at least `deadline_ms` returns the key.

        Raises:
            MemoryError: there is no memory for another timer.
        """
    def restart(self, timer: int, deadline_ms: int) -> bool:
        """Change the deadline of a pending timer; return False if it fired or was cancelled before."""
    def cancel(self, timer: int) -> bool:
        """Cancel a pending timer and drop its key; return False if it fired or was cancelled before."""
    def advance(self, now_ms: int) -> list[object]:
        """Move to `now_ms` and return the keys of all timers due by then, earliest deadline first.

        Timers with equal deadlines are in the order in which they were started. An earlier `now_ms` than the last one
        counts as the last one.
        """
    def next_deadline_ms(self) -> int:
        """Return a time before which no timer is due, or -1 if none is pending. The caller may sleep until then.

        It is the earliest deadline, or an earlier time if a timer before it in the same slot was cancelled. If a
        deadline has passed already, it is `now_ms`.
        """
