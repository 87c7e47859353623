import time

import pytest

from coordinator.timers import SystemClock, VirtualClock


def test_the_virtual_clock_moves_only_when_told():
    clock = VirtualClock(now_ms=1_000)
    assert clock.now_ms() == 1_000
    clock.advance(ms=25)
    assert clock.now_ms() == 1_025


def test_time_does_not_pass_backwards():
    with pytest.raises(ValueError, match="-1 ms"):
        VirtualClock().advance(ms=-1)


def test_the_system_clock_reads_the_wall_time_of_its_start():
    before_s = time.time()
    now_ms = SystemClock().now_ms()
    assert before_s * 1_000 - 2 <= now_ms <= time.time() * 1_000 + 2


def test_a_step_of_the_wall_clock_lets_no_time_pass(monkeypatch):
    clock = SystemClock()
    before_ms = clock.now_ms()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert 0 <= clock.now_ms() - before_ms < 10_000
