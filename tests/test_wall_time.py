"""How a time of the clock of the deadlines becomes one of the wall clock."""

import pytest

from coordinator.wall_time import ONE_CLOCK, STEP_MS, WallTime

HOUR_MS = 3_600_000
START_MS = 1_000_000


class Clocks:
    def __init__(self) -> None:
        self.wall_ms = START_MS
        self.steps: list[int] = []
        self.wall = WallTime(lambda: self.wall_ms, self.steps.append)

    def follow(self) -> int:
        self.wall.follow(START_MS)
        return self.wall.step_ms


def test_without_a_step_both_are_the_same():
    clocks = Clocks()
    assert clocks.follow() == 0
    assert clocks.wall.at(5) == 5
    assert clocks.steps == []


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS, STEP_MS, -STEP_MS])
def test_a_step_moves_all_times_and_is_told_once(step_ms):
    clocks = Clocks()
    clocks.wall_ms += step_ms
    assert clocks.wall.at(START_MS) == START_MS
    clocks.follow()
    clocks.follow()
    assert clocks.wall.at(START_MS) == clocks.wall_ms
    assert clocks.steps == [step_ms]


def test_whoever_listens_is_told_each_step():
    clocks, more = Clocks(), list[int]()
    clocks.wall.add_step_listener(more.append)
    for step_ms in (HOUR_MS, -STEP_MS):
        clocks.wall_ms += step_ms
        clocks.follow()
    assert clocks.steps == more == [HOUR_MS, -STEP_MS]


def test_small_changes_count_when_their_sum_is_a_step():
    clocks = Clocks()
    clocks.wall_ms += STEP_MS - 1
    assert clocks.follow() == 0
    clocks.wall_ms += 1
    assert clocks.follow() == STEP_MS


def test_a_step_back_to_the_first_time_is_a_step():
    clocks = Clocks()
    for ahead_ms in (HOUR_MS, 0):
        clocks.wall_ms = START_MS + ahead_ms
        assert clocks.follow() == ahead_ms
    assert clocks.steps == [HOUR_MS, -HOUR_MS]


def test_with_one_clock_there_are_no_steps():
    ONE_CLOCK.follow(START_MS)
    assert ONE_CLOCK.step_ms == 0
