"""Threads that wait for the disk, or compute without Python's lock, so that the event loop does not."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final

Done = Callable[[Exception | None], None]
"""Is called in the event loop, with what the first work that failed has raised."""

THREADS: Final = 16
"""As many fsyncs are under way at a time; a file system commits them together."""


class DiskThreads:
    """Runs work in threads. They are started when they are first needed."""

    def __init__(
        self, deliver: Callable[[Callable[[], None]], object], threads: int = THREADS, *, name: str = "disk"
    ) -> None:
        """`deliver` is called in a thread, and calls back in the event loop (`loop.call_soon_threadsafe`)."""
        self._deliver = deliver
        self._count = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._is_stopped = False
        self._undelivered: Exception | None = None

    def run(self, work: Sequence[Callable[[], None]], done: Done) -> None:
        """Run all of it; `done` is called once, when all have ended. After `stop` the caller waits for it."""
        if self._is_stopped:
            InLine().run(work, done)
            return
        shares = [work[first :: self._count] for first in range(min(self._count, len(work)))] or [()]
        round_ = _Round(len(shares), done)
        for share in shares:
            self._threads.submit(self._run_share, share, round_)

    def _run_share(self, share: Sequence[Callable[[], None]], round_: "_Round") -> None:
        problem = _run_all(share)
        if not round_.share_ended(problem):
            return
        if self._is_stopped:
            self._undelivered = self._undelivered or round_.problem
            return
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            self._deliver(partial(round_.done, round_.problem))

    def stop(self, *, wait: bool = True) -> Exception | None:
        """Take no more work. With `wait`, return when what was begun has ended: what failed of it, undelivered."""
        self._is_stopped = True
        self._threads.shutdown(wait=wait, cancel_futures=not wait)
        return self._undelivered


Run = Callable[[Sequence[Callable[[], None]]], None]
"""Runs work and returns when all of it has ended. Raises what the first that failed has raised."""


def run_in_threads(work: Sequence[Callable[[], None]]) -> None:
    """A Run. The work is shared out among threads, which end with it."""
    shares = [work[first::THREADS] for first in range(min(THREADS, len(work)))]
    with ThreadPoolExecutor(max(len(shares), 1), thread_name_prefix="disk") as threads:
        problems = list(threads.map(_run_all, shares))
    for problem in problems:
        if problem is not None:
            raise problem


def run_in_turn(work: Sequence[Callable[[], None]]) -> None:
    """A Run, in the caller's thread."""
    if (problem := _run_all(work)) is not None:
        raise problem


def _run_all(work: Sequence[Callable[[], None]]) -> Exception | None:
    problem: Exception | None = None
    for step in work:
        try:
            step()
        except Exception as raised:
            problem = problem or raised
    return problem


class InLine:
    """In place of DiskThreads: runs work at once, in the caller's thread."""

    def run(self, work: Sequence[Callable[[], None]], done: Done) -> None:
        done(_run_all(work))


class _Round:
    """Work that was begun together."""

    def __init__(self, shares: int, done: Done) -> None:
        self.done = done
        self.problem: Exception | None = None
        self._left = shares
        self._lock = threading.Lock()

    def share_ended(self, problem: Exception | None) -> bool:
        """Note the end of a share; return whether it was the last one."""
        with self._lock:
            self.problem = self.problem or problem
            self._left -= 1
            return self._left == 0
