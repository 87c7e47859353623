"""Compiled work in steps: it cannot yield, so it calls `pause`, and is left there for other work until its next step.

That is a switch of greenlets, of which each has a stack of its own.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from coordinator.runtime.slices import Steps

T = TypeVar("T")


class Pause(Protocol):
    """What compiled work calls at the end of a step."""

    def __call__(self, held_bytes: int | None = None, /) -> object:
        """`held_bytes` is what the work holds, as steps yield it; None: as before."""


def in_steps(work: Callable[[Pause], T]) -> Steps[T]:
    """The steps of `work(pause)`: one ends where it calls `pause`, and yields what that gets."""
    from greenlet import error as GreenletError
    from greenlet import greenlet

    def pause(held_bytes: int | None = None, /) -> None:
        runner.parent.switch(held_bytes)

    runner = greenlet(work)
    try:
        result: Any = runner.switch(pause)
        while not runner.dead:
            yield result
            result = runner.switch()
        ended: T = result
        return ended
    finally:
        if not runner.dead:
            with suppress(GreenletError):  # its thread has ended, and its stack with it
                runner.throw()


def in_steps_beside(held_bytes: int, work: Callable[[Pause], T]) -> Steps[T]:
    """The same, while so many bytes are held beside what the work holds."""

    def paused(pause: Pause) -> T:
        def pause_beside(work_bytes: int | None = None, /) -> object:
            return pause(None if work_bytes is None else held_bytes + work_bytes)

        return work(pause_beside)

    return in_steps(paused)
