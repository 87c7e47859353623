"""`coordinator serve` as a service manager starts it: what it tells the manager, and sockets that it is given."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from tests.servers import inheriting
from tests.waiting import wait_for
from tests.wire_client import WireClient


class Manager:
    """Stands for systemd: hears what services say, and opens the sockets of a client port and an admin port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.heard.bind(str(folder / "notify"))
        self.heard.settimeout(30)
        self.clients = socket.create_server(("127.0.0.1", 0))
        self.admin = socket.create_server(("127.0.0.1", 0))

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.clients.getsockname()[1]}"

    def next(self) -> str:
        """The first line of the next message."""
        return self.heard.recv(1000).decode().partition("\n")[0]

    @contextmanager
    def service(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """A server of this manager, which is killed if it still runs at the end."""
        command = [sys.executable, "-m", "coordinator.cli", "serve", "--data-dir", str(self.folder / "data")]
        sockets = (self.clients.fileno(), self.admin.fileno())
        with subprocess.Popen(
            inheriting([*command, *arguments], sockets),
            env={**os.environ, "NOTIFY_SOCKET": str(self.folder / "notify"), **environment},
            pass_fds=sockets,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def close(self) -> None:
        for sock in (self.heard, self.clients, self.admin):
            sock.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    started = Manager(tmp_path)
    yield started
    started.close()


def both_sockets(manager: Manager) -> tuple[list[str], Mapping[str, str]]:
    port, admin = manager.clients.getsockname()[1], manager.admin.getsockname()[1]
    arguments = ["--listen", f"127.0.0.1:{port}", "--admin", f"127.0.0.1:{admin}"]
    return arguments, {"LISTEN_FDS": "2", "LISTEN_FDNAMES": "plaintext:admin"}


def answers(bootstrap: str) -> bool:
    with WireClient(bootstrap) as client:
        return bool(client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE)


def test_it_is_ready_when_clients_are_served_and_says_when_it_stops(manager):
    with manager.service("--listen", "127.0.0.1:0", "--ready-file", str(manager.folder / "ready")) as server:
        assert manager.next() == "READY=1"
        assert answers(json.loads((manager.folder / "ready").read_text())["bootstrap"])
        server.terminate()
        assert manager.next() == "STOPPING=1"
        assert server.wait(30) == 0


def test_it_tells_in_time_that_it_is_alive_and_a_stopped_one_does_not(manager):
    with manager.service("--listen", "127.0.0.1:0", WATCHDOG_USEC="200000") as server:
        assert [manager.next() for _ in range(4)] == ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1"]
        server.send_signal(signal.SIGSTOP)
        manager.heard.settimeout(0.5)  # longer than the interval in which it has to say so
        with pytest.raises(TimeoutError):
            while manager.next():  # what it said before it was stopped
                pass
        server.send_signal(signal.SIGCONT)
        manager.heard.settimeout(30)
        assert manager.next() == "WATCHDOG=1"


def test_it_serves_at_the_sockets_of_the_manager(manager):
    arguments, environment = both_sockets(manager)
    with manager.service(*arguments, **environment):
        assert manager.next() == "READY=1"
        assert answers(manager.bootstrap)
        with urllib.request.urlopen(f"http://127.0.0.1:{manager.admin.getsockname()[1]}/readyz", timeout=30) as ready:
            assert ready.status == 200


def test_who_connects_during_a_restart_waits_and_is_answered(manager):
    arguments, environment = both_sockets(manager)
    with manager.service(*arguments, **environment) as server:
        assert manager.next() == "READY=1"
        server.terminate()
        assert server.wait(30) == 0
    assert manager.next() == "STOPPING=1"
    with WireClient(manager.bootstrap) as client:  # nobody is there, and the connection is not refused
        answered: list[int] = []
        asking = threading.Thread(
            target=lambda: answered.append(client.request(ApiVersionsRequest(), 0).error_code), daemon=True
        )
        asking.start()
        with manager.service(*arguments, **environment):
            wait_for(lambda: answered, 30, "the answer of the server that was started again")
    assert answered == [ErrorCode.NONE]


@pytest.mark.parametrize(
    ("names", "arguments", "problem"),
    [
        ("plaintext:kafka.socket", (), "the socket KAFKA.SOCKET has the name of no listener"),
        ("plaintext", (), "it has not a name for each of 2 sockets"),
        ("plaintext:admin", ("--cluster", "127.0.0.1:1"), "a node in front of a cluster opens its ports itself"),
    ],
)
def test_sockets_that_nobody_can_use_are_one_line(manager, names, arguments, problem):
    with manager.service(
        "--listen", manager.bootstrap, "--admin", "127.0.0.1:0", *arguments, LISTEN_FDS="2", LISTEN_FDNAMES=names
    ) as server:
        assert server.wait(30) == 2
        assert server.stderr is not None
        (line,) = server.stderr.read().splitlines()
    assert line.startswith("coordinator: LISTEN_FD")
    assert problem in line


def test_a_port_that_is_not_that_of_its_socket_is_one_line(manager):
    _, environment = both_sockets(manager)
    with manager.service("--listen", "127.0.0.1:1", "--admin", "127.0.0.1:0", **environment) as server:
        assert server.wait(30) == 2
        assert server.stderr is not None
        (line,) = server.stderr.read().splitlines()
    assert line.endswith("and its listener 1: write the same port in both")
