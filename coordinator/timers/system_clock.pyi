class SystemClock:
    """The wall-clock time at which it was created plus the monotonic time since.

    It does not follow steps of the wall clock (by NTP or an operator). A step forward would expire every session at
    once, and a step back would keep sessions alive. For the time of records there is `wall_clock_ms`.
    """

    clock_id: int
    """Which of the system's clocks it reads."""

    def __init__(self, counts_suspension: bool = False) -> None:
        """`counts_suspension`: it goes on while the machine is suspended, where the system has such a clock."""

    def now_ms(self) -> int:
        """Milliseconds since the Unix epoch. Never goes back."""

def wall_clock_ms() -> int:
    """What the system's clock shows, in milliseconds since the Unix epoch. May go back."""
