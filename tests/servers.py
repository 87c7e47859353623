"""Real servers as processes of their own, for tests that speak to them over sockets."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from coordinator.groups.checked import CheckFailed
from tests.waiting import wait_for

START_SECONDS: Final = 20
STOP_SECONDS: Final = 10

LISTENERS: Final = "listeners"
QUICK_GROUPS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.max.session.timeout.ms": "60000",
    "offset.metadata.max.bytes": "4096",
    "auto.create.topics.enable": "false",
    "group.audit.linger.ms": "0",
}
"""Settings under which groups form at once, sessions may be short, and events can be read before their responses."""


class RunningServer:
    """A `coordinator serve` on a free port, the same one when it is started again. Leaving its context stops it.

    With the setting `listeners` it has those.

    With the checks of the coordinator armed (COORDINATOR_DEBUG), none of them may have failed by then.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] = QUICK_GROUPS,
        *,
        log_level: str = "info",
        open_files_max: tuple[int, int] | None = None,
        module: str = "coordinator.cli",
        log_dirs: Sequence[str] = ("data",),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`module` is what is run as `coordinator`. `environment` is added to that of the test.

        `open_files_max` is the soft and the hard limit on open files; those of the test without it.

        `log_dirs` are names in `folder`.
        """
        self.folder = folder
        self.log_dirs = [folder / each for each in log_dirs]
        """They may be changed between two starts."""
        self.data = self.log_dirs[0]
        self.log = folder / "serve.log"
        self._settings = settings
        self._log_level = log_level
        self._module = module
        self._open_files_max = open_files_max
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap = ""
        self.admin = ""
        """HOST:PORT of the admin port; empty without the setting `admin.listener`."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, problem: type[BaseException] | None, *rest: object) -> None:
        if self._process is not None:
            self.kill()
        if problem is None:
            logged = self.log.read_text(encoding="utf-8")
            assert CheckFailed.__name__ not in logged, logged

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start on what is in the data folder, and wait until it serves."""
        ready = self.folder / "ready.json"
        ready.unlink(missing_ok=True)
        arguments = ["serve", "--ready-file", str(ready)]
        if LISTENERS not in self._settings:
            arguments += ["--listen", self.bootstrap or "127.0.0.1:0"]
        arguments += ["--data-dir", ",".join(map(str, self.log_dirs))]
        arguments.append(f"--log-level={self._log_level}")
        arguments += [f"--set={name}={value}" for name, value in self._settings.items()]
        command = [sys.executable, "-m", self._module, *arguments]
        if self._open_files_max is not None:
            soft, hard = self._open_files_max
            command = ["/bin/sh", "-c", f'ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@"', "sh", *command]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **self._environment}
            )
        self._process = process
        wait_for(lambda: ready.exists() or process.poll() is not None, START_SECONDS, "the server to be ready")
        assert process.poll() is None, self.log.read_text()
        said = json.loads(ready.read_text())
        self.bootstrap, self.admin = said["bootstrap"], said.get("admin", "")

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        return self._end(signal.SIGTERM)

    def interrupt(self) -> int:
        """SIGINT, as Ctrl-C does; the exit status."""
        return self._end(signal.SIGINT)

    def kill(self) -> int:
        """SIGKILL; the exit status."""
        return self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        process, self._process = self._process, None
        process.send_signal(number)
        return process.wait(STOP_SECONDS)
