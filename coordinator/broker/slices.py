"""Long work in slices: what one request asks for does not delay the requests of others.

A handler that may have much to do is a generator: it yields wherever other work may have its turn, and returns its
response. What it finds after a yield may have changed since.
"""

from collections import deque
from collections.abc import Callable, Generator
from time import perf_counter
from typing import Any, Final, TypeVar

T = TypeVar("T")
Steps = Generator[None, None, T]

TURN_SECONDS: Final = 0.005
"""How long all sliced work together may take in one iteration of the event loop, if no single step takes longer."""


class SlicedWork:
    """Work under way. `done` or `failed` is called at its end, unless it was cancelled."""

    __slots__ = ("_done", "_failed", "_steps")

    def __init__(self, steps: Steps[Any], done: Callable[[Any], None], failed: Callable[[Exception], None]) -> None:
        self._steps: Steps[Any] | None = steps
        self._done = done
        self._failed = failed

    def cancel(self) -> None:
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()

    def run(self, until: float) -> bool:
        """Take steps until that time of `perf_counter`, at least one; return whether the work has ended."""
        while True:
            steps = self._steps
            if steps is None:
                return True
            try:
                next(steps)
            except StopIteration as end:
                self._steps = None
                self._done(end.value)
                return True
            except Exception as problem:
                self._steps = None
                self._failed(problem)
                return True
            if perf_counter() >= until:
                return False


class Slices:
    """Runs sliced work, in turn. Work that ends within its first slice is not put off."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` calls back in the next iteration of the event loop."""
        self._call_soon = call_soon
        self._waiting: deque[SlicedWork] = deque()
        self._until = 0.0
        """When the turn of this iteration ends, as `perf_counter` counts; 0 before it has begun."""

    def start(
        self, steps: Steps[T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> SlicedWork | None:
        """Begin with the work; return it if it has not ended yet. Then `done` or `failed` is called later.

        When the turn of this iteration is over, it begins in a later one.
        """
        work = SlicedWork(steps, done, failed)
        now = perf_counter()
        if not self._until:
            self._until = now + TURN_SECONDS
            self._call_soon(self._next_turn)
        if now < self._until and work.run(self._until):
            return None
        self._waiting.append(work)
        return work

    def _next_turn(self) -> None:
        self._until = 0.0
        if not self._waiting:
            return
        self._until = perf_counter() + TURN_SECONDS
        self._call_soon(self._next_turn)
        while self._waiting:
            work = self._waiting.popleft()
            if not work.run(self._until):
                self._waiting.append(work)
            if perf_counter() >= self._until:
                return


def at_once(steps: Steps[T]) -> T:
    """Do sliced work without a break."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
