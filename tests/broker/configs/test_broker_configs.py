"""Changes of the configs of brokers: what Kafka 4.3.1 answered to each is in the tables, but where it is said."""

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.configs.broker_config_keys import LISTENER_SECURITY, REPLICATION_THROTTLES, broker_config_keys
from coordinator.broker.configs.broker_configs import (
    CLUSTER,
    NAME_LENGTH_MAX,
    UNKNOWN_CONFIGS_MAX,
    can_change,
    check_broker_configs,
    effective,
    incremental_change,
)
from coordinator.broker.configs.config_changes import Operation
from coordinator.broker.topics import TopicError
from coordinator.config.kafka_broker_configs import PER_BROKER, READ_ONLY, kafka_broker_configs
from coordinator.config.network_keys import MAX_CONNECTIONS_PER_IP_OVERRIDES
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource

SET, DELETE, APPEND, SUBTRACT = range(4)
NODE = "1"
BOTH = (NODE, CLUSTER)
NOT_DYNAMIC = "Cannot update these configs dynamically: "
ONE_BROKER = "Cannot update these configs at default cluster level, broker id must be specified: "
PER_LISTENER = "These security configs can be dynamically updated only per-listener using the listener prefix: "
THREADS = "Dynamic thread count update validation failed for "


def problem_of(name, configs, stored=None, **settings):
    config = Config({key.replace("_", "."): value for key, value in settings.items()})
    try:
        check_broker_configs(name, configs, stored or {}, config, NODE)
    except TopicError as problem:
        return problem.error, str(problem)
    return None


