class SystemClock:
    """The machine's wall time when it was made, and the time that has passed since.

    A step of the wall clock (NTP, an operator) is not followed: it would expire every session at once, or none for as
    long as it went back. So timestamps are off by that step until the next start.
    """

    def __init__(self) -> None: ...
    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch. Never goes back."""
