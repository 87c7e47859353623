"""Steps of a load or a rebuild: taken in slices, and suspended while one waits for an answer."""

from collections.abc import Callable

from coordinator.runtime.slices import Awaited, Steps


class WaitingSteps:
    """Steps that nobody else takes. Its owner takes the next slice, and is called when an answer lets it."""

    def __init__(self, steps: Steps[None], answered: Callable[[], None]) -> None:
        """`answered` is called when there are steps to take again: what they waited for is there."""
        self._steps = steps
        self._answered = answered
        self._waits_for: Awaited[object] | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether there is no step to take until `answered` is called."""
        return self._waits_for is not None

    def run(self, is_time_over: Callable[[], bool]) -> bool:
        """Take steps until `is_time_over`, or until one has to wait; return whether they have ended.

        Raises what a step raises; there are no further steps then.
        """
        while not self.is_waiting:
            try:
                waits_for = next(self._steps)
            except StopIteration:
                return True
            if isinstance(waits_for, Awaited) and not waits_for.is_answered:
                self._waits_for = waits_for
                waits_for.when_answered(self._resume)
            elif is_time_over():
                break
        return False

    def cancel(self) -> None:
        """Take no further step, and do not call `answered` any more."""
        self._waits_for = None
        self._steps.close()

    def _resume(self, answered: Awaited[object]) -> None:
        if answered is self._waits_for:
            self._waits_for = None
            self._answered()
