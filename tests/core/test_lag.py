"""The one definition of lag."""

import pytest

from coordinator.core.lag import lag_ms, lag_of

INT64_MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("committed_offset", "log_end_offset", "lag"),
    [
        (0, 0, 0),
        (0, 7, 7),
        (7, 7, 0),
        (9, 7, -2),
        (INT64_MAX, 0, -INT64_MAX),
        (0, INT64_MAX, INT64_MAX),
        (5, 3, -2),
        (-1, 7, 7),
        (-(2**63), INT64_MAX, INT64_MAX),
    ],
)
def test_it_is_the_distance_to_the_end_and_negative_after_it(committed_offset, log_end_offset, lag):
    assert lag_of(committed_offset, log_end_offset) == lag


@pytest.mark.parametrize(
    ("lag", "oldest_ms", "age_ms"),
    [(0, None, 0), (0, 10, 0), (3, None, None), (3, 400, 600), (3, 1_001, 0), (-7, 400, None)],
)
def test_its_age_is_that_of_the_oldest_record(lag, oldest_ms, age_ms):
    assert lag_ms(lag, oldest_ms, 1_000) == age_ms
