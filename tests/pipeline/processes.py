"""The job as a process, and waiting for what it does."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

import coordinator

ROOT: Final = Path(coordinator.__file__).parents[1]


@contextmanager
def running(
    command: list[str], scratch: Path, stderr: Any = None, stdout: Any = None, **environment: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process group of its own, so that a kill takes its JVM along. What it cannot remove goes with `scratch`."""
    process = subprocess.Popen(
        command,
        start_new_session=True,
        stdout=stdout,
        stderr=stderr,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch), **environment},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def job_command(bootstrap: str, topic: str, tables: object, *options: str) -> list[str]:
    """`coordinator pipeline run`."""
    command = [sys.executable, "-m", "coordinator.cli", "pipeline", "run", "--tables", str(tables), *options]
    return [*command, "--bootstrap", bootstrap, "--topic", topic]


def wait_while_running(
    condition: Callable[[], object], process: "subprocess.Popen[Any]", seconds: float, what: str, every_ms: int = 20
) -> None:
    """Until the condition is true; fails when the process ends before, or it takes longer.

    A condition that costs more than a look at a file is to be asked less often (`every_ms`).
    """
    deadline = monotonic() + seconds
    while not condition():
        assert monotonic() < deadline, f"waited {seconds} s for {what}"
        try:
            process.wait(every_ms / 1000)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(f"the job ended with exit code {process.returncode}")


def forked_by(pid: int) -> list[int]:
    """The children of all threads of a process: a JVM starts others from any of its threads."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            found += map(int, thread.read_text().split())
    return found
