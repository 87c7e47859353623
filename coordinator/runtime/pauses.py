"""Compiled work in steps: it cannot yield, so it calls `pause`, and is left there for other work until its next step.

That is a switch of greenlets, of which each has a stack of its own.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from coordinator.runtime.slices import Steps

T = TypeVar("T")
Pause = Callable[[], object]


def in_steps(work: Callable[[Pause], T]) -> Steps[T]:
    """The steps of `work(pause)`: one ends where it calls `pause`."""
    from greenlet import error as GreenletError
    from greenlet import greenlet

    def pause() -> None:
        runner.parent.switch()

    runner = greenlet(work)
    try:
        result: T = runner.switch(pause)
        while not runner.dead:
            yield
            result = runner.switch()
        return result
    finally:
        if not runner.dead:
            with suppress(GreenletError):  # its thread has ended, and its stack with it
                runner.throw()
