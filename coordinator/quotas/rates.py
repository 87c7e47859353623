"""How much was used in a time: Kafka's Rate over a WindowedSum (KIP-13), and its TokenBucket (KIP-599)."""

from collections import deque
from typing import Final, NamedTuple

import msgspec

THROTTLE_TIME_MS_MAX: Final = 2**31 - 1
"""What the field of a response holds: 24 days. A quota may be so small that more would be due."""


class Window(NamedTuple):
    """How a quota is measured: over `samples` of `sample_ms` each, the current one included."""

    samples: int
    sample_ms: int


class _Sample(msgspec.Struct):
    begun_ms: int
    last_ms: int
    total: float


class Rate:
    """What was recorded, per second, over the last samples.

    Of the samples before the first one Kafka assumes that nothing was recorded in them, so a burst counts against the
    whole window and not against the moment that it took.
    """

    __slots__ = ("_samples", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._samples: deque[_Sample] = deque()

    def record(self, value: float, now_ms: int) -> None:
        """Record a value. A negative one takes back what was recorded at the same time."""
        samples = self._samples
        if not samples or now_ms - samples[-1].begun_ms >= self._window.sample_ms:
            samples.append(_Sample(now_ms, now_ms, 0.0))
            if len(samples) > self._window.samples + 1:
                samples.popleft()
        current = samples[-1]
        current.total += value
        current.last_ms = now_ms

    def measure(self, now_ms: int) -> tuple[float, int]:
        """Return the rate per second, and over how many ms it was measured."""
        samples, (count, sample_ms) = self._samples, self._window
        while samples and now_ms - samples[0].last_ms >= count * sample_ms:
            samples.popleft()
        elapsed_ms = now_ms - samples[0].begun_ms if samples else 0
        missing = count - 1 - elapsed_ms // sample_ms
        # A window of one sample has no length when it begins.
        elapsed_ms = max(elapsed_ms + max(missing, 0) * sample_ms, 1)
        return sum(sample.total for sample in samples) * 1000 / elapsed_ms, elapsed_ms

    def throttle_time_ms(self, limit: float, now_ms: int) -> int:
        """How long nothing may be recorded until the rate is back at the limit: 0 if it is not above it."""
        rate, elapsed_ms = self.measure(now_ms)
        return _whole_ms((rate - limit) / limit * elapsed_ms) if rate > limit else 0


class TokenBucket:
    """Tokens that come back at the rate of the quota, up to those of a whole window. It may go below zero."""

    __slots__ = ("_last_ms", "_tokens", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._tokens: float | None = None
        self._last_ms = 0

    def consume(self, tokens: float, limit: float, now_ms: int) -> None:
        self._refill(limit, now_ms)
        assert self._tokens is not None
        self._tokens -= tokens

    def throttle_time_ms(self, limit: float, now_ms: int) -> int:
        """How long it takes until there are no fewer than zero tokens."""
        self._refill(limit, now_ms)
        assert self._tokens is not None
        return _whole_ms(-self._tokens / limit * 1000) if self._tokens < 0 else 0

    def _refill(self, limit: float, now_ms: int) -> None:
        burst = limit * self._window.samples * self._window.sample_ms / 1000
        if self._tokens is None:
            self._tokens = burst
        else:
            self._tokens = min(burst, self._tokens + limit * (now_ms - self._last_ms) / 1000)
        self._last_ms = now_ms


def _whole_ms(throttle_ms: float) -> int:
    return round(min(throttle_ms, THROTTLE_TIME_MS_MAX))
