"""Deadlines that do not overflow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.key import INT64_MAX
from coordinator.deadlines import FAR_FUTURE_MS, deadline_after
from coordinator.timers.wheel import TimerWheel

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize("delay_ms", [-1, 0, 1, 2**31 - 1, 2**61])
def test_a_deadline_that_fits_is_the_sum(delay_ms):
    assert deadline_after(NOW_MS, delay_ms) == NOW_MS + delay_ms


@given(st.integers(0, INT64_MAX), st.integers(0, INT64_MAX))
def test_every_deadline_fits_the_wheel(now_ms, delay_ms):
    deadline_ms = deadline_after(now_ms, delay_ms)
    assert deadline_ms <= FAR_FUTURE_MS
    wheel = TimerWheel(NOW_MS)
    wheel.start("key", deadline_ms)
    assert wheel.advance(FAR_FUTURE_MS) == ["key"]


def test_compiled_code_can_add_to_the_latest_deadline():
    assert FAR_FUTURE_MS + FAR_FUTURE_MS - 1 <= INT64_MAX
