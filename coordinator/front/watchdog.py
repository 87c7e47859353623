"""Notices that the event loop, the one thread that serves everybody, has not turned for a while, and says why.

A timer of the loop keeps the time of its last turn. A thread compares it with the clock, and with what the system
says of both threads (`/proc/self/task/*/schedstat`). It tells apart:

- the loop is blocked: it computes or waits in a call, and the line says where;
- the loop did not get CPU: it was ready to run, and waited for a processor that others had;
- the process was suspended (SIGSTOP, a laptop that sleeps): it neither ran nor was ready to.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

import msgspec

from coordinator.logger import logger

STALL_SECONDS: Final = 1.0
INTERVAL_SECONDS: Final = 0.25
FRAMES_MAX: Final = 20

SUSPENDED: Final = "suspended"
WITHOUT_CPU: Final = "without_cpu"
BLOCKED: Final = "blocked"
NANOSECONDS: Final = 1_000_000_000


class Clocks(msgspec.Struct, frozen=True):
    """Readings at one moment, in seconds."""

    now: float
    """Of any clock that goes on while the process is suspended."""
    cpu: float
    """For how long the process has computed."""
    loop_waited: float = 0.0
    """For how long the thread of the loop has waited for a processor."""
    own_waited: float = 0.0
    """The same of the thread that watches."""


class StallMeter:
    """Adds up for how long the loop has not turned, from what the thread sees when it wakes up."""

    def __init__(self, clocks: Clocks) -> None:
        self._last = clocks
        self.stalled = 0.0
        """For how long the loop has not turned, as far as the process was not suspended, in seconds."""
        self.without_cpu = 0.0
        """The part of it in which the loop was ready to run, and had no processor."""
        self.suspended = 0.0
        """For how long the process was suspended since the last look."""

    def sample(self, turned_at: float, clocks: Clocks) -> None:
        """Bring the attributes up to date, given when the loop last turned."""
        last, self._last = self._last, clocks
        elapsed, computed = clocks.now - last.now, clocks.cpu - last.cpu
        loop_waited, own_waited = clocks.loop_waited - last.loop_waited, clocks.own_waited - last.own_waited
        if turned_at > last.now:
            self.stalled = self.without_cpu = 0.0
        new = min(elapsed, clocks.now - turned_at)
        self.suspended = 0.0
        if elapsed > 2 * INTERVAL_SECONDS:
            # The thread overslept: something held the interpreter's lock, nobody had a processor, or nobody ran at all.
            explained = max(computed + max(loop_waited, own_waited), INTERVAL_SECONDS)
            self.suspended = max(elapsed - explained - INTERVAL_SECONDS, 0.0)
            new = min(new, explained)
        self.stalled += new
        self.without_cpu += min(loop_waited, new)


class Watchdog:
    """Watches the running event loop from `start` to `stop`: a line when a stall is noticed, another when it ends.

    `on_pause(seconds, kind)` is called in the loop, first of all when it goes on after it stood still for so long.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        on_pause: Callable[[float, str], None] = lambda seconds, kind: None,
    ) -> None:
        self._on_pause = on_pause
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._loop_task = threading.get_native_id()
        self._now = now
        self._turned_at = self._sampled_at = now()
        self._cpu = self._waited = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)

    def start(self) -> None:
        self._turn()
        self._thread.start()

    def stop(self) -> None:
        """Watch no more. Called in the loop."""
        if self._timer is not None:
            self._timer.cancel()
        self._stopping.set()
        self._thread.join()

    def _turn(self) -> None:
        now = self._now()
        paused = now - self._turned_at - INTERVAL_SECONDS
        cpu, waited = time.process_time(), waited_seconds(self._loop_task)
        if paused > STALL_SECONDS:
            # The thread did not look while nobody ran. It may have looked just now, when the process went on.
            looked = self._turned_at + 2 * INTERVAL_SECONDS < self._sampled_at < now - INTERVAL_SECONDS
            self._on_pause(paused, pause_kind(paused, cpu - self._cpu, waited - self._waited, sampled=looked))
        self._turned_at, self._cpu, self._waited = now, cpu, waited
        self._timer = self._loop.call_later(INTERVAL_SECONDS, self._turn)

    def _clocks(self, own_task: int) -> Clocks:
        return Clocks(self._now(), time.process_time(), waited_seconds(self._loop_task), waited_seconds(own_task))

    def _run(self) -> None:
        own_task = threading.get_native_id()
        meter = StallMeter(self._clocks(own_task))
        reported_seconds = 0.0
        while not self._stopping.wait(INTERVAL_SECONDS):
            # First of all: the loop may go on while the clocks are read.
            is_late = self._now() - self._turned_at > STALL_SECONDS
            stack = stack_of(sys._current_frames().get(self._loop_thread)) if is_late else ""
            meter.sample(self._turned_at, self._clocks(own_task))
            self._sampled_at = self._now()
            if meter.suspended > STALL_SECONDS:
                logger.warning(f"process was suspended for {meter.suspended:.1f} s")
            if meter.stalled < reported_seconds:
                logger.warning("event loop resumed", after_seconds=round(reported_seconds, 1))
                reported_seconds = 0.0
            elif meter.stalled > STALL_SECONDS and is_late:
                if not reported_seconds:
                    _report(meter, stack)
                reported_seconds = meter.stalled


def pause_kind(paused: float, computed: float, waited: float, *, sampled: bool) -> str:
    """What a pause of the loop was. Times are in seconds; `sampled`: another thread of the process ran meanwhile."""
    if waited > paused / 2:
        return WITHOUT_CPU
    return BLOCKED if sampled or computed > paused / 2 else SUSPENDED


def _report(meter: StallMeter, stack: str) -> None:
    if meter.without_cpu > meter.stalled / 2:
        logger.warning(f"event loop did not get CPU for {meter.without_cpu:.1f} of {meter.stalled:.1f} s", at=stack)
    else:
        logger.warning(f"event loop blocked for {meter.stalled:.1f} s", at=stack)


def waited_seconds(task: int) -> float:
    """For how long a thread of this process has waited for a processor while it was ready; 0 if the system has no such
    count. Of the three numbers of schedstat (proc(5), sched-stats.rst) the second one, in nanoseconds."""
    try:
        with open(f"/proc/self/task/{task}/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1]) / NANOSECONDS
    except (OSError, IndexError, ValueError):
        return 0.0


def stack_of(frame: FrameType | None) -> str:
    """Where a thread is, in one line: FILE:LINE FUNCTION, the innermost call first."""
    calls: list[str] = []
    while frame is not None and len(calls) < FRAMES_MAX:
        file = "/".join(frame.f_code.co_filename.split("/")[-3:])
        calls.append(f"{file}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(calls)
