import time

import pytest

from coordinator.timers import SystemClock, VirtualClock
from coordinator.timers.clock import AdvanceableClock


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


def test_a_clock_that_is_put_ahead_stands_and_goes_on_from_there():
    real = VirtualClock(1_000)
    clock = AdvanceableClock(real)
    real.advance(5)
    assert clock.now_ms() == 1_005
    clock.stand_at(2_000)
    real.advance(50)
    assert clock.now_ms() == 2_000
    clock.stand_at(1_500)
    assert clock.now_ms() == 2_000
    clock.resume()
    assert clock.now_ms() == 2_000
    real.advance(7)
    assert clock.now_ms() == 2_007


def test_a_clock_that_is_put_ahead_by_less_than_passed_never_goes_back():
    real = VirtualClock(1_000)
    clock = AdvanceableClock(real)
    clock.stand_at(1_010)
    real.advance(50)
    clock.resume()
    assert clock.now_ms() == 1_050
    clock.resume()
    assert clock.now_ms() == 1_050


def test_the_clock_of_a_lease_counts_while_the_machine_is_suspended() -> None:
    boot_time = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    assert SystemClock().clock_id == time.CLOCK_MONOTONIC
    clock = SystemClock(True)
    assert clock.clock_id == boot_time
    began_ms, began = clock.now_ms(), time.clock_gettime(boot_time)
    while time.clock_gettime(boot_time) - began < 0.002:
        continue
    assert clock.now_ms() > began_ms
