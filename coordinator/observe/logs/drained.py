"""Statements of a log that is followed: each is decided when its line is read, by what is known by then."""

from collections.abc import Iterator
from typing import Final

from coordinator.observe.logs.collector import Collector
from coordinator.observe.logs.statements import Statement

DOUBLES_REMEMBERED: Final = 50_000


class DrainedCollector(Collector):
    """Gives what was added away as it is known by then."""

    def __init__(self, name: str) -> None:
        super().__init__(None)
        self.begin(name)

    def drain(self) -> Iterator[tuple[int, Statement]]:
        """Time that never goes back (ms), and statement, in the order of the lines."""
        kept, self._kept = self._kept, []
        for line in kept:
            self._kept = [line]
            for statement in self._decided():
                yield line.order[0], statement
        self._kept, self._first_of_file = [], 0
        if len(self._seen) > DOUBLES_REMEMBERED:
            self._seen.clear()
