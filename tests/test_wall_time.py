"""How a time of the clock of the deadlines becomes one of the wall clock."""

import pytest

from coordinator.wall_time import ONE_CLOCK, STEP_MS, WallTime

HOUR_MS = 3_600_000


class Clocks:
    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.wall_ms = 1_000_000
        self.wall = WallTime(lambda: self.now_ms, lambda: self.wall_ms)


def test_without_a_step_both_are_the_same():
    clocks = Clocks()
    assert clocks.wall.check() == 0
    assert clocks.wall.at(5) == 5


@pytest.mark.parametrize("step_ms", [HOUR_MS, -HOUR_MS, STEP_MS, -STEP_MS])
def test_a_step_moves_all_times_from_the_next_check_on(step_ms):
    clocks = Clocks()
    clocks.wall_ms += step_ms
    assert clocks.wall.at(clocks.now_ms) == clocks.now_ms
    assert clocks.wall.check() == step_ms
    assert clocks.wall.at(clocks.now_ms) == clocks.wall_ms
    assert clocks.wall.check() == 0


def test_small_changes_count_when_their_sum_is_a_step():
    clocks = Clocks()
    clocks.wall_ms += STEP_MS - 1
    assert clocks.wall.check() == 0
    clocks.wall_ms += 1
    assert clocks.wall.check() == STEP_MS


def test_a_step_back_to_the_first_time_is_a_step():
    clocks = Clocks()
    for wall_ms, change_ms in ((HOUR_MS, HOUR_MS), (0, -HOUR_MS)):
        clocks.wall_ms = 1_000_000 + wall_ms
        assert clocks.wall.check() == change_ms
    assert clocks.wall.step_ms == 0


def test_with_one_clock_there_are_no_steps():
    assert ONE_CLOCK.check() == 0
    assert ONE_CLOCK.at(7) == 7
