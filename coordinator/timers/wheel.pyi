class TimerWheel:
    """Says which timers are due. Reads no clock: `now_ms` is what it was told last."""

    def __init__(self, start_ms: int = 0) -> None: ...
    @property
    def now_ms(self) -> int:
        """The latest time `advance` was given, or `start_ms`."""
    @property
    def pending(self) -> int:
        """Timers started that have neither fired nor been cancelled."""
    @property
    def capacity(self) -> int:
        """Timers for which memory is held: the most that were ever pending at once."""
    def start(self, key: object, deadline_ms: int) -> int:
        """Start a timer and return its number, never 0 and never given again.

        The key comes back from `advance` at the first call whose `now_ms` is not before `deadline_ms`.

        Raises:
            MemoryError: no room for one more timer.
        """
    def restart(self, timer: int, deadline_ms: int) -> bool:
        """Move a pending timer to another deadline; False if it fired or was cancelled before."""
    def cancel(self, timer: int) -> bool:
        """End a pending timer and drop its key; False if it fired or was cancelled before."""
    def advance(self, now_ms: int) -> list[object]:
        """Move to `now_ms` and return the keys of all timers due by then, earliest deadline first.

        Equal deadlines come in the order they were started. A time before the present one counts as the present one.
        """
    def next_deadline_ms(self) -> int:
        """A time before which nothing is due, to sleep until; -1 when nothing is pending.

        It is the earliest deadline itself, or earlier when a timer due before that one in the same slot was cancelled;
        `now_ms` when a deadline has passed already.
        """
