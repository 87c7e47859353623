"""Real servers as processes of their own, for tests that speak to them over sockets."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from coordinator.groups.checked import CheckFailed
from tests.waiting import wait_for

START_SECONDS: Final = 20
STOP_SECONDS: Final = 10

AS_A_SERVICE_MANAGER: Final = """
import fcntl, os, sys
count = int(sys.argv[1])
given = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 100) for number in sys.argv[2 : 2 + count]]
for number, descriptor in enumerate(given, 3):
    os.dup2(descriptor, number)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2 + count], sys.argv[2 + count :])
"""
"""Runs a command with sockets, from descriptor 3 on. Only the process itself knows its id."""

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


def inheriting(command: Sequence[str], descriptors: Sequence[int]) -> list[str]:
    """The command, run with sockets as systemd passes them; the environment says the rest (LISTEN_FDS)."""
    return [sys.executable, "-c", AS_A_SERVICE_MANAGER, str(len(descriptors)), *map(str, descriptors), *command]


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
        socket_unit: bool = False,
    ) -> None:
        """`module` is what is run as `coordinator`. `environment` is added to that of the test.

        `open_files_max` is the soft and the hard limit on open files; those of the test without it.

        `log_dirs` are names in `folder`.

        With `socket_unit` the port is opened here, as by a service manager, and stays open between a stop and a start.
        """
        self.folder = folder
        self.log_dirs = [folder / log_dir for log_dir in log_dirs]
        """They may be changed between two starts."""
        self.data = self.log_dirs[0]
        self.log = folder / "serve.log"
        self._settings = settings
        self._log_level = log_level
        self._module = module
        self._open_files_max = open_files_max
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1024) if socket_unit else None
        self.bootstrap = "" if self._socket is None else f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.admin = ""
        """HOST:PORT of the admin port; empty without the setting `admin.listener`."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, problem: type[BaseException] | None, *rest: object) -> None:
        if self._process is not None:
            self.kill()
        if self._socket is not None:
            self._socket.close()
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
        environment = {**os.environ, **self._environment}
        descriptors: tuple[int, ...] = ()
        if self._socket is not None:
            descriptors = (self._socket.fileno(),)
            command = inheriting(command, descriptors)
            environment |= {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "PLAINTEXT"}
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment, pass_fds=descriptors
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
