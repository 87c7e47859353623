"""A group's timer runs when its state has a deadline, and for no other time."""

import pytest

from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.timer_keys import KeyTimerKey
from coordinator.timers.wheel import TimerWheel

TOPIC = "__consumer_offsets"
KEY = KeyTimerKey(TOPIC, "g")


@pytest.fixture
def wheel() -> TimerWheel:
    return TimerWheel(0)


@pytest.fixture
def timers(wheel) -> KeyTimers:
    return KeyTimers(wheel, TOPIC)


def test_a_timer_fires_at_its_deadline(timers, wheel):
    timers.arm("g", 100)
    assert wheel.advance(99) == []
    assert wheel.advance(100) == [KEY]


def test_the_same_again_moves_nothing(timers, wheel):
    for _ in range(3):
        timers.arm("g", 100)
    assert wheel.pending == 1
    assert wheel.advance(100) == [KEY]


@pytest.mark.parametrize("deadline_ms", [50, 200])
def test_another_deadline_replaces_the_first(timers, wheel, deadline_ms):
    timers.arm("g", 100)
    timers.arm("g", deadline_ms)
    assert timers.deadline_ms("g") == deadline_ms
    assert (wheel.pending, wheel.next_deadline_ms()) == (1, deadline_ms)


def test_what_is_not_wanted_any_more_is_cancelled(timers, wheel):
    timers.arm("g", 100)
    timers.arm("g", None)
    assert timers.deadline_ms("g") is None
    assert (wheel.pending, wheel.advance(1000)) == (0, [])


def test_groups_have_timers_of_their_own(timers, wheel):
    timers.arm("g", 100)
    timers.arm("other", 100)
    timers.arm("g", None)
    assert wheel.advance(100) == [KeyTimerKey(TOPIC, "other")]


def test_a_timer_that_fired_can_be_armed_for_the_same_time_again(timers, wheel):
    timers.arm("g", 100)
    wheel.advance(100)
    timers.fired(KEY)
    assert timers.deadline_ms("g") is None
    timers.arm("g", 100)
    assert wheel.advance(100) == [KEY]


def test_a_timer_nobody_armed_may_fire(timers):
    timers.fired(KEY)
    assert timers.deadline_ms("g") is None
