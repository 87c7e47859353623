"""`coordinator config check`, as a user calls it."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coordinator.cli import main
from tests.certificates import tls_settings

JAAS = "listener.name.sasl_ssl.plain.sasl.jaas.config"
SECRET = "s3cret-of-alice"


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["config", "check", *arguments])


def written(path: Path, settings: dict[str, str]) -> str:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return str(path)


def test_good_settings_are_confirmed_with_their_listeners(tmp_path):
    found = check("--config", written(tmp_path / "server.properties", tls_settings(tmp_path)))
    assert found.exit_code == 0
    assert "its listeners are SSL (SSL)" in found.output


def test_settings_without_a_file_are_those_of_a_start_without_one():
    found = check()
    assert found.exit_code == 0
    assert found.output == "a server starts with these settings; its listeners are PLAINTEXT (PLAINTEXT)\n"


def test_warnings_end_with_an_exit_code_only_if_that_is_asked_for():
    wide = ("--set", "listeners=PLAINTEXT://0.0.0.0:9092")
    assert check(*wide).exit_code == 0
    assert check(*wide).output.startswith("warning: the listener PLAINTEXT (PLAINTEXT, 0.0.0.0:9092) is in clear text")
    assert check(*wide, "--strict").exit_code == 1
    assert check("--strict").exit_code == 0


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"listener": "PLAINTEXT://:9092"}, "unknown setting 'listener'"),
        ({"listeners": "SSL://127.0.0.1:9092"}, "has TLS and no private key"),
        ({"listeners": "SASL_SSL://127.0.0.1:9092"}, "no private key"),
        ({"listeners": "INTERNAL://127.0.0.1:9092"}, "add INTERNAL:PLAINTEXT"),
    ],
)
def test_what_a_start_refuses_is_refused(settings: dict[str, str], problem: str):
    found = check(*(f"--set={name}={value}" for name, value in settings.items()))
    assert found.exit_code == 2
    assert problem in found.output
    assert found.output.count("\n") == 1


def test_users_of_plain_are_checked_and_not_shown(tmp_path):
    module = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{SECRET}";'
    settings = tls_settings(tmp_path) | {"listeners": "SASL_SSL://127.0.0.1:0", "sasl.enabled.mechanisms": "PLAIN"}
    found = check("--config", written(tmp_path / "good.properties", settings | {JAAS: module}))
    assert found.exit_code == 0
    assert SECRET not in found.output
    found = check("--config", written(tmp_path / "broken.properties", settings | {JAAS: module.replace(";", "")}))
    assert found.exit_code == 2
    assert SECRET not in found.output
    assert JAAS in found.output


def test_a_missing_file_is_reported(tmp_path):
    found = check("--config", str(tmp_path / "nowhere.properties"))
    assert found.exit_code == 2
    assert "nowhere.properties" in found.output


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_node_in_front_of_a_cluster_needs_no_users_and_no_acls(tmp_path, protocol: str):
    settings = tls_settings(tmp_path) | {
        "listeners": f"{protocol}://127.0.0.1:9093",
        "cluster.bootstrap.servers": "kafka:9092",
    }
    found = check("--config", written(tmp_path / "node.properties", settings), "--strict")
    assert found.output == f"a server starts with these settings; its listeners are {protocol} ({protocol})\n"
    assert found.exit_code == 0
    settings["ssl.keystore.location"] = str(tmp_path / "none.pem")
    assert check("--config", written(tmp_path / "node.properties", settings)).exit_code == 2
    settings["ssl.keystore.location"] = str(tmp_path / "server.pem")
    settings["cluster.command.config"] = str(tmp_path / "none.properties")
    assert "cannot read" in check("--config", written(tmp_path / "node.properties", settings)).output
