"""Notices when the event loop stands still, and says where (the one thread that serves everybody).

A timer of the loop keeps the time of its last turn. A thread looks at it, and adds up the time without a turn, as far
as the thread was awake itself: that the whole process was suspended (SIGSTOP, a laptop that sleeps) is nobody's fault.
If the thread overslept while the process was computing, something held the interpreter's lock, so that time counts.
"""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from coordinator.logger import logger

STALL_SECONDS: Final = 1.0
INTERVAL_SECONDS: Final = 0.25
FRAMES_MAX: Final = 20


class StallMeter:
    """Adds up for how long the loop has not turned, from what the thread sees when it wakes up. Times are seconds."""

    def __init__(self, now: float, cpu: float) -> None:
        """`now` is any clock that goes on while the process is suspended, `cpu` the time that the process computed."""
        self._now = now
        self._cpu = cpu
        self._stalled = 0.0

    def look(self, turned_at: float, now: float, cpu: float) -> float:
        """Return for how long the loop has not turned, given when it last did."""
        elapsed, computed = now - self._now, cpu - self._cpu
        if turned_at > self._now:
            self._stalled = 0.0
        new = min(elapsed, now - turned_at)
        if elapsed > 2 * INTERVAL_SECONDS:
            new = min(new, max(computed, INTERVAL_SECONDS))
        self._now, self._cpu = now, cpu
        self._stalled += new
        return self._stalled


class Watchdog:
    """Watches the running event loop from `start` to `stop`: a line when a stall is noticed, another when it ends."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._now = now
        self._turned_at = now()
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
        self._turned_at = self._now()
        self._timer = self._loop.call_later(INTERVAL_SECONDS, self._turn)

    def _run(self) -> None:
        meter = StallMeter(self._now(), time.process_time())
        told_seconds = 0.0
        while not self._stopping.wait(INTERVAL_SECONDS):
            seconds = meter.look(self._turned_at, self._now(), time.process_time())
            if seconds < told_seconds:
                logger.warning("the event loop goes on", after_seconds=round(told_seconds, 1))
                told_seconds = 0.0
            elif seconds > STALL_SECONDS:
                if not told_seconds:
                    stack = stack_of(sys._current_frames().get(self._loop_thread))
                    logger.warning("the event loop stands still; no client is served", at=stack)
                told_seconds = seconds


def stack_of(frame: FrameType | None) -> str:
    """Where a thread is, in one line: FILE:LINE FUNCTION, the innermost call first."""
    calls: list[str] = []
    while frame is not None and len(calls) < FRAMES_MAX:
        file = "/".join(frame.f_code.co_filename.split("/")[-3:])
        calls.append(f"{file}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(calls)
