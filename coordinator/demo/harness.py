"""Starts the processes of the demo, reads their reports, waits for conditions, and ends the processes in every case."""

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
"""A condition is checked after each report, and at this interval because a process may exit without a report."""


class ScenarioFailed(Exception):
    """A step did not complete, or a check failed. The message is one line."""


class Process:
    """A process and its reports so far. `may_exit` is True once it was requested to stop."""

    def __init__(self, name: str, popen: "subprocess.Popen[str]", log: Path, stop_signal: int | None) -> None:
        self.name = name
        self.popen = popen
        self.log = log
        self._stop_signal = stop_signal
        self.reports: list[Report] = []
        self.may_exit = False

    def last(self, event: str) -> Report | None:
        return next((report for report in reversed(self.reports) if report["event"] == event), None)

    def request_stop(self) -> None:
        """Send the stop signal of the process or, if it has none, close its stdin. The process exits by itself."""
        self.may_exit = True
        if self._stop_signal is not None:
            self.popen.send_signal(self._stop_signal)
        elif self.popen.stdin:
            self.popen.stdin.close()

    def send_line(self, line: str) -> None:
        assert self.popen.stdin, self.name
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()

    def kill(self) -> None:
        """Kill the process with SIGKILL, so that it cannot leave its group or close its connections."""
        self.may_exit = True
        self.popen.kill()
        self.popen.wait()


class Harness:
    """All processes of one scenario. When the context ends, running processes are stopped in reverse order."""

    def __init__(self, logs: Path, close_seconds: float = CLOSE_SECONDS) -> None:
        """Create a harness with log files in `logs`. A process that does not stop within `close_seconds` is killed."""
        self._logs = logs
        self._close_seconds = close_seconds
        self._processes: list[Process] = []
        self._report_received = threading.Condition()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with _signals_ignored():
            for process in reversed(self._processes):  # the server was started first and stops last
                process.request_stop()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.popen.wait(self._close_seconds)
                # Each process leads its own process group, so this also ends its children: Spark's JVM.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.popen.pid, signal.SIGKILL)
                process.popen.wait()

    def start(self, name: str, arguments: Sequence[str], stop_signal: int | None = None) -> Process:
        """Run `python -m arguments...` with stderr in a log file, in its own session: it does not receive Ctrl-C."""
        log = self._logs / f"{name}.log"
        with open(log, "a") as stderr:
            popen = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env={**os.environ, "TMPDIR": str(self._logs)},  # temporary files of a killed process stay here
                start_new_session=True,
            )
        process = Process(name, popen, log, stop_signal)
        self._processes.append(process)
        threading.Thread(target=self._listen, args=(process,), name=f"listen to {name}", daemon=True).start()
        return process

    def wait_until(self, what: str, happened: Callable[[], Any], seconds: float) -> Any:
        """Wait until `happened` returns a true value, and return that value.

        Raises:
            ScenarioFailed: that took more than `seconds`, or a process failed or exited without a request to stop.
        """
        deadline = monotonic() + seconds
        with self._report_received:
            while not (result := happened()):
                self._check_processes()
                if (left := deadline - monotonic()) <= 0:
                    raise ScenarioFailed(f"{what}: not within {seconds:g} s (logs in {self._logs})")
                self._report_received.wait(min(left, RECHECK_SECONDS))
        return result

    def _check_processes(self) -> None:
        for process in self._processes:
            if (failed := process.last("failed")) is not None:
                raise ScenarioFailed(f"{process.name}: {failed['why']}")
            if not process.may_exit and process.popen.poll() is not None:
                raise ScenarioFailed(
                    f"{process.name} ended with exit code {process.popen.returncode} (see {process.log})"
                )

    def _listen(self, process: Process) -> None:
        assert process.popen.stdout, process.name
        for line in process.popen.stdout:
            with self._report_received:
                process.reports.append(json.loads(line))
                self._report_received.notify_all()


@contextlib.contextmanager
def _signals_ignored() -> Iterator[None]:
    """Ignore further Ctrl-C while the processes are stopped, which takes up to CLOSE_SECONDS per process."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
