"""What a service manager is told (sd_notify(3)), and when."""

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvloop

from coordinator.config.key import ConfigError
from coordinator.service_manager import ServiceManager


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(10)
        yield sock


def environment(listening: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": listening.getsockname(), **more}


def received(listening: socket.socket) -> list[str]:
    return listening.recv(1000).decode().split("\n")


def in_a_loop(act: Callable[[], None]) -> None:
    async def run() -> None:
        act()

    uvloop.run(run())


def test_ready_and_stopping_are_told_with_a_status(listening):
    manager = ServiceManager(environment(listening))
    in_a_loop(lambda: manager.ready("serving at 127.0.0.1:9092"))
    manager.stopping()
    assert received(listening) == ["READY=1", "STATUS=serving at 127.0.0.1:9092"]
    assert received(listening) == ["STOPPING=1", "STATUS=stopping"]


def test_an_address_that_begins_with_an_at_is_a_name_without_a_file(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        name = f"coordinator-test-{os.getpid()}"
        sock.bind(f"\0{name}")
        sock.settimeout(10)
        ServiceManager({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert received(sock)[0] == "STOPPING=1"


def test_what_the_manager_said_is_taken_out_of_the_environment(listening):
    said = environment(listening, WATCHDOG_USEC="1000000", WATCHDOG_PID=str(os.getpid()), PATH="/bin")
    ServiceManager(said)
    assert said == {"PATH": "/bin"}


def test_without_a_manager_nothing_is_sent():
    manager = ServiceManager({"WATCHDOG_USEC": "1000"})
    in_a_loop(lambda: manager.ready("serving"))
    manager.stopping()
    manager.close()


class ManualLoop:
    """Keeps what is to be called later."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, seconds: float, callback: Callable[..., None], *arguments: object) -> None:
        self.calls.append((seconds, lambda: callback(*arguments)))


def test_each_turn_tells_twice_in_an_interval_that_the_loop_turns(listening, monkeypatch):
    loop = ManualLoop()
    monkeypatch.setattr("asyncio.get_running_loop", lambda: loop)
    manager = ServiceManager(environment(listening, WATCHDOG_USEC="3000000"))
    manager.ready("serving")
    assert received(listening)[0] == "READY=1"
    for _ in range(3):
        assert received(listening) == ["WATCHDOG=1"]
        ((seconds, alive),) = loop.calls
        assert seconds == 1.5
        loop.calls.clear()
        alive()


def test_a_loop_that_is_blocked_tells_nothing(listening):
    async def block() -> None:
        manager = ServiceManager(environment(listening, WATCHDOG_USEC="20000"))
        manager.ready("serving")
        blocked_until = time.monotonic() + 0.1  # ten times as long as between two messages
        while time.monotonic() < blocked_until:
            pass
        manager.close()

    uvloop.run(block())
    assert [received(listening)[0], received(listening)[0]] == ["READY=1", "WATCHDOG=1"]
    listening.setblocking(False)
    with pytest.raises(BlockingIOError):
        listening.recv(1000)


def test_the_watchdog_of_another_process_is_not_answered(listening):
    manager = ServiceManager(environment(listening, WATCHDOG_USEC="1000000", WATCHDOG_PID=str(os.getpid() + 1)))
    assert manager.watchdog_seconds == 0
    assert ServiceManager(environment(listening, WATCHDOG_USEC="1000000")).watchdog_seconds == 1


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"NOTIFY_SOCKET": "vsock:2:1234"}, "it is neither a path nor a name"),
        ({"NOTIFY_SOCKET": "/there/is/nothing"}, "nobody listens there"),
        ({"WATCHDOG_USEC": "soon"}, "WATCHDOG_USEC=soon: it is not a number of microseconds"),
        ({"WATCHDOG_USEC": "0"}, "it is not a number of microseconds"),
    ],
)
def test_what_cannot_be_understood_is_one_line(said, problem):
    with pytest.raises(ConfigError, match=problem) as raised:
        ServiceManager(said)
    assert "\n" not in str(raised.value)


def test_a_manager_that_goes_away_does_not_end_the_server(listening, capsys):
    manager = ServiceManager(environment(listening))
    listening.close()
    manager.stopping()
