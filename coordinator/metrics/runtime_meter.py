"""Measures the shards and the loop from outside: what it wraps does not know of it."""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from coordinator.core.causes import Cause
from coordinator.groups.state_machine import GroupStateMachine
from coordinator.metrics.histogram import EVENT_BOUNDS_MS, LAG_BOUNDS_SECONDS, LOAD_BOUNDS_SECONDS, Histogram
from coordinator.metrics.timing import AppendMeter, TimeHistogram
from coordinator.runtime.shard import Shard, ShardState

WINDOW_SECONDS: Final = 30
"""Of what Kafka has as a maximum or an average of the last 30 seconds."""

PROBE_SECONDS: Final = 0.25
"""The interval at which the lag of the loop is measured."""


class RuntimeMeter:
    """What the shards, their stores and the loop did."""

    def __init__(self) -> None:
        self.queue_times = TimeHistogram(EVENT_BOUNDS_MS)
        self.processing_times = TimeHistogram(EVENT_BOUNDS_MS)
        self.flush_times = TimeHistogram(EVENT_BOUNDS_MS)
        self.appends = AppendMeter(self.flush_times)
        self.load_seconds = Histogram(LOAD_BOUNDS_SECONDS)
        self.load_failures = 0
        self._recent_loads: deque[tuple[float, float]] = deque()
        """(when it ended, how long it took), in seconds."""

    def loaded(self, began: float, state: ShardState) -> None:
        """A load that began at `began` (of `perf_counter`) is over."""
        now = perf_counter()
        if state is ShardState.FAILED:
            self.load_failures += 1
        elif state is ShardState.ACTIVE:
            self.load_seconds.observe(now - began)
            self._recent_loads.append((now, now - began))
            self._forget_loads(now)

    def recent_loads_ms(self) -> list[float]:
        """How long the loads of the last `WINDOW_SECONDS` took, in ms."""
        self._forget_loads(perf_counter())
        return [seconds * 1000 for _, seconds in self._recent_loads]

    def _forget_loads(self, now: float) -> None:
        while self._recent_loads and self._recent_loads[0][0] < now - WINDOW_SECONDS:
            self._recent_loads.popleft()


class MeteredShard(Shard[GroupStateMachine]):
    """A shard whose loads are timed."""

    def __init__(self, *arguments: Any, meter: RuntimeMeter, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._meter = meter
        self._load_began: float | None = None

    def start_loading(self, cause: Cause | None = None) -> None:
        super().start_loading(cause)
        self._load_began = None

    def load_next_slice(self, now_ms: int, *is_time_over: Callable[[], bool]) -> bool:
        if self._load_began is None:
            self._load_began = perf_counter()
        is_over = super().load_next_slice(now_ms, *is_time_over)
        if is_over:
            self._meter.loaded(self._load_began, self.state)
        return is_over


class LoopProbe:
    """Measures how late the loop is, and which share of the time it spends in drains."""

    def __init__(self, meter: RuntimeMeter) -> None:
        self.lag_seconds = Histogram(LAG_BOUNDS_SECONDS)
        self._meter = meter
        self._timer: asyncio.TimerHandle | None = None
        self._busy: deque[tuple[float, float]] = deque(maxlen=int(WINDOW_SECONDS / PROBE_SECONDS))
        """(time in seconds, ms spent in drains until then)."""

    def start(self) -> None:
        self._expect(asyncio.get_running_loop())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _expect(self, loop: asyncio.AbstractEventLoop) -> None:
        self._busy.append((perf_counter(), self._meter.processing_times.sum_ms))
        self._timer = loop.call_later(PROBE_SECONDS, self._tick, loop, perf_counter() + PROBE_SECONDS)

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.lag_seconds.observe(max(perf_counter() - due, 0.0))
        self._expect(loop)

    @property
    def idle_ratio(self) -> float:
        """The share of the last `WINDOW_SECONDS` that was not spent in drains."""
        since, busy_ms = self._busy[0]
        elapsed_ms = (perf_counter() - since) * 1000
        if elapsed_ms <= 0:
            return 1.0
        return max(1 - (self._meter.processing_times.sum_ms - busy_ms) / elapsed_ms, 0.0)
