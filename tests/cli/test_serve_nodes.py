"""`coordinator serve --nodes`: the settings of each node."""

import pytest
from click.testing import CliRunner

from coordinator.cli import main
from coordinator.cli.serve_nodes import settings_of_node
from coordinator.config.key import ConfigError

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