def reconfiguration(message):
    prefix = "Invalid value org.apache.kafka.common.config.ConfigException: "
    return f"{prefix}{message} for configuration Invalid dynamic configuration"


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"message.max.bytes": " 12 "},
        {"unclean.leader.election.enable": "TRUE"},
        {"log.retention.ms": "-1"},
        {"log.cleanup.policy": ""},
        {"log.cleanup.policy": "compact,delete"},
        {"min.insync.replicas": "2"},
        {"leader.replication.throttled.rate": "5"},
        {"max.connections.per.ip.overrides": "127.0.0.1:50"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:50"},
        {"num.io.threads": "4", "num.network.threads": "6", "log.cleaner.threads": "2"},
        {"metric.reporters": "org.apache.kafka.common.metrics.JmxReporter"},
        {"listener.name.plaintext.max.connections": "70"},
        {"log.local.retention.bytes": "-1"},
        {"no.such.key": "x"},
        {"": "x"},
    ],
)
def test_what_kafka_accepts_is_accepted(name, configs):
    assert problem_of(name, configs) is None


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"node.id": "3"}, f"{NOT_DYNAMIC}[node.id]"),
        ({"node.id": "3", "log.dirs": "/x", "message.max.bytes": "x"}, f"{NOT_DYNAMIC}[node.id, log.dirs]"),
        ({"log.retention.hours": "3"}, f"{NOT_DYNAMIC}[log.retention.hours]"),
        ({"advertised.listeners": "PLAINTEXT://x:1"}, f"{NOT_DYNAMIC}[advertised.listeners]"),
        ({"ssl.keystore.location": "/x"}, f"{PER_LISTENER}[ssl.keystore.location]"),
        (
            {"message.max.bytes": "abc"},
            "Invalid value abc for configuration message.max.bytes: Not a number of type INT",
        ),
        ({"message.max.bytes": ""}, "Invalid value  for configuration message.max.bytes: Not a number of type INT"),
        ({"message.max.bytes": "-5"}, "Invalid value -5 for configuration message.max.bytes: Value must be at least 0"),
        (
            {"unclean.leader.election.enable": "maybe"},
            "Invalid value maybe for configuration unclean.leader.election.enable: Expected value to be either true or "
            "false",
        ),
        (
            {"compression.gzip.level": "0"},
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            {"compression.lz4.level": "20"},
            "Invalid value 20 for configuration compression.lz4.level: Value must be no more than 17",
        ),
        (
            {"log.cleaner.min.cleanable.ratio": "5"},
            "Invalid value 5.0 for configuration log.cleaner.min.cleanable.ratio: Value must be no more than 1",
        ),
        (
            {"log.cleanup.policy": "x"},
            "Invalid value x for configuration log.cleanup.policy: String must be one of: compact, delete",
        ),
        (
            {"log.retention.ms": "0"},
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ),
        ({"log.roll.jitter.ms": "-1"}, "requirement failed: log.roll.jitter.ms must be greater than or equal to 0"),
        (
            {"max.connections.per.ip": "0"},
            "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides "
            "property is set.",
        ),
        (
            {"num.io.threads": "17"},
            reconfiguration(f"{THREADS}num.io.threads=17, value should not be greater than double the current value 8"),
        ),
        (
            {"num.io.threads": "3"},
            reconfiguration(f"{THREADS}num.io.threads=3, value should be at least half the current value 8"),
        ),
        (
            {"log.cleaner.threads": "3"},
            reconfiguration("Log cleaner threads cannot be increased to more than double the current value 1"),
        ),
        (
            {"log.local.retention.ms": "999999999999"},
            reconfiguration(
                "Invalid value 999999999999 for configuration log.local.retention.ms: Value must not be more than "
                "log.retention.ms property value: 604800000"
            ),
        ),
        (
            {"listener.name.plaintext.max.connections": "x"},
            "Invalid value x for configuration max.connections: Not a number of type INT",
        ),
    ],
)
def test_what_kafka_refuses_is_refused_with_its_message(name, configs, message):
    assert problem_of(name, configs) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize(
    "key", ["sasl.jaas.config", "listeners", "cordoned.log.dirs", "listener.name.plaintext.ssl.keystore.location"]
)
def test_what_is_of_one_broker_cannot_be_set_for_all(key):
    assert problem_of(CLUSTER, {key: ""}) == (ErrorCode.INVALID_REQUEST, f"{ONE_BROKER}[{key}]")


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        (
            {"listeners": "PLAINTEXT://:1", "ssl.protocol": "TLSv1.2"},
            "This server reads these configs when it starts: [listeners, ssl.protocol]. Change its file of settings, "
            "and restart it",
        ),
        (
            {"listener.name.plaintext.scram-sha-256.sasl.jaas.config": "x"},
            "This server reads these configs when it starts: [listener.name.plaintext.scram-sha-256.sasl.jaas.config]. "
            "Change its file of settings, and restart it",
        ),
        (
            {"config.providers": "file"},
            "This server reads these configs when it starts: [config.providers]. Change its file of settings, and "
            "restart it",
        ),
        ({"audit.chain": "true"}, f"{NOT_DYNAMIC}[audit.chain]"),
        (
            {"max.connections.per.ip.overrides": "localhost:5"},
            "max.connections.per.ip.overrides=localhost:5: 'localhost' is no IP address; names are only allowed at the "
            "start",
        ),
        (
            {"log.cleaner.min.compaction.lag.ms": "50", "log.cleaner.max.compaction.lag.ms": "10"},
            "log.cleaner.min.compaction.lag.ms=50: must not be above log.cleaner.max.compaction.lag.ms=10",
        ),
        (
            {"metric.reporters": "x.Y"},
            "Invalid value x.Y for configuration metric.reporters: Class x.Y could not be found.",
        ),
        (
            {"x" * (NAME_LENGTH_MAX + 1): ""},
            "A config that Kafka does not have may have 249 characters in its name and 2048 in its value",
        ),
        (
            {f"x{number}": "" for number in range(UNKNOWN_CONFIGS_MAX + 1)},
            "No more than 50 configs can be set that Kafka does not have",
        ),
    ],
)
def test_what_this_server_refuses_and_kafka_accepts_or_refuses_in_other_words(configs, message):
    assert problem_of(NODE, configs) == (ErrorCode.INVALID_REQUEST, message)


def test_what_is_stored_already_may_stay_though_it_could_not_be_set():
    stored = {NODE: {"listeners": "PLAINTEXT://:1"}}
    assert problem_of(NODE, {"listeners": "PLAINTEXT://:1", "log.retention.ms": "5"}, stored) is None
    assert problem_of(NODE, {}, stored) is None


def test_settings_are_checked_together_with_those_of_the_other_name():
    stored = {NODE: {"max.connections.per.ip.overrides": "127.0.0.1:50"}}
    config = Config()
    config.set_dynamic(ConfigSource.DYNAMIC_BROKER, {MAX_CONNECTIONS_PER_IP_OVERRIDES: "127.0.0.1:50"})
    check_broker_configs(CLUSTER, {"max.connections.per.ip": "0"}, stored, config, NODE)
    with pytest.raises(TopicError, match="can be set to zero only if"):
        check_broker_configs(NODE, {"max.connections.per.ip": "0"}, stored, config, NODE)


