"""The layers of settings. What is expected of variables is what KafkaDockerWrapper of Kafka 4.3.1 makes of them."""

import pytest

from coordinator.config.given import NO_SETTINGS, Given, Layer, given_by_options, given_in_environment, given_in_file
from coordinator.config.key import ConfigError


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("KAFKA_LISTENERS", "listeners"),
        ("KAFKA_CFG_LISTENERS", "listeners"),
        ("KAFKA_CFG_LISTENER_NAME_CLIENT_PLAIN_SASL_JAAS_CONFIG", "listener.name.client.plain.sasl.jaas.config"),
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_A__B", "a_b"),
        ("KAFKA_A___B", "a-b"),
        ("KAFKA_A____B", "a-.b"),
        ("KAFKA_A_____B", "a-_b"),
        ("KAFKA_A______B", "a--b"),
        ("KAFKA_KAFKA_X", "kafka.x"),
        ("KAFKA_X_KAFKA_Y", "x.kafka.y"),
        ("KAFKA_lower_Case", "lower.case"),
        ("KAFKA_HEAP_OPT", "heap.opt"),
        (
            "KAFKA_LISTENER_NAME_SASL___PLAINTEXT_SCRAM___SHA___256_SASL_JAAS_CONFIG",
            "listener.name.sasl-plaintext.scram-sha-256.sasl.jaas.config",
        ),
    ],
)
def test_a_variable_gives_a_setting(variable, setting):
    assert given_in_environment({variable: "v"}) == {setting: Given("v", Layer.ENVIRONMENT, variable)}


@pytest.mark.parametrize("variable", [*sorted(NO_SETTINGS), "KAFKA_", "KAFKA", "LOG_DIRS", "kafka_log_dirs"])
def test_other_variables_give_none(variable):
    assert given_in_environment({variable: "v"}) == {}


def test_the_jaas_file_is_found_among_the_options_of_java():
    options = '-Xms64m "-Djava.security.auth.login.config=/a b/jaas.conf" -Dother=x'
    assert given_in_environment({"KAFKA_OPTS": options}) == {
        "java.security.auth.login.config": Given("/a b/jaas.conf", Layer.ENVIRONMENT, "KAFKA_OPTS")
    }
    with pytest.raises(ConfigError, match="KAFKA_OPTS: No closing quotation"):
        given_in_environment({"KAFKA_OPTS": "-Da='b"})


def test_a_file_gives_settings_with_their_lines(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("# a\nnode.id=1\nlog.dirs=\\\n  /a,\\\n  /b\nnode.id = 2\n")
    assert given_in_file(path) == {
        "node.id": Given("2", Layer.FILE, f"{path}:6"),
        "log.dirs": Given("/a,/b", Layer.FILE, f"{path}:3"),
    }


def test_options_give_settings():
    assert given_by_options(["a=1", "b = x=y "]) == {
        "a": Given("1", Layer.OPTION, "--set"),
        "b": Given("x=y", Layer.OPTION, "--set"),
    }
    with pytest.raises(ConfigError, match="expected KEY=VALUE"):
        given_by_options(["a"])
