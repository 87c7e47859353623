"""SIGHUP, at a server in a process of its own and at a handler alone."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.cli import reload_signal
from coordinator.cli.reload_signal import ReloadSignal
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from tests.cli.test_serve import serving
from tests.front.log_lines import log_lines
from tests.waiting import wait_for

NOT_READ = "the settings cannot be read again; nothing has changed"


def test_a_server_reads_its_file_again(tmp_path):
    path, log = tmp_path / "server.properties", tmp_path / "log"
    path.write_text("log.retention.ms=5000\nnum.partitions=3\n")

    def said(line: str) -> None:
        wait_for(lambda: line in log.read_text(), 20, line)

    with (
        log.open("wb") as stderr,
        serving(
            "--config", path, "--listen", "127.0.0.1:0", "--data-dir", tmp_path / "data", stderr=stderr.fileno()
        ) as process,
    ):
        said("file descriptors")
        path.write_text("log.retention.ms=6000\nnum.partitions=4\nlog.retenion.ms=1\n")
        process.send_signal(signal.SIGHUP)
        said("setting changed                setting=log.retention.ms value=6000\n")
        said("settings have changed that need a restart settings=num.partitions\n")
        said("(did you mean 'log.retention.ms'?)")
        path.write_text("log.retention.ms=many\n")
        process.send_signal(signal.SIGHUP)
        said(f"{NOT_READ} problem='log.retention.ms=many: expected a whole number'\n")
        path.unlink()
        process.send_signal(signal.SIGHUP)
        said(f'{NOT_READ} problem="cannot read {path}')
    assert "Traceback" not in log.read_text()


class Handler:
    """A handler, and what it has done."""

    def __init__(self) -> None:
        self.stops = 0
        self.applied: list[Config] = []
        self.again: Config | ConfigError = Config()
        self.signal = ReloadSignal(self._read, self._stop)

    def _read(self) -> Config:
        if isinstance(self.again, ConfigError):
            raise self.again
        return self.again

    def _stop(self) -> None:
        self.stops += 1


@pytest.fixture(autouse=True)
def hang_up_as_before() -> Iterator[None]:
    """A handler leaves the signal ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, for the tests too
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the handler takes for the terminal of the process."""
    path = tmp_path / "tty"
    path.touch()
    monkeypatch.setattr(reload_signal, "TERMINAL", str(path))
    return path


def test_the_signal_is_a_stop_when_the_terminal_is_gone(terminal):
    async def story() -> None:
        handler = Handler()
        handler.signal.started(handler.applied.append)
        handler.signal.received()
        assert (handler.stops, len(handler.applied)) == (0, 1)
        terminal.unlink()
        handler.signal.received()
        assert (handler.stops, len(handler.applied)) == (1, 1)
        handler.signal.close()

    asyncio.run(story())


def test_a_server_without_a_terminal_never_stops_by_the_signal(terminal):
    terminal.unlink()

    async def story() -> None:
        handler = Handler()
        handler.signal.started(handler.applied.append)
        handler.signal.received()
        assert (handler.stops, len(handler.applied)) == (0, 1)
        handler.signal.close()

    asyncio.run(story())


def test_a_server_of_nohup_goes_on_without_its_terminal(terminal):
    async def story() -> None:
        handler = Handler()
        handler.signal.started(handler.applied.append)
        terminal.unlink()
        handler.signal.received()
        assert (handler.stops, len(handler.applied)) == (0, 1)
        handler.signal.close()

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        asyncio.run(story())
    finally:
        signal.signal(signal.SIGHUP, before)


def test_nothing_is_read_before_the_start_has_ended_and_a_problem_is_one_line(terminal):
    async def story() -> None:
        handler = Handler()
        with log_lines() as lines:
            handler.signal.received()
            handler.signal.started(handler.applied.append)
            handler.again = ConfigError("broken")
            handler.signal.received()
        assert lines.problems == ["SIGHUP before the start has ended: the settings are not read again", NOT_READ]
        assert lines.of(NOT_READ) == [{"problem": "broken"}]
        assert handler.applied == []
        handler.signal.close()

    asyncio.run(story())


def test_a_process_knows_whether_it_has_a_terminal():
    code = "from coordinator.cli.reload_signal import has_terminal; raise SystemExit(has_terminal())"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, start_new_session=True, check=False).returncode == 0
    within = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    in_terminal = [sys.executable, "-c", within, *command]
    assert subprocess.run(in_terminal, stdin=subprocess.DEVNULL, check=False).returncode == 1
