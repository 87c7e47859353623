class SystemClock:
    """The wall-clock time at which it was created plus the monotonic time since.

    It does not follow steps of the wall clock (by NTP or an operator). A step forward would expire every session at
    once, and a step back would keep sessions alive. So timestamps are off by the step until the next start.
    """

    def __init__(self) -> None: ...
    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch. Never goes back."""
