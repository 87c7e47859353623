"""Compiled work in steps: it cannot yield, so it calls `pause`, and is left there for other work until its next step.

That is a switch of greenlets, of which each has a stack of its own.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from greenlet import error as GreenletError
from greenlet import getcurrent, greenlet

from coordinator.broker.slices import Steps

T = TypeVar("T")
Pause = Callable[[], object]

BYTES_OF_STEP: Final = 100_000
"""About what the 500 elements of a step take, decoded and with those of their response."""


def in_steps(work: Callable[[Pause], T]) -> Steps[T]:
    """The steps of `work(pause)`: one ends where it calls `pause`. They yield how many bytes they hold, about."""
    runner = greenlet(work)
    held_bytes = 0
    try:
        result: T = runner.switch(_pause)
        while not runner.dead:
            held_bytes += BYTES_OF_STEP
            yield held_bytes
            result = runner.switch()
        return result
    finally:
        if not runner.dead:
            with suppress(GreenletError):  # its thread has ended, and its stack with it
                runner.throw()


def _pause() -> None:
    getcurrent().parent.switch()
