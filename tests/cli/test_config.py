"""`coordinator config`, as a user calls it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coordinator.cli import main
from coordinator.config.settings import ALL_KEYS
from coordinator.testing import Coordinator
from tests.certificates import tls_settings
from tests.config import test_understood

DATA = Path(test_understood.__file__).with_name("data")
JAAS = "listener.name.sasl_ssl.plain.sasl.jaas.config"
SECRET = "s3cret-of-alice"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["config", *arguments])


def check(*arguments: str) -> Result:
    return run("check", *arguments)


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
    assert found.exit_code == 1
    assert problem in found.output
    assert found.output.count("\n") == 1


def test_users_of_plain_are_checked_and_not_shown(tmp_path):
    module = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{SECRET}";'
    settings = tls_settings(tmp_path) | {"listeners": "SASL_SSL://127.0.0.1:0", "sasl.enabled.mechanisms": "PLAIN"}
    found = check("--config", written(tmp_path / "good.properties", settings | {JAAS: module}))
    assert found.exit_code == 0
    assert SECRET not in found.output
    found = check("--config", written(tmp_path / "broken.properties", settings | {JAAS: module.replace(";", "")}))
    assert found.exit_code == 1
    assert SECRET not in found.output
    assert JAAS in found.output


def test_a_missing_file_is_reported(tmp_path):
    found = check("--config", str(tmp_path / "nowhere.properties"))
    assert found.exit_code == 1
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
    assert check("--config", written(tmp_path / "node.properties", settings)).exit_code == 1
    settings["ssl.keystore.location"] = str(tmp_path / "server.pem")
    settings["cluster.command.config"] = str(tmp_path / "none.properties")
    assert "cannot read" in check("--config", written(tmp_path / "node.properties", settings)).output


# ---------------------------------------------------------------------------------------------------------------- check


def test_each_problem_is_one_line_with_its_place(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("# a\nlog.retenion.ms=5\nnode.id=1\nnum.partitions=many\ngroup.max.size=\\\n  0\nconfluent.x=1\n")
    found = check(str(path), "--set", "log.cleaner.threads=none")
    assert found.exit_code == 1
    assert found.output.splitlines() == [
        f"{path}:2: unknown setting 'log.retenion.ms' (did you mean 'log.retention.ms'?)",
        f"{path}:7: unknown setting 'confluent.x'",
        f"{path}:4: num.partitions=many: expected a whole number",
        f"{path}:5: group.max.size=0: must be at least 1",
        "--set: log.cleaner.threads=none: expected a whole number",
    ]


def test_what_is_wrong_with_settings_together_has_the_place_of_the_first_one(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("node.id=1\ngroup.min.session.timeout.ms=2000000\n")
    found = check(str(path))
    assert found.exit_code == 1
    assert found.output == (
        f"{path}:2: group.min.session.timeout.ms=2000000: must not be above group.max.session.timeout.ms=1800000\n"
    )
    path.write_text("node.id=1\n\nlistener.name.other.ssl.client.auth=none\n")
    assert check(str(path)).output.startswith(f"{path}:3: listener.name.other.ssl.client.auth: there is no such")


def test_a_file_that_cannot_be_parsed_is_a_problem_with_its_line(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("node.id=1\nwords\n")
    found = check(str(path))
    assert (found.exit_code, found.output) == (1, f"{path}:2: expected KEY=VALUE\n")


@pytest.mark.parametrize("name", ["kraft", "zookeeper"])
def test_files_of_kafka_have_no_problems(name):
    found = check(str(DATA / f"{name}.properties"))
    assert found.exit_code == 0
    assert "note: settings of Kafka that this server does not use: " in found.output
    assert "its listeners are PLAINTEXT (PLAINTEXT)\n" in found.output


def test_a_file_is_given_once(tmp_path):
    found = check("a", "--config", "b")
    assert found.exit_code == 2
    assert "give one of them" in found.output


# ----------------------------------------------------------------------------------------------------------------- show


def test_settings_are_shown_with_their_sources(tmp_path, monkeypatch):
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "4")
    path = written(
        tmp_path / "server.properties",
        {"node.id": "7", "num.partitions": "3", "ssl.key.password": SECRET, "log.retention.hours": "168"},
    )
    found = run("show", path, "--environment", "--set", "log.retention.ms=5")
    assert found.exit_code == 0
    assert [line.split() for line in found.output.splitlines()] == [
        ["setting", "value", "source", "place"],
        ["log.retention.ms", "5", "option", "--set"],
        ["node.id", "7", "file", f"{path}:1"],
        ["num.partitions", "4", "environment", "KAFKA_NUM_PARTITIONS"],
        ["ssl.key.password", "[hidden]", "file", f"{path}:3"],
    ]


def test_all_settings_are_shown_with_their_defaults_if_that_is_asked_for():
    rows = json.loads(run("show", "--all", "--output=json", "--set=node.id=7").output)
    assert [row["setting"] for row in rows] == sorted(key.name for key in ALL_KEYS)
    by_name = {row["setting"]: row for row in rows}
    assert by_name["num.partitions"] == {"setting": "num.partitions", "value": "1", "source": "default", "place": ""}
    assert by_name["node.id"]["source"] == "option"
    assert run("show").output == "all settings have their defaults; --all shows them\n"


def test_settings_that_cannot_be_shown_are_one_line():
    found = run("show", "--set=node.id=x")
    assert (found.exit_code, found.output) == (1, "Error: node.id=x: expected a whole number\n")


# ----------------------------------------------------------------------------------------------------------------- diff


def test_two_files_are_compared(tmp_path):
    common = {"node.id": "7", "num.io.threads": "9"}
    jaas = {"sasl.jaas.config": SECRET, "listener.name.plaintext.ssl.key.password": SECRET}
    first = written(tmp_path / "a", common | {"log.retention.ms": "5", "group.max.size": "2147483647"} | jaas)
    second = written(tmp_path / "b", common | {"num.io.threads": "10"} | dict.fromkeys(jaas, "other"))
    found = run("diff", first, second)
    assert found.exit_code == 1
    assert [line.split() for line in found.output.splitlines()] == [
        ["setting", "a", "b"],
        ["listener.name.plaintext.ssl.key.password", "[hidden]", "[hidden]"],
        ["log.retention.ms", "5", "-"],
        ["num.io.threads", "9", "10"],
        ["sasl.jaas.config", "[hidden]", "[hidden]"],
    ]
    csv = run("diff", first, second, "--output=csv").output.splitlines()
    assert csv[:3] == [
        "setting,a,b",
        "listener.name.plaintext.ssl.key.password,[hidden],[hidden]",
        "log.retention.ms,5,",
    ]
    same = run("diff", first, first)
    assert (same.exit_code, same.output) == (0, "the values of all settings are the same\n")
    assert json.loads(run("diff", first, second, "--output=json").output)[2] == {
        "setting": "num.io.threads",
        "a": "9",
        "b": "10",
    }


def test_a_file_is_compared_with_a_running_server(tmp_path):
    path = written(tmp_path / "a", {"num.partitions": "7", "ssl.key.password": SECRET})
    with Coordinator({"num.partitions": "6"}) as server:
        found = run("diff", path, "--bootstrap", server.bootstrap, "--output=json")
    rows = {load["setting"]: (load["a"], load["b"]) for load in json.loads(found.output)}
    assert found.exit_code == 1
    assert rows["num.partitions"] == ("7", "6")
    assert not {"ssl.key.password", "node.id"} & rows.keys()


def test_what_cannot_be_compared_is_one_line(tmp_path):
    path = written(tmp_path / "a", {"node.id": "x"})
    good = written(tmp_path / "b", {})
    assert "second file, or a running server" in run("diff", good).output
    assert run("diff", path, good).output == f"Error: {path}: node.id=x: expected a whole number\n"
    found = run("diff", good, "--bootstrap", "127.0.0.1:1")
    assert (found.exit_code, found.output.count("\n")) == (1, 1)
