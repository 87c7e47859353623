"""When the garbage collector of Python runs: not while many objects are made that contain no reference cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLDS: Final = (2_000, 5, 10_000)
"""A collection of the middle generation looks at 12,000 new objects: 5 ms, or 20 if each is a list of 50."""


@contextmanager
def no_collections() -> Iterator[None]:
    """Within the block nothing is collected: a tenth of an import, and a quarter of a fold, went into collections.

    Afterwards the collector runs if it ran before.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            _make_all_old()
            gc.enable()


def _make_all_old() -> None:
    """Otherwise the next new object would start a collection of all that was made meanwhile, as if it were young."""
    if not gc.get_freeze_count():  # what somebody else has frozen stays so
        gc.freeze()
        gc.unfreeze()


def tune_collections() -> None:
    """Make collections rare and short, once a server runs.

    The objects of the start live until the end, and groups and members contain no reference cycles.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
