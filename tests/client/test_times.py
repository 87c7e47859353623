"""Times and durations of commands."""

import pytest

from coordinator.client.times import duration_ms, time_ms
from coordinator.client.wire import ClientError


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01T00:00:00", 0),
        ("2026-11-26T08:00:00.250", 1_795_680_000_250),
        ("2026-11-26T09:00:00+01:00", 1_795_680_000_000),
        ("2026-11-26", 1_795_651_200_000),
    ],
)
def test_a_time(text: str, ms: int):
    assert time_ms(text) == ms


@pytest.mark.parametrize("text", ["", "yesterday", "1969-12-31T23:59:59", "2026-13-01", "0001-01-01T00:00:00+23:00"])
def test_what_is_no_time(text: str):
    with pytest.raises(ClientError):
        time_ms(text)


@pytest.mark.parametrize(
    ("text", "ms"), [("PT1H30M", 5_400_000), ("P7D", 604_800_000), ("PT0.5S", 500), ("P1DT1S", 86_401_000)]
)
def test_a_duration(text: str, ms: int):
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "P", "PT", "1h", "P1Y", "-PT1H", "P9999999D", "PT1H "])
def test_what_is_no_duration(text: str):
    with pytest.raises(ClientError, match="is no duration such as PT1H30M or P7D"):
        duration_ms(text)
