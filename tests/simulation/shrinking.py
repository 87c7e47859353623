"""Delta debugging: leave out steps, and simplify those that stay, while the history still fails."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.simulation.history import History, Step
from tests.simulation.playing import play

Item = TypeVar("Item")


def shrink(history: History, fails: Callable[[History], bool] | None = None) -> History:
    """A history that still fails and from which no step can be left out. `history` itself must fail."""
    still_fails = fails or fails_like(history)
    setup = history.setup
    steps = fewest(history.steps, lambda steps: still_fails(History(setup, tuple(steps))))
    steps = simplest(steps, lambda steps: still_fails(History(setup, tuple(steps))))
    return History(setup, tuple(steps))


def fewest(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool]) -> Sequence[Item]:
    """Leave out ever smaller pieces until no single item can go."""
    size = max(len(items) // 2, 1)
    while True:
        position, before = 0, len(items)
        while position < len(items):
            fewer = [*items[:position], *items[position + size :]]
            if fails(fewer):
                items = fewer
            else:
                position += size
        if size > 1:
            size //= 2
        elif len(items) == before:
            return items


def simplest(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool]) -> Sequence[Step]:
    """Take the first client and the value 0 wherever that does."""
    for position, step in enumerate(steps):
        for simpler in (step._replace(who=0, value=0), step._replace(who=0), step._replace(value=0)):
            changed = [*steps[:position], simpler, *steps[position + 1 :]]
            if simpler != step and fails(changed):
                steps = changed
                break
    return steps


def fails_like(history: History) -> Callable[[History], bool]:
    """Whether a history fails where this one does: another failure met on the way is another story."""
    wanted = where_it_fails(history)
    assert wanted is not None, "the history does not fail when it is played again"
    return lambda other: where_it_fails(other) == wanted


def where_it_fails(history: History) -> tuple[str, ...] | None:
    """The kind of problem and the function that found it; None when the history passes."""
    try:
        play(history)
    except Exception as problem:
        trace = problem.__traceback__
        assert trace is not None
        while trace.tb_next is not None:
            trace = trace.tb_next
        code = trace.tb_frame.f_code
        return type(problem).__name__, code.co_filename, code.co_name, str(trace.tb_lineno)
    return None
