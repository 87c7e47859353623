"""Long work in slices: what begins at once, what waits, whose turn it is, and how it ends."""

from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest

from coordinator.runtime import slices as module
from coordinator.runtime.slices import (
    HELD_BYTES_MAX,
    MERGED_AT_ONCE,
    MUCH_BYTES,
    SlicedWork,
    Slices,
    Steps,
    at_once,
    awaited,
    awaited_all,
    merge,
)


class Loop:
    """Calls back when a test lets the next iteration of the event loop run; each step of work takes a millisecond."""

    def __init__(self, monkeypatch):
        self.callbacks: list[Callable[[], None]] = []
        self.now = 100.0
        monkeypatch.setattr(module, "seconds", lambda: self.now)
        self.slices = Slices(self.callbacks.append)
        self.trace: list[str] = []
        self.done: list[str] = []

    def next_iteration(self):
        callbacks, self.callbacks[:] = list(self.callbacks), []
        for callback in callbacks:
            callback()

    def work(self, steps, name="", fails=False, step_bytes=None, step_seconds=0.001):
        for step in range(steps):
            self.now += step_seconds
            self.trace.append(name)
            yield None if step_bytes is None else step_bytes * (step + 1)
        if fails:
            raise ZeroDivisionError("a defect")
        return name

    def start(self, steps, name, source: str | None = "client", **options):
        return self.slices.start(self.work(steps, name, **options), self.done.append, unexpected, source)

    def run(self, until_done):
        iterations = 0
        while until_done not in self.done:
            self.next_iteration()
            iterations += 1
            assert iterations < 10_000
        return iterations


@pytest.fixture
def loop(monkeypatch):
    return Loop(monkeypatch)


def unexpected(problem):
    raise AssertionError(problem)


def test_short_work_ends_at_once(loop):
    assert loop.start(3, "short", step_seconds=0.0003) is None
    assert loop.done == ["short"]


@pytest.mark.parametrize("source", ["client", None])
def test_long_work_goes_on_in_later_iterations_until_its_end(loop, source):
    assert loop.start(12, "long", source) is not None
    assert loop.run("long") == 3
    loop.next_iteration()
    assert loop.callbacks == []


def test_new_work_begins_at_once_though_other_work_goes_on(loop):
    loop.start(100, "long")
    loop.next_iteration()
    assert loop.start(1, "short", step_seconds=0.0003) is None
    assert loop.done == ["short"]


def test_too_much_new_work_of_one_iteration_waits_for_a_later_one(loop):
    for number in range(8):
        loop.start(2, f"work {number}")
    assert loop.trace == [f"work {number}" for number in range(5)]
    loop.run("work 7")
    assert sorted(loop.done) == [f"work {number}" for number in range(8)]


def test_new_work_does_not_begin_before_new_work_that_waits(loop):
    for number in range(12):
        loop.start(1, f"early {number}")
    loop.next_iteration()
    assert not loop.slices.has_time()
    loop.start(1, "late")
    assert "late" not in loop.trace
    loop.run("late")
    assert loop.done[-1] == "late" and len(loop.done) == 13


def test_requests_of_one_address_take_turns(loop):
    for name in ("a", "b"):
        loop.start(50, name)
    loop.start(5, "c")
    iterations = loop.run("c")
    assert iterations <= 4 and "a" not in loop.done
    loop.run("b")
    runs = [len(list(steps)) for _, steps in groupby(loop.trace)]
    assert max(runs) == 1


def test_a_longer_request_waits_no_longer_for_a_hundred_connections_of_another_address(loop):
    """One address has 100 connections with requests that take minutes; another one has a request of 10 ms."""
    for number in range(100):
        loop.start(100_000, f"hostile {number}", "10.0.0.66")
    loop.start(10, "victim", "10.0.0.1")
    began = loop.now
    loop.run("victim")
    assert loop.now - began < 0.050


def test_new_requests_of_another_address_do_not_wait_for_all_of_the_first(loop):
    for number in range(1_000):
        loop.start(1, f"hostile {number}", "10.0.0.66")
    loop.start(1, "victim", "10.0.0.1", step_seconds=0.0003)
    began = loop.now
    loop.run("victim")
    assert loop.now - began < 0.011


def test_own_work_has_half_of_the_time_while_requests_wait(loop):
    for number in range(20):
        loop.start(1_000, f"request {number}")
    loop.next_iteration()
    for number in range(20):
        loop.start(1_000, f"marker {number}", None)
    loop.trace.clear()
    for _ in range(40):
        loop.next_iteration()
    share = sum(name.startswith("marker") for name in loop.trace) / len(loop.trace)
    assert 0.4 < share < 0.7


