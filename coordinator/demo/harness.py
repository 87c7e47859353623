"""The processes of the demo: started, listened to, waited for, and ended in every case."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from coordinator.demo.ledger import Report

CLOSE_SECONDS: Final = 5
RECHECK_SECONDS: Final = 0.1
"""A condition is looked at after each report, and this often for what no report tells."""


class StoryFailed(Exception):
    """Something did not happen, or a claim does not hold; the message is one line."""


class Actor:
    """A process and what it has reported so far."""

    def __init__(self, name: str, process: "subprocess.Popen[str]", log: Path, stop_signal: int | None) -> None:
        self.name = name
        self.process = process
        self.log = log
        self._stop_signal = stop_signal
        self.reports: list[Report] = []
        self.may_end = False

    def last(self, event: str) -> Report | None:
        return next((report for report in reversed(self.reports) if report["event"] == event), None)

    def ask_to_stop(self) -> None:
        """Send its stop signal or, if it has none, close its stdin; it ends when it is done with what it does."""
        self.may_end = True
        if self._stop_signal is not None:
            self.process.send_signal(self._stop_signal)
        elif self.process.stdin:
            self.process.stdin.close()

    def tell(self, line: str) -> None:
        assert self.process.stdin, self.name
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """SIGKILL: it gets no chance to say goodbye."""
        self.may_end = True
        self.process.kill()
        self.process.wait()


class Stage:
    """All processes of one story. Leaving the context ends those that still run, the last one first."""

    def __init__(self, logs: Path, close_seconds: float = CLOSE_SECONDS) -> None:
        """`close_seconds`: how long a process has to stop when it is asked to, before it is killed."""
        self._logs = logs
        self._close_seconds = close_seconds
        self._actors: list[Actor] = []
        self._news = threading.Condition()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _undisturbed():
            for actor in reversed(self._actors):  # a server was there first and stays until its clients are gone
                actor.ask_to_stop()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    actor.process.wait(self._close_seconds)
                # Each leads a process group of its own, so this also takes what it started itself: Spark's JVM.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(actor.process.pid, signal.SIGKILL)
                actor.process.wait()

    def start(self, name: str, arguments: Sequence[str], stop_signal: int | None = None) -> Actor:
        """Run `python -m arguments...`, its stderr in a log file. It gets no Ctrl-C of its own: the stage ends it."""
        log = self._logs / f"{name}.log"
        with open(log, "a") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env={**os.environ, "TMPDIR": str(self._logs)},  # what a killed process leaves stays in one place
                start_new_session=True,
            )
        actor = Actor(name, process, log, stop_signal)
        self._actors.append(actor)
        threading.Thread(target=self._listen, args=(actor,), name=f"listen to {name}", daemon=True).start()
        return actor

    def wait_until(self, what: str, happened: Callable[[], Any], seconds: float) -> Any:
        """What `happened` returns, once that is true.

        Raises StoryFailed when it is not within `seconds`, or when a process ended that nobody asked to.
        """
        deadline = monotonic() + seconds
        with self._news:
            while not (result := happened()):
                self._all_well()
                if (left := deadline - monotonic()) <= 0:
                    raise StoryFailed(f"{what}: not within {seconds:g} s (logs in {self._logs})")
                self._news.wait(min(left, RECHECK_SECONDS))
        return result

    def _all_well(self) -> None:
        for actor in self._actors:
            if (failed := actor.last("failed")) is not None:
                raise StoryFailed(f"{actor.name}: {failed['why']}")
            if not actor.may_end and actor.process.poll() is not None:
                raise StoryFailed(f"{actor.name} ended with exit code {actor.process.returncode} (see {actor.log})")

    def _listen(self, actor: Actor) -> None:
        assert actor.process.stdout, actor.name
        for line in actor.process.stdout:
            with self._news:
                actor.reports.append(json.loads(line))
                self._news.notify_all()


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """A second, impatient Ctrl-C must not stop the stopping: that takes CLOSE_SECONDS a process at the worst."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
