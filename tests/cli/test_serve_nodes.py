"""`coordinator serve --nodes`: the settings of each node."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from coordinator.cli import main
from coordinator.cli.serve_nodes import NodeProcesses, settings_of_node
from coordinator.config.key import ConfigError
from coordinator.config.properties import read_properties
from coordinator.service_manager import ServiceManager
from tests.front.log_lines import log_lines

TEXTS = {
    "cluster.bootstrap.servers": "kafka:9092",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "admin.listener": "127.0.0.1:9100",
    "node.id": "4",
}


@pytest.fixture
def hang_up_as_before() -> Iterator[None]:
    """A handler leaves the signal ignored."""
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


def test_each_node_has_its_id_and_its_ports() -> None:
    settings = settings_of_node(TEXTS, 2)
    assert settings["node.id"] == "6"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:9094"
    assert settings["admin.listener"] == "127.0.0.1:9102"
    assert settings["cluster.broker.port.base"] == "21100"
    assert settings["cluster.bootstrap.servers"] == "kafka:9092"


def test_advertised_listeners_move_along() -> None:
    settings = settings_of_node({**TEXTS, "advertised.listeners": "PLAINTEXT://node.example:9092"}, 1)
    assert settings["advertised.listeners"] == "PLAINTEXT://node.example:9093"


@pytest.mark.parametrize(
    "changed",
    [{"listeners": "PLAINTEXT://127.0.0.1:0"}, {"listeners": "PLAINTEXT://127.0.0.1:65535"}],
)
def test_ports_that_cannot_be_are_refused(changed: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="--nodes needs ports"):
        settings_of_node({**TEXTS, **changed}, 1)


def test_ports_for_brokers_end_somewhere() -> None:
    with pytest.raises(ConfigError, match="no ports for node 6"):
        settings_of_node({**TEXTS, "cluster.broker.port.base": "61000"}, 5)


def test_nodes_with_logs_of_their_own_are_refused() -> None:
    result = CliRunner().invoke(main, ["serve", "--nodes", "2", "--listen", "127.0.0.1:0"])
    assert result.exit_code == 2
    assert "--nodes needs --cluster" in result.output


def test_passwords_are_no_arguments_of_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    async def start(*arguments: str, **options: Any) -> None:
        started.extend(arguments)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start)
    texts = {**TEXTS, "listeners": "SASL_SSL://127.0.0.1:9092", "ssl.keystore.password": "secret"}
    processes = NodeProcesses(texts, 2, ("info", "json"), ServiceManager({}))
    asyncio.run(processes._start(1))
    assert started[0] == sys.executable
    assert "secret" not in " ".join(started)
    assert " --log-level info --log-style json " in " ".join(started)
    settings = read_properties(Path(started[started.index("--config") + 1]))
    assert settings == settings_of_node(texts, 1)
    assert settings["listeners"] == "SASL_SSL://127.0.0.1:9093"


class FakeProcess:
    """A node, by what it is told; it runs until it gets SIGTERM."""

    def __init__(self) -> None:
        self.returncode: int | None = None
        self.signals: list[int] = []
        self._ended = asyncio.Event()

    def send_signal(self, number: int) -> None:
        self.signals.append(number)
        if number == signal.SIGTERM:
            self.returncode = 0
            self._ended.set()

    async def wait(self) -> int:
        await self._ended.wait()
        return 0


class FakeNodes:
    """Two nodes whose processes are fakes. What `read_again` raises or returns can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[FakeProcess] = []
        self.configs: list[Path] = []
        self.again: dict[str, str] | ConfigError = TEXTS
        monkeypatch.setattr(asyncio, "create_subprocess_exec", self._start)
        self.processes = NodeProcesses(TEXTS, 2, ("info", "text"), ServiceManager({}))

    async def _start(self, *arguments: str, **options: Any) -> FakeProcess:
        self.configs.append(Path(arguments[arguments.index("--config") + 1]))
        self.started.append(FakeProcess())
        return self.started[-1]

    def read_again(self) -> dict[str, str]:
        if isinstance(self.again, ConfigError):
            raise self.again
        return self.again

    def make_ready(self, number: int) -> None:
        ready = {"bootstrap": f"127.0.0.1:{9092 + number}", "pid": number}
        self.processes._ready_path(number).write_text(json.dumps(ready))

    def retention(self) -> list[str | None]:
        return [read_properties(path).get("log.retention.ms") for path in self.configs]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.005)


def test_each_node_reads_its_settings_again_when_it_is_ready(
    monkeypatch: pytest.MonkeyPatch, hang_up_as_before: None
) -> None:
    async def story() -> None:
        nodes = FakeNodes(monkeypatch)
        running = asyncio.create_task(nodes.processes.run(None, nodes.read_again))
        await until(lambda: len(nodes.started) == 2)
        first, second = nodes.started
        nodes.make_ready(0)
        nodes.again = {**TEXTS, "log.retention.ms": "7000"}
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: first.signals == [signal.SIGHUP])
        assert nodes.retention() == ["7000", "7000"]
        assert second.signals == [], "it would end by the signal"
        nodes.make_ready(1)
        await until(lambda: second.signals == [signal.SIGHUP])
        with log_lines() as lines:
            nodes.again = ConfigError("broken")
            os.kill(os.getpid(), signal.SIGHUP)
            await until(lambda: bool(lines.problems))
        assert lines.of("the settings cannot be read again; nothing has changed") == [{"problem": "broken"}]
        os.kill(os.getpid(), signal.SIGTERM)
        assert await running == 0
        assert first.signals == second.signals == [signal.SIGHUP, signal.SIGTERM]

    asyncio.run(story())
