"""Rates and token buckets, by the numbers of Kafka's Rate, QuotaUtils and TokenBucket."""

import math
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.quotas.rates import THROTTLE_TIME_MS_MAX, Rate, TokenBucket, Window

KAFKA: Final = Window(11, 1000)
NOW_MS: Final = 1_700_000_000_000


def rate_of(*recorded: tuple[int, float], window: Window = KAFKA) -> Rate:
    rate = Rate(window)
    for at_ms, value in recorded:
        rate.record(value, NOW_MS + at_ms)
    return rate


def test_a_burst_counts_against_the_whole_window():
    assert rate_of((0, 1000.0)).measure(NOW_MS) == (100, 10_000)


def test_samples_that_are_missing_are_added_to_the_time_that_passed():
    assert rate_of((0, 1000.0)).measure(NOW_MS + 1) == (1_000_000 / 10_001, 10_001)
    assert rate_of((0, 1000.0)).measure(NOW_MS + 2500) == (1_000_000 / 10_500, 10_500)
    assert rate_of((0, 1000.0)).measure(NOW_MS + 10_999) == (1_000_000 / 10_999, 10_999)


def test_a_sample_leaves_the_rate_when_its_last_record_is_as_old_as_the_window():
    rate = rate_of((0, 500.0), (900, 500.0))
    assert rate.measure(NOW_MS + 900 + 10_999) == (1_000_000 / 11_899, 11_899)
    assert rate.measure(NOW_MS + 900 + 11_000) == (0, 10_000)


def test_the_rate_of_a_steady_client_is_that_rate():
    rate = rate_of(*((second * 1000, 300.0) for second in range(60)))
    measured, elapsed_ms = rate.measure(NOW_MS + 60_000)
    assert (measured, elapsed_ms) == (300, 10_000)


def test_the_throttle_time_brings_the_rate_back_to_the_limit():
    rate = rate_of((0, 3000.0))
    assert rate.throttle_time_ms(100.0, NOW_MS) == 20_000
    assert rate.throttle_time_ms(300.0, NOW_MS) == 0
    assert rate.throttle_time_ms(299.0, NOW_MS) == 33


def test_what_is_taken_back_was_never_there():
    rate = rate_of((0, 100.0), (0, 3000.0), (0, -3000.0))
    assert rate.measure(NOW_MS) == (10, 10_000)


def test_a_window_of_one_sample_has_a_length():
    assert rate_of((0, 5.0), window=Window(1, 1000)).measure(NOW_MS) == (5000, 1)


@given(st.lists(st.tuples(st.integers(0, 30_000), st.integers(1, 1000)), max_size=60))
def test_a_rate_holds_no_more_samples_than_its_window_has(recorded):
    rate = rate_of(*sorted(recorded))
    assert len(rate._samples) <= KAFKA.samples + 1
    total = sum(value for _, value in recorded)
    measured, elapsed_ms = rate.measure(NOW_MS + 30_000)
    assert elapsed_ms >= 10_000
    assert 0 <= measured <= total / 10


def test_a_bucket_holds_the_tokens_of_its_window_at_first():
    bucket = TokenBucket(KAFKA)
    bucket.consume(11, 1.0, NOW_MS)
    assert bucket.throttle_time_ms(1.0, NOW_MS) == 0
    bucket.consume(1, 1.0, NOW_MS)
    assert bucket.throttle_time_ms(1.0, NOW_MS) == 1000


@pytest.mark.parametrize(("after_ms", "throttle_ms"), [(0, 5000), (1500, 3500), (5000, 0)])
def test_tokens_come_back_at_the_rate_of_the_quota(after_ms, throttle_ms):
    bucket = TokenBucket(KAFKA)
    bucket.consume(32, 2.0, NOW_MS)
    assert bucket.throttle_time_ms(2.0, NOW_MS + after_ms) == throttle_ms


def test_a_bucket_never_holds_more_than_at_first():
    bucket = TokenBucket(KAFKA)
    bucket.consume(1, 1.0, NOW_MS)
    bucket.consume(12, 1.0, NOW_MS + 1_000_000)
    assert bucket.throttle_time_ms(1.0, NOW_MS + 1_000_000) == 1000


@pytest.mark.parametrize("limit", [1e-7, 5e-324])
def test_no_throttle_time_exceeds_its_field(limit):
    bucket = TokenBucket(KAFKA)
    bucket.consume(1000, limit, NOW_MS)
    assert bucket.throttle_time_ms(limit, NOW_MS) == THROTTLE_TIME_MS_MAX
    assert rate_of((0, 1e8)).throttle_time_ms(limit, NOW_MS) == THROTTLE_TIME_MS_MAX


def test_without_a_bound_there_is_no_throttle_time():
    bucket = TokenBucket(KAFKA)
    for _ in range(2):
        bucket.consume(1000, math.inf, NOW_MS)
        assert bucket.throttle_time_ms(math.inf, NOW_MS) == 0
    assert rate_of((0, 1e8)).throttle_time_ms(math.inf, NOW_MS) == 0
