"""The rate of new connections: bursts of a second, then one after the other."""

import pytest

from coordinator.front.connection_rate import ConnectionRate


def taken_until_full(rate: ConnectionRate, now: float) -> int:
    taken = 0
    while not rate.wait(now):
        rate.consume()
        taken += 1
    return taken


def test_a_burst_of_one_second_is_taken_at_once():
    assert taken_until_full(ConnectionRate(10), 5.0) == 10


def test_then_one_comes_after_the_other():
    rate = ConnectionRate(10)
    taken_until_full(rate, 0.0)
    assert rate.wait(0.0) == pytest.approx(0.1)
    assert rate.wait(0.075) == pytest.approx(0.025)
    assert taken_until_full(rate, 0.35) == 3


def test_a_long_silence_allows_no_more_than_one_second():
    rate = ConnectionRate(10)
    taken_until_full(rate, 0.0)
    assert taken_until_full(rate, 3600.0) == 10


def test_a_clock_that_goes_back_takes_nothing_away():
    rate = ConnectionRate(2)
    assert rate.wait(100.0) == 0
    rate.consume()
    assert rate.wait(50.0) == 0
    rate.consume()
    assert rate.wait(50.5) == 0


def test_another_rate_counts_from_now_on():
    rate = ConnectionRate(10)
    rate.change(3)
    assert taken_until_full(rate, 0.0) == 3
    rate.change(100)
    assert taken_until_full(rate, 0.5) == 50
