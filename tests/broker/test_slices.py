"""Long work in slices: what begins at once, what waits, and how it ends."""

from collections.abc import Callable

import pytest

from coordinator.broker import slices as module
from coordinator.broker.slices import Slices, at_once


class Loop:
    """Calls back when a test lets the next iteration of the event loop run; each step of work takes a millisecond."""

    def __init__(self, monkeypatch):
        self.callbacks: list[Callable[[], None]] = []
        self.now = 100.0
        monkeypatch.setattr(module, "seconds", lambda: self.now)
        self.slices = Slices(self.callbacks.append)

    def next_iteration(self):
        callbacks, self.callbacks[:] = list(self.callbacks), []
        for callback in callbacks:
            callback()

    def work(self, steps, trace=None, name="", fails=False):
        for _ in range(steps):
            self.now += 0.001
            if trace is not None:
                trace.append(name)
            yield
        if fails:
            raise ZeroDivisionError("a defect")
        return name


@pytest.fixture
def loop(monkeypatch):
    return Loop(monkeypatch)


def unexpected(problem):
    raise AssertionError(problem)


def test_short_work_ends_at_once(loop):
    done: list[str] = []
    assert loop.slices.start(loop.work(3, name="short"), done.append, unexpected) is None
    assert done == ["short"]


def test_long_work_goes_on_in_later_iterations_until_its_end(loop):
    done: list[str] = []
    assert loop.slices.start(loop.work(12, name="long"), done.append, unexpected) is not None
    iterations = 0
    while not done:
        loop.next_iteration()
        iterations += 1
    assert (done, iterations) == (["long"], 2)
    loop.next_iteration()
    assert loop.callbacks == []


def test_new_work_begins_at_once_though_other_work_goes_on(loop):
    done: list[str] = []
    loop.slices.start(loop.work(100, name="long"), done.append, unexpected)
    loop.next_iteration()
    assert loop.slices.start(loop.work(1, name="short"), done.append, unexpected) is None
    assert done == ["short"]


def test_too_much_new_work_of_one_iteration_waits_for_a_later_one(loop):
    done: list[str] = []
    for name in ("first", "second"):
        loop.slices.start(loop.work(5, name=name), done.append, unexpected)
    assert done == []
    loop.next_iteration()
    loop.next_iteration()
    assert done == ["first", "second"]


def test_work_that_has_begun_ends_before_the_next_goes_on(loop):
    trace: list[str] = []
    done: list[str] = []
    for name in ("a", "b"):
        loop.slices.start(loop.work(12, trace, name), done.append, unexpected)
    while len(done) < 2:
        loop.next_iteration()
    assert trace == ["a"] * 12 + ["b"] * 12


def test_cancelled_work_takes_no_more_steps_and_tells_nobody(loop):
    trace: list[str] = []
    work = loop.slices.start(loop.work(50, trace, "x"), unexpected, unexpected)
    taken = len(trace)
    work.cancel()
    loop.next_iteration()
    assert len(trace) == taken and loop.callbacks == []


@pytest.mark.parametrize("steps", [0, 20])
def test_work_that_fails_tells_so(loop, steps):
    failed: list[Exception] = []
    loop.slices.start(loop.work(steps, fails=True), unexpected, failed.append)
    while not failed:
        loop.next_iteration()
    assert isinstance(failed[0], ZeroDivisionError)


def test_work_can_be_done_without_a_break(loop):
    assert at_once(loop.work(40, name="all")) == "all"
