"""A histogram of plain integers: cheap to observe, read as a whole by a scrape."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

EVENT_BOUNDS_MS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000)
LAG_BOUNDS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
LOAD_BOUNDS_SECONDS: Final = (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class HistogramValue(NamedTuple):
    """The buckets as Prometheus has them: (upper bound as text, observations up to it), the last one +Inf."""

    buckets: list[tuple[str, int]]
    sum: float


Samples = list[tuple[tuple[str, ...], float | HistogramValue]]
"""The values of a metric: (values of its labels, value)."""


def histogram_value(bounds: Sequence[float], counts: Sequence[int], total: float) -> HistogramValue:
    """`counts` has one number for each range between the bounds, and one for what is above the last."""
    names = [*(f"{bound:g}" for bound in bounds), "+Inf"]
    return HistogramValue(list(zip(names, accumulate(counts), strict=True)), total)


class Histogram:
    """Observations by size. The unit is that of the bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def value(self) -> HistogramValue:
        return histogram_value(self.bounds, self.counts, self.sum)
