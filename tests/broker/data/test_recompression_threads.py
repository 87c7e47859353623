"""Few batches are compressed again at a time, and client addresses have turns."""

from collections.abc import Callable, Sequence

import pytest

from coordinator.broker.data.recompression_threads import RUNNING_MAX, RecompressionThreads
from coordinator.log.disk_threads import Done


class HeldThreads:
    """Threads whose work ends when a test says so."""

    def __init__(self) -> None:
        self.running: list[tuple[str, Done]] = []

    def run(self, work: Sequence[Callable[[], str]], done: Done) -> None:
        (each,) = work
        self.running.append((each(), done))

    def end_oldest(self) -> None:
        _, done = self.running.pop(0)
        done(None)


class Named:
    """In place of a Recompression."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self) -> str:
        return self.name


@pytest.fixture
def held() -> HeldThreads:
    return HeldThreads()


@pytest.fixture
def threads(held):
    return RecompressionThreads(held)


def names(held: HeldThreads) -> list[str]:
    return [name for name, _ in held.running]


def test_so_many_run_at_a_time_and_the_others_follow(held, threads):
    done: list[int] = []
    for number in range(5):
        threads.run(Named(str(number)), "a", lambda: True, lambda number=number: done.append(number))
    assert len(held.running) == RUNNING_MAX
    while held.running:
        held.end_oldest()
    assert done == [0, 1, 2, 3, 4]


def test_an_address_with_many_batches_delays_another_one_by_one_batch(held, threads):
    for number in range(100):
        threads.run(Named(f"many {number}"), "a", lambda: True, lambda: None)
    threads.run(Named("one"), "b", lambda: True, lambda: None)
    for _ in range(2):
        held.end_oldest()
    assert names(held) == ["many 2", "one"]


def test_what_nobody_awaits_any_more_is_not_begun(held, threads):
    done: list[str] = []
    awaited = {"0", "1", "3"}
    for name in "0123":
        threads.run(Named(name), "a", lambda name=name: name in awaited, lambda name=name: done.append(name))
    while held.running:
        held.end_oldest()
    assert done == ["0", "1", "3"]


def test_what_begins_at_the_end_of_another_one_counts(held, threads):
    threads.run(
        Named("first"), "a", lambda: True, lambda: threads.run(Named("second"), "a", lambda: True, lambda: None)
    )
    threads.run(Named("other"), "a", lambda: True, lambda: None)
    threads.run(Named("third"), "a", lambda: True, lambda: None)
    held.end_oldest()
    assert names(held) == ["other", "third"]
    held.end_oldest()
    assert names(held) == ["third", "second"]
