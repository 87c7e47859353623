"""Decoding, encoding and freeing messages with very many elements in steps.

Compiled code cannot yield; it calls `pause` after each step. Most messages are shorter than the first one. For one that is
not, `not_in_steps` raises, and it is done again from its beginning in a greenlet, which has a stack of its own: there
`pause` switches back to the event loop until the next step.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from greenlet import getcurrent, greenlet
from greenlet import error as GreenletError

from coordinator.broker.slices import Steps

T = TypeVar("T")
Pause = Callable[[], object]

BYTES_OF_STEP: Final = 100_000
"""About what the 500 elements of a step take, decoded and with those of their response."""


class TooLong(Exception):
    """The message has more elements than one step."""


def not_in_steps() -> None:
    """What to call at the end of the first step, where the work is to be done at once or not at all.

    Raises:
        TooLong: always.
    """
    raise TooLong


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
