"""What is to happen when, in order: at the same time, what was planned first."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Schedule:
    """A queue of callbacks by time."""

    def __init__(self) -> None:
        self._planned: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, at_ms: int, callback: Callable[[], None]) -> None:
        heappush(self._planned, (at_ms, next(self._numbers), callback))

    def next_ms(self) -> int | None:
        return self._planned[0][0] if self._planned else None

    def pop(self) -> Callable[[], None]:
        return heappop(self._planned)[2]