def test_requests_go_on_while_own_work_never_ends(loop):
    loop.start(100_000, "deletion", None)
    loop.start(10, "request")
    assert loop.run("request") <= 6


def test_work_that_would_hold_too_much_waits_for_the_oldest_of_its_address(loop):
    works = [loop.start(16, f"fetch {number}", step_bytes=MUCH_BYTES) for number in range(100)]
    works.append(loop.start(40, "lookup"))
    most_bytes = 0
    while len(loop.done) < 101:
        loop.next_iteration()
        held = [work.held_bytes for work in works if len(loop.done) < 101 and not work.has_ended]
        most_bytes = max(most_bytes, sum(size for size in held if size > MUCH_BYTES) - max(held, default=0))
    # Each waits before the step after which it would hold too much: that step's bytes are not held yet.
    assert most_bytes <= HELD_BYTES_MAX + 100 * 2 * MUCH_BYTES
    assert loop.done.index("lookup") < 50


def test_the_step_after_which_work_would_hold_too_much_is_not_taken_however_much_time_is_left():
    taken: list[int] = []

    def steps() -> Steps[None]:
        for size in (10, 20, 30):
            taken.append(size)
            yield size

    work = SlicedWork(steps(), unexpected, unexpected, "client", lambda *_: None)
    assert not work.run(module.seconds() + 60, 15)
    assert (taken, work.held_bytes) == ([10, 20], 20)


def test_work_that_holds_much_does_not_stop_that_of_another_address(loop):
    for number in range(10):
        loop.start(100_000, f"hostile {number}", "10.0.0.66", step_bytes=HELD_BYTES_MAX)
    for number in range(3):
        loop.start(6, f"victim {number}", "10.0.0.1", step_bytes=5 * MUCH_BYTES)
    began = loop.now
    loop.run("victim 2")
    assert loop.now - began < 0.150


