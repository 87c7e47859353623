"""Work that pauses: its steps, its result, its failure, and its end before its time."""

import threading
from functools import partial

import pytest

from coordinator.runtime.pauses import Pause, in_steps
from coordinator.runtime.slices import at_once


def test_a_step_ends_at_each_pause():
    seen: list[int] = []

    def work(pause: Pause) -> str:
        for number in range(3):
            seen.append(number)
            pause()
        return "done"

    steps = in_steps(work)
    assert seen == []
    for number in range(3):
        next(steps)
        assert seen == list(range(number + 1))
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "done"


def test_work_without_a_pause_has_no_step():
    assert at_once(in_steps(lambda pause: 5)) == 5


def test_a_failure_is_that_of_the_steps():
    def work(pause: Pause) -> None:
        pause()
        raise ZeroDivisionError("a defect")

    with pytest.raises(ZeroDivisionError):
        at_once(in_steps(work))


def test_two_works_pause_in_turns():
    seen: list[str] = []

    def work(name: str, pause: Pause) -> None:
        for _ in range(3):
            seen.append(name)
            pause()

    works = [in_steps(partial(work, name)) for name in "ab"]
    for _ in range(3):
        for each in works:
            next(each)
    assert seen == ["a", "b"] * 3


@pytest.mark.parametrize("steps_taken", [0, 2])
def test_work_that_is_closed_ends_where_it_paused(steps_taken):
    ended: list[str] = []

    def work(pause: Pause) -> None:
        try:
            while True:
                pause()
        finally:
            ended.append("closed")

    steps = in_steps(work)
    for _ in range(steps_taken):
        next(steps)
    steps.close()
    assert ended == ["closed"] * bool(steps_taken)


def test_work_whose_thread_has_ended_is_dropped_without_an_error():
    """As that of a server in a thread of a test, which was stopped."""
    left = []

    def run() -> None:
        steps = in_steps(lambda pause: [pause() for _ in range(3)])
        next(steps)
        left.append(steps)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    left.pop().close()
