"""A server.properties of a Kafka is taken as it is."""

from pathlib import Path

import pytest

from coordinator.config.given import Given, Layer, given_in_file
from coordinator.config.kafka_names import is_of_kafka
from coordinator.config.key import ConfigError
from coordinator.config.listener_keys import LISTENERS
from coordinator.config.server_keys import LOG_DIRS, NODE_ID
from coordinator.config.settings import Config
from coordinator.config.understood import NAMES_SHOWN_MAX, shortened, understand
from coordinator.front.listener import parse_listeners

DATA = Path(__file__).with_name("data")
UNUSED, UNKNOWN, OTHERWISE = (
    "settings of Kafka that this server does not use",
    "unknown settings, not used",
    "settings that this server uses otherwise",
)


def given(layer: Layer = Layer.FILE, **settings: str) -> dict[str, Given]:
    return {name.replace("_", "."): Given(text, layer, "place") for name, text in settings.items()}


def test_a_file_of_a_kafka_with_kraft():
    found = understand(given_in_file(DATA / "kraft.properties"))
    config = Config(found.texts, unused=found.unused_texts)
    (listener,) = parse_listeners(config)
    assert (listener.name, listener.address.port, config[NODE_ID]) == ("PLAINTEXT", 9092, 1)
    assert dict(found.lines()) == {
        UNUSED: "controller.listener.names, controller.quorum.bootstrap.servers, num.io.threads, num.network.threads, "
        "num.recovery.threads.per.data.dir, process.roles, "
        "socket.receive.buffer.bytes, socket.send.buffer.bytes",
        OTHERWISE: "listeners without CONTROLLER://:9093 of controllers; advertised.listeners without "
        "CONTROLLER://localhost:9093 of controllers",
    }


def test_a_file_of_a_kafka_with_zookeeper():
    found = understand(given_in_file(DATA / "zookeeper.properties"))
    config = Config(found.texts, unused=found.unused_texts)
    assert (config[NODE_ID], config[LOG_DIRS]) == (0, "/tmp/kafka-logs")
    lines = dict(found.lines())
    assert lines.keys() == {UNUSED, OTHERWISE}
    assert "zookeeper.connect, zookeeper.connection.timeout.ms" in lines[UNUSED]
    assert lines[OTHERWISE] == "broker.id=0 is taken for node.id=0"


def test_later_layers_count_before_earlier_ones():
    found = understand(
        given(Layer.FILE, num_partitions="1", node_id="1", group_max_size="1"),
        given(Layer.ENVIRONMENT, num_partitions="2", node_id="2"),
        given(Layer.OPTION, num_partitions="3"),
    )
    assert found.texts == {"num.partitions": "3", "node.id": "2", "group.max.size": "1"}
    assert found.used["num.partitions"].layer is Layer.OPTION


def test_what_nobody_knows_is_named_with_what_was_perhaps_meant():
    found = understand(given(log_retenion_ms="1", confluent_license_topic="x"))
    assert found.texts == {}
    assert list(found.lines()) == [
        (UNKNOWN, "'confluent.license.topic', 'log.retenion.ms' (did you mean 'log.retention.ms'?)")
    ]


def test_what_nobody_knows_is_an_error_if_an_option_gives_it():
    found = understand(given(Layer.OPTION, log_retenion_ms="1", num_io_threads="9"))
    assert (found.unused_texts, list(found.unknown)) == ({"num.io.threads": "9"}, [])
    with pytest.raises(ConfigError, match=r"unknown setting 'log.retenion.ms'; did you mean 'log.retention.ms'"):
        Config(found.texts)


def test_other_names_of_a_setting_count_unless_it_is_given():
    found = understand(given(broker_id="7", log_dir="/a", log_roll_hours="2"))
    assert found.texts == {"node.id": "7", "log.dirs": "/a", "log.roll.ms": "7200000"}
    found = understand(
        given(broker_id="7", log_dir="/a", log_roll_hours="2", node_id="8", log_dirs="/b", log_roll_ms="9")
    )
    assert found.texts == {"node.id": "8", "log.dirs": "/b", "log.roll.ms": "9"}
    assert found.unused.keys() == {"broker.id", "log.dir", "log.roll.hours"}
    assert understand(given(broker_id="-1")).texts == {}, "Kafka's default: it has none"
    with pytest.raises(ConfigError, match=r"log.roll.hours=x: expected a whole number"):
        understand(given(log_roll_hours="x"))


def test_listeners_of_controllers_are_left_out_with_their_settings():
    found = understand(
        given(
            controller_listener_names="CONTROLLER, Other",
            listeners="CONTROLLER://:1,PLAINTEXT://:2,OTHER://:3",
        )
        | {
            "listener.name.controller.ssl.client.auth": Given("required", Layer.FILE, ""),
            "listener.name.plaintext.ssl.client.auth": Given("none", Layer.FILE, ""),
            "listener.name.plaintext.sasl.login.class": Given("x", Layer.FILE, ""),
        }
    )
    assert found.texts == {LISTENERS.name: "PLAINTEXT://:2", "listener.name.plaintext.ssl.client.auth": "none"}
    assert {
        "listener.name.controller.ssl.client.auth",
        "listener.name.plaintext.sasl.login.class",
    } < found.unused.keys()


def test_a_controller_that_is_no_broker_is_refused():
    with pytest.raises(ConfigError, match=r"process.roles=controller: this server is a broker"):
        understand(given(process_roles="controller"))


def test_names_that_kafka_had():
    assert all(map(is_of_kafka, ["num.io.threads", "zookeeper.set.acl", "inter.broker.protocol.version"]))
    assert not is_of_kafka("audit.chain")


def test_a_line_has_an_end():
    assert shortened(["a"] * (NAMES_SHOWN_MAX + 3)).endswith("a and 3 more")
    assert shortened(["a"] * NAMES_SHOWN_MAX).endswith("a, a")
