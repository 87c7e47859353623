"""Long work in slices: what one request asks for does not delay the requests of others.

A handler that may have much to do is a generator: it yields wherever other work may have its turn, and returns its
response. What it finds after a yield may have changed since.
"""

from collections import deque
from collections.abc import Callable, Generator
from time import perf_counter
from typing import Any, Final, TypeVar

T = TypeVar("T")

seconds: Callable[[], float] = perf_counter
"""The clock of the slices. A test replaces it to count work instead of time."""

Steps = Generator[None, None, T]

TURN_SECONDS: Final = 0.005
"""How long new work, and work that goes on, may each take in one iteration of the event loop. A step may be longer."""


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
        """Take steps until that time of `time.perf_counter`, at least one; return whether the work has ended."""
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
            if seconds() >= until:
                return False


class Slices:
    """Runs sliced work. What is new begins at once; what takes longer than a slice goes on in turn.

    Work that has begun is ended before the next one goes on, because it may hold what it has read so far.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """`call_soon` calls back in the next iteration of the event loop."""
        self._call_soon = call_soon
        self._waiting: deque[SlicedWork] = deque()
        self._new_until = 0.0
        """Until when new work is begun in this iteration, as `time.perf_counter` counts; 0 if there was none yet."""
        self._is_turn_requested = False

    def has_time(self) -> bool:
        """Whether new work may begin at once in this iteration; otherwise it is to be started, and waits for its turn.

        For a handler whose usual work is a single step.
        """
        now = seconds()
        if not self._new_until:
            self._new_until = now + TURN_SECONDS
            self._request_turn()
        return now < self._new_until

    def start(
        self, steps: Steps[T], done: Callable[[T], None], failed: Callable[[Exception], None]
    ) -> SlicedWork | None:
        """Begin with the work; return it if it has not ended yet. Then `done` or `failed` is called later.

        When too much was begun in this iteration already, it begins in a later one.
        """
        work = SlicedWork(steps, done, failed)
        if self.has_time() and work.run(self._new_until):
            return None
        self._waiting.append(work)
        return work

    def _request_turn(self) -> None:
        if not self._is_turn_requested:
            self._is_turn_requested = True
            self._call_soon(self._turn)

    def _turn(self) -> None:
        self._is_turn_requested = False
        self._new_until = 0.0
        until = seconds() + TURN_SECONDS
        while self._waiting:
            if not self._waiting[0].run(until):
                break
            self._waiting.popleft()
            if seconds() >= until:
                break
        if self._waiting:
            self._request_turn()


def at_once(steps: Steps[T]) -> T:
    """Do sliced work without a break."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
