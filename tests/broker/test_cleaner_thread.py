"""The thread of the cleaner: which steps it takes, where the answer arrives, and how it ends."""

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from coordinator.broker.cleaner_thread import CleanerThread
from coordinator.log.compaction.cleaner import Place

WAIT_SECONDS = 10


class Loop:
    """What the thread hands over is called when the test says so."""

    def __init__(self) -> None:
        self._calls: queue.Queue[tuple[Any, ...]] = queue.Queue()

    def call_soon_threadsafe(self, callback: Callable[..., object], *arguments: object) -> None:
        self._calls.put((callback, *arguments))

    def run_one(self) -> None:
        callback, *arguments = self._calls.get(timeout=WAIT_SECONDS)
        callback(*arguments)

    @property
    def is_idle(self) -> bool:
        return self._calls.empty()


@pytest.mark.parametrize("last", [Place.LOOP, None])
def test_steps_run_in_the_thread_up_to_one_that_does_not(last: Place | None) -> None:
    loop = Loop()
    done: list[Place | None] = []
    threads: list[threading.Thread] = []
    places = iter([Place.ANYWHERE, Place.ANYWHERE, last])

    def step() -> Place | None:
        threads.append(threading.current_thread())
        return next(places)

    CleanerThread(loop.call_soon_threadsafe).run(step, lambda: 0.0, done.append)
    loop.run_one()
    assert done == [last]
    assert len(threads) == 3
    assert len(set(threads)) == 1
    assert threading.current_thread() not in threads
    assert threads[0].daemon, "it does not keep the process alive"


def test_a_stop_waits_for_the_step_under_way_and_no_other_follows() -> None:
    loop, begun, may_end, steps = Loop(), threading.Event(), threading.Event(), []

    def step() -> Place:
        steps.append("begun")
        begun.set()
        assert may_end.wait(WAIT_SECONDS)
        steps.append("ended")
        return Place.ANYWHERE

    thread = CleanerThread(loop.call_soon_threadsafe)
    thread.run(step, lambda: 0.0, lambda place: None)
    assert begun.wait(WAIT_SECONDS)
    stop = threading.Thread(target=thread.stop)
    stop.start()
    assert steps == ["begun"]
    may_end.set()
    stop.join(WAIT_SECONDS)
    assert not stop.is_alive()
    assert steps == ["begun", "ended"]
    assert loop.is_idle


def test_a_stop_ends_a_pause() -> None:
    loop, pausing = Loop(), threading.Event()

    def pause() -> float:
        pausing.set()
        return 3_600.0

    thread = CleanerThread(loop.call_soon_threadsafe)
    thread.run(lambda: Place.LOOP, pause, lambda place: None)
    assert pausing.wait(WAIT_SECONDS)
    thread.stop()
    assert loop.is_idle


def test_one_that_never_ran_can_be_stopped() -> None:
    CleanerThread(Loop().call_soon_threadsafe).stop()
