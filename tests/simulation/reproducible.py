"""What is replaced so that a history has the same course each time it is played: random ids, the clock of slices."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

from coordinator.runtime import slices

STEPS_IN_A_TURN: Final = 25
"""How often long work may look at the clock before it is the turn of other work."""
FIRST_ID: Final = 1 << 64


class StepClock:
    """Counts how often it is read instead of time."""

    def __init__(self) -> None:
        self._seconds = 1.0

    def __call__(self) -> float:
        self._seconds += slices.TURN_SECONDS / STEPS_IN_A_TURN
        return self._seconds


@contextmanager
def reproducible() -> Iterator[None]:
    """Within the block, ids are numbers, and the slices of long work are counted in steps."""
    ids = count(FIRST_ID)
    seconds, uuid4 = slices.seconds, uuid.uuid4
    slices.seconds, uuid.uuid4 = StepClock(), lambda: uuid.UUID(int=next(ids))
    try:
        yield
    finally:
        slices.seconds, uuid.uuid4 = seconds, uuid4
