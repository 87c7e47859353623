"""`coordinator serve --nodes`: the settings of each node."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from coordinator.cli import main
from coordinator.cli.serve_nodes import NodeProcesses, settings_of_node
from coordinator.config.key import ConfigError
from coordinator.config.properties import read_properties
from coordinator.service_manager import ServiceManager

TEXTS = {
    "cluster.bootstrap.servers": "kafka:9092",
    "listeners": "PLAINTEXT://127.0.0.1:9092",
    "admin.listener": "127.0.0.1:9100",
    "node.id": "4",
}


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
    processes = NodeProcesses(texts, 2, "info", ServiceManager({}))
    asyncio.run(processes._start(1))
    assert started[0] == sys.executable
    assert "secret" not in " ".join(started)
    settings = read_properties(Path(started[started.index("--config") + 1]))
    assert settings == settings_of_node(texts, 1)
    assert settings["listeners"] == "SASL_SSL://127.0.0.1:9093"
