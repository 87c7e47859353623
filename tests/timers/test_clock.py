import time

import pytest

from coordinator.timers import SystemClock, VirtualClock


def test_the_virtual_clock_moves_only_when_told():
    clock = VirtualClock(now_ms=1_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_000, 0)
    clock.advance(ms=25)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_025, 25)


def test_a_step_of_the_wall_clock_lets_no_time_pass():
    clock = VirtualClock(now_ms=1_000)
    clock.step_wall(ms=-400)
    assert (clock.now_ms(), clock.monotonic_ms()) == (600, 0)


def test_time_does_not_pass_backwards():
    with pytest.raises(ValueError, match="-1 ms"):
        VirtualClock().advance(ms=-1)


def test_the_system_clock_reads_the_machine():
    clock = SystemClock()
    before_s = time.time()
    assert before_s * 1_000 - 1 <= clock.now_ms() <= time.time() * 1_000 + 1
    assert clock.monotonic_ms() <= clock.monotonic_ms()