def test_a_response_of_usual_size_is_not_suspended(loop):
    for number in range(10):
        loop.start(100_000, f"hostile {number}", step_bytes=HELD_BYTES_MAX)
    loop.start(6, "victim", step_bytes=MUCH_BYTES // 6)
    began = loop.now
    loop.run("victim")
    assert loop.now - began < 0.150


def test_work_that_is_cancelled_while_it_is_suspended_lets_the_others_go_on(loop):
    works = [loop.start(4, f"fetch {number}", step_bytes=HELD_BYTES_MAX // 2) for number in range(6)]
    for _ in range(2):
        loop.next_iteration()
    for work in works[:5]:
        if work is not None:
            work.cancel()
    loop.run("fetch 5")
    for _ in range(3):
        loop.next_iteration()
    assert loop.callbacks == []
    loop.start(6, "next", step_bytes=HELD_BYTES_MAX)
    loop.run("next")


def test_suspended_work_goes_on_when_work_of_another_address_ends_that_held_much(loop):
    def holding(size: int, steps: int) -> Steps[str]:
        for _ in range(steps):
            loop.now += 0.001
            yield size
        return "victim"

    loop.slices.start(holding(2 * HELD_BYTES_MAX, 50), lambda _: None, unexpected, "10.0.0.66")
    oldest = loop.slices.start(holding(2 * MUCH_BYTES, 100_000), unexpected, unexpected, "10.0.0.1")
    loop.slices.start(holding(2 * MUCH_BYTES, 20), loop.done.append, unexpected, "10.0.0.1")
    loop.run("victim")
    assert not oldest.has_ended


def test_cancelled_work_takes_no_more_steps_and_tells_nobody(loop):
    work = loop.slices.start(loop.work(50, "x"), unexpected, unexpected, "client")
    taken = len(loop.trace)
    work.cancel()
    loop.next_iteration()
    assert len(loop.trace) == taken and loop.callbacks == []


@pytest.mark.parametrize("source", ["client", None])
@pytest.mark.parametrize("steps", [0, 20])
def test_work_that_fails_tells_so(loop, steps, source):
    failed: list[Exception] = []
    loop.slices.start(loop.work(steps, fails=True), unexpected, failed.append, source)
    while not failed:
        loop.next_iteration()
    assert isinstance(failed[0], ZeroDivisionError)


def test_work_can_be_done_without_a_break(loop):
    assert at_once(loop.work(40, name="all")) == "all"


def test_a_clock_that_jumps_lets_all_work_end(monkeypatch):
    """The process may wait for a CPU between any two readings of the clock."""
    loop = Loop(monkeypatch)
    jumps = iter(range(1_000_000))
    monkeypatch.setattr(module, "seconds", lambda: float(next(jumps)))
    for number in range(5):
        loop.start(3, f"request {number}")
        loop.start(3, f"own {number}", None)
    for _ in range(40):
        loop.next_iteration()
    assert len(loop.done) == 10 and loop.callbacks == []


def test_elements_are_merged_in_steps_and_the_last_one_of_a_key_counts():
    merged: dict[int, str] = {}
    elements = [f"{number % 700}:{number}" for number in range(3 * MERGED_AT_ONCE)]
    assert len(list(merge(merged, elements, lambda each: int(each.split(":")[0])))) == 2
    assert len(merged) == 700
    assert merged[99] == "99:1499"


def test_few_elements_are_merged_in_one_step():
    merged: dict[int, int] = {}
    assert list(merge(merged, list(range(MERGED_AT_ONCE)), lambda each: each)) == []
    assert len(merged) == MERGED_AT_ONCE


def test_what_nobody_waits_for_begins_in_the_next_iteration(loop):
    loop.slices.later(loop.work(2, "later"), "client")
    assert loop.trace == []
    loop.next_iteration()
    assert loop.trace == ["later", "later"]


# ---- answers that work waits for


class Asked:
    """Somebody who answers when a test says so."""

    def __init__(self) -> None:
        self.replies: list[Callable[[Any], None]] = []

    def __call__(self, reply: Callable[[Any], None]) -> None:
        self.replies.append(reply)


def _fail(problem: Exception) -> None:
    raise AssertionError("the work failed") from problem


def outcome_of(slices: Slices, steps: Steps[Any], source: str | None = "/a") -> tuple[list[Any], SlicedWork | None]:
    """What the steps come to, once they have ended; and the work, if it has not."""
    results: list[Any] = []
    return results, slices.start(steps, results.append, _fail, source)


def test_an_answer_that_is_there_is_not_waited_for():
    results, work = outcome_of(Slices(lambda callback: None), awaited(lambda reply: reply("now")))
    assert (results, work) == (["now"], None)


def test_work_that_waits_has_no_turn_and_goes_on_with_its_answer():
    soon: list[Callable[[], None]] = []
    asked, slices = Asked(), Slices(soon.append)
    results, work = outcome_of(slices, awaited(asked))
    assert work is not None and work.is_waiting
    soon.clear()
    (reply,) = asked.replies
    reply("later")
    assert results == ["later"]


def test_several_are_asked_together_and_awaited_together():
    first, second = Asked(), Asked()
    results, _ = outcome_of(Slices(lambda callback: None), awaited_all([first, second]))
    second.replies[0](2)
    assert results == []
    first.replies[0](1)
    assert results == [[1, 2]]
    assert outcome_of(Slices(lambda callback: None), awaited_all([]))[0] == [[]]


def test_the_answer_to_cancelled_work_changes_nothing():
    asked = Asked()
    ended: list[str] = []

    def steps() -> Steps[str]:
        try:
            yield from awaited(asked)
        finally:
            ended.append("closed")
        return "answered"

    results, work = outcome_of(Slices(lambda callback: None), steps())
    assert work is not None
    work.cancel()
    asked.replies[0](None)
    assert (results, ended) == ([], ["closed"])


@pytest.mark.parametrize("is_urgent", [True, False])
def test_an_urgent_answer_is_taken_in_an_iteration_that_has_no_time_left(monkeypatch, is_urgent):
    now = [100.0]
    monkeypatch.setattr(module, "seconds", lambda: now[0])
    soon: list[Callable[[], None]] = []
    asked, slices = Asked(), Slices(soon.append)
    results, _ = outcome_of(slices, awaited(asked, is_urgent=is_urgent))
    now[0] += module.TURN_SECONDS
    asked.replies[0]("answer")
    assert results == (["answer"] if is_urgent else [])
    while not results:
        calls, soon[:] = list(soon), []
        for call in calls:
            call()
    assert results == ["answer"]


def test_work_that_is_to_be_done_at_once_may_not_wait():
    with pytest.raises(AssertionError, match="nobody answers meanwhile"):
        at_once(awaited(Asked()))


def test_what_cancelled_work_held_counts_no_more_when_its_answer_has_come():
    asked, slices = Asked(), Slices(lambda callback: None)

    def steps() -> Steps[None]:
        yield 2 * MUCH_BYTES
        yield from awaited(asked)

    _, work = outcome_of(slices, steps())
    assert work is not None and work.is_waiting
    assert slices._held.sum_bytes == 2 * MUCH_BYTES
    work.cancel()
    asked.replies[0](None)
    assert slices._held.sum_bytes == 0
