"""Processes under valgrind, whose instructions are counted."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from tests.waiting import wait_for

START_SECONDS: Final = 300
IDLE_SECONDS: Final = 5
ENOUGH: Final = 10_000_000
"""Instructions of a measurement: a timer of the idle server, some 25,000, is then a quarter of a percent."""
LOOP_THREAD: Final = "01"
"""The thread of the event loop, as callgrind numbers them. What others do goes by the clock: they watch, and flush."""


class CountedProcess:
    """A process under callgrind, 50 times slower than usual. Leaving its context kills it."""

    def __init__(self, command: Sequence[str], folder: Path, scratch: Path) -> None:
        """`folder` is where it runs; its output goes to the file `log` in `scratch`."""
        counting = ["valgrind", "--tool=callgrind", "--separate-threads=yes"]
        counting += [f"--callgrind-out-file={scratch / 'counts'}"]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        self._scratch = scratch
        self._log = scratch / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen([*counting, *command], cwd=folder, env=environment, stdout=log, stderr=log)
        self.idle_per_second = 0.0

    def wait_for_log(self, line: str, what: str) -> None:
        """Wait until its output has this line."""
        wait_for(lambda: line in self._log.read_text(encoding="utf-8").splitlines(), START_SECONDS, what)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def measure_idle(self) -> None:
        """What the server takes in a second without requests is left out of what is counted from now on."""
        self.idle_per_second = self.count(lambda: time.sleep(IDLE_SECONDS)) / IDLE_SECONDS

    def count(self, work: Callable[[], object]) -> float:
        """The instructions that the event loop takes for some work, beyond those that it takes without any."""
        self._control("--zero")
        begin = time.monotonic()
        work()
        idle = self.idle_per_second * (time.monotonic() - begin)
        return self._instructions() - idle

    def per_request(self, send: Callable[[], object], requests: int | None = None) -> float:
        """The same for one of so many requests; None: of as many as a measurement needs."""
        if requests is None:
            few = 20
            requests = max(few, round(ENOUGH / max(self.count(lambda: repeat(send, few)) / few, 1)))
        return self.count(lambda: repeat(send, requests)) / requests

    def _control(self, command: str) -> None:
        subprocess.run(["callgrind_control", command, str(self._process.pid)], check=True, capture_output=True)

    def _instructions(self) -> int:
        """Those since the counters were set to zero."""
        self._control("--dump")
        dumps = self._scratch.glob(f"counts.*-{LOOP_THREAD}")
        newest = max(dumps, key=lambda path: int(path.name.split(".")[1].split("-")[0]))
        found = re.search(r"^(?:totals|summary): (\d+)", newest.read_text(), re.MULTILINE)
        assert found is not None, newest
        return int(found[1])


class CountedServer(CountedProcess):
    """`coordinator serve` of a checkout."""

    def __init__(self, checkout: Path, scratch: Path, settings: Mapping[str, str]) -> None:
        ready = scratch / "ready.json"
        command = [str(checkout / ".venv/bin/python"), "-m", "coordinator.cli", "serve", "--listen=127.0.0.1:0"]
        command += [f"--data-dir={scratch / 'data'}", f"--ready-file={ready}"]
        command += [f"--set={name}={value}" for name, value in settings.items()]
        super().__init__(command, checkout, scratch)
        wait_for(ready.exists, START_SECONDS, "the server under valgrind")
        found = re.search(r'"bootstrap": ?"([^"]+)"', ready.read_text())
        assert found is not None, ready.read_text()
        self.bootstrap: Final = found[1]


def repeat(send: Callable[[], object], times: int) -> None:
    for _ in range(times):
        send()