def test_threads_grow_from_what_they_are_and_a_removal_is_a_change_too():
    stored = {NODE: {"num.io.threads": "16"}}
    assert problem_of(NODE, {"num.io.threads": "32"}, stored) is None
    assert problem_of(NODE, {}, stored) is None
    assert problem_of(NODE, {}, {NODE: {"num.io.threads": "32"}}) is not None
    assert problem_of(CLUSTER, {"num.io.threads": "100"}, stored) is None, "that of the broker counts"


@pytest.mark.parametrize(
    ("operation", "before", "after"),
    [
        (Operation("log.retention.ms", SET, "5"), {}, {"log.retention.ms": "5"}),
        (Operation("log.retention.ms", DELETE, None), {"log.retention.ms": "5"}, {}),
        (Operation("node.id", DELETE, None), {}, {}),
        (Operation("log.cleanup.policy", APPEND, "compact"), {}, {"log.cleanup.policy": "delete,compact"}),
        (
            Operation("log.cleanup.policy", SUBTRACT, "delete"),
            {"log.cleanup.policy": "delete,compact"},
            {"log.cleanup.policy": "compact"},
        ),
        (Operation("log.dirs", APPEND, "x"), {}, {"log.dirs": "x"}),
    ],
)
def test_operations(operation, before, after):
    assert incremental_change([operation], before) == after


@pytest.mark.parametrize(
    ("operations", "error", "message"),
    [
        (
            [("message.max.bytes", APPEND, "1")],
            40,
            "Config value append is not allowed for config key: message.max.bytes",
        ),
        (
            [("message.max.bytes", SUBTRACT, "1")],
            40,
            "Config value subtract is not allowed for config key: message.max.bytes",
        ),
        ([("no.such", APPEND, "x")], 40, "Unknown config name: no.such"),
        ([("message.max.bytes", 7, "1")], 42, "Unknown operations type 7"),
        ([("message.max.bytes", SET, None)], 42, "Null value not supported for : message.max.bytes"),
        ([("x", SET, "1"), ("x", SET, "2")], 42, "Error due to duplicate config keys"),
    ],
)
def test_operations_that_are_refused(operations, error, message):
    with pytest.raises(TopicError) as problem:
        incremental_change([Operation(*operation) for operation in operations], {})
    assert (problem.value.error, str(problem.value)) == (error, message)


def test_the_value_of_a_broker_counts_before_that_of_all_and_of_the_start():
    name, given = "log.segment.bytes", Config({"log.segment.bytes": "2000000"})
    everywhere = {NODE: {name: "3000000"}, CLUSTER: {name: "4000000"}}
    assert effective(name, everywhere, NODE, given) == ("3000000", ConfigSource.DYNAMIC_BROKER)
    assert effective(name, {CLUSTER: everywhere[CLUSTER]}, NODE, given) == (
        "4000000",
        ConfigSource.DYNAMIC_DEFAULT_BROKER,
    )
    assert effective(name, {}, NODE, given) == ("2000000", ConfigSource.STATIC_BROKER)
    assert effective(name, {}, NODE, Config()) == ("1073741824", ConfigSource.DEFAULT)


def test_the_keys_are_those_of_kafka():
    dynamic = {
        name
        for name, kafka_broker_config in kafka_broker_configs().items()
        if kafka_broker_config.update_mode != READ_ONLY
    }
    assert broker_config_keys().keys() == dynamic | REPLICATION_THROTTLES.keys()
    assert len(dynamic) == 99
    assert {name for name in LISTENER_SECURITY} < {
        name
        for name, kafka_broker_config in kafka_broker_configs().items()
        if kafka_broker_config.update_mode == PER_BROKER
    }


@pytest.mark.parametrize("key", broker_config_keys().values(), ids=lambda each: each.key.name)
def test_each_default_of_kafka_is_a_value(key):
    kafka = kafka_broker_configs().get(key.key.name)
    if kafka is not None and kafka.default:
        text = kafka.default if kafka.type != 6 or key.setting is None else key.setting.format(key.setting.default)
        key.key.parse(text)


def test_only_what_has_an_effect_on_one_broker_or_is_not_read_here_can_change():
    assert can_change("log.retention.ms")
    assert can_change("num.io.threads")
    assert not can_change("listeners")
    assert not can_change("ssl.keystore.location")
    assert not can_change("node.id")
    assert not can_change("no.such.key")
