"""An operation that has much to apply does it in steps, and its shard does nothing else until it has ended.

Its batch stays open meanwhile: what it changes is stored as a whole, and nobody sees a part of it.
"""

from collections.abc import Generator
from typing import Final

from coordinator.runtime.batch import Batch

WEIGHT_OF_STEPS: Final = 100
"""An operation that counts as so many others is applied in steps: a third of a turn."""


class OperationUnderWay:
    """The steps of such an operation that are left, and the batch that it belongs to."""

    def __init__(self, batch: Batch, steps: Generator[int, None, None]) -> None:
        """Each step yields as how many operations it counts."""
        self.batch = batch
        self._steps = steps
        self.has_ended = False

    def go_on(self, operations_max: int) -> int:
        """Take steps until they count as many operations as given; returns how many they did."""
        used = 0
        while used < operations_max:
            operations = next(self._steps, None)
            if operations is None:
                self.has_ended = True
                break
            used += operations
        return used

    def cancel(self) -> None:
        self._steps.close()
