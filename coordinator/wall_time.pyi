from collections.abc import Callable
from typing import Final

STEP_MS: Final = 1_000
"""A change that counts. Smaller ones are those of a clock that NTP slews."""

class WallTime:
    """How far the wall clock was set since the start, or went on while the system was suspended.

    A time of the clock of the deadlines that leaves the process (in a record, an audit event, a response) is
    converted with `at`.
    """

    def __init__(self, wall_ms: Callable[[], int] | None = None, on_step: Callable[[int], object] = ...) -> None:
        """`wall_ms` is the wall clock; without it, it is the clock of the deadlines. `on_step` gets each step in ms."""

    def add_step_listener(self, listener: Callable[[int], object]) -> None:
        """`listener` gets each step in ms, too."""

    @property
    def step_ms(self) -> int:
        """What is added to a time of the clock of the deadlines. Only `follow` changes it."""

    def follow(self, now_ms: int) -> None:
        """Follow the wall clock; `now_ms` is what the clock of the deadlines shows."""

    def at(self, now_ms: int) -> int:
        """The wall-clock time in milliseconds since the epoch."""

ONE_CLOCK: Final[WallTime]
"""Where there is no wall clock besides the clock of the deadlines."""
