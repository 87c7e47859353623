"""Configs of topics and brokers, as a client sees them; what they answer was recorded from Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages import alter_configs, incremental_alter_configs
from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.records import build_batch
from coordinator.config.kafka_broker_configs import kafka_broker_configs
from coordinator.config.settings import ALL_KEYS as SETTINGS
from coordinator.node.handlers.configs import NO_CLIENT_METRICS, REPEATED_RESOURCES_MAX
from coordinator.testing import Coordinator
from tests.wire_client import WireClient

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC_SOURCE, STATIC, DEFAULT = 1, 4, 5
INT, LONG = 3, 5


class ConfigClient(WireClient):
    """A client that creates topics with configs, reads and changes them."""

    def create(self, name: str, version: int = 7, validate_only: bool = False, **configs: str | None) -> Any:
        entries = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
        topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=entries)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=5000, validate_only=validate_only)
        (result,) = self.request(request, version).topics
        return result

    def describe(self, kind: int, name: str, *keys: str, version: int = 4) -> Any:
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys))
        request = DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
        (result,) = self.request(request, version).results
        return result

    def own(self, topic: str) -> dict[str, str]:
        """The configs that the topic has itself."""
        configs = self.describe(TOPIC, topic).configs
        return {config.name: config.value for config in configs if config.config_source == TOPIC_SOURCE}

    def alter(self, kind: int, name: str, *operations: tuple[str, int, str | None], **fields: bool) -> Any:
        entries = [
            incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in operations
        ]
        resource = incremental_alter_configs.AlterConfigsResource(
            resource_type=kind, resource_name=name, configs=entries
        )
        request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource], **fields)
        (result,) = self.request(request, 1).responses
        return result.error_code, result.error_message

    def replace(self, kind: int, name: str, **configs: str | None) -> Any:
        entries = [
            alter_configs.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()
        ]
        resource = alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=entries)
        (result,) = self.request(alter_configs.AlterConfigsRequest(resources=[resource]), 2).responses
        return result.error_code, result.error_message


@pytest.fixture
def client() -> Iterator[ConfigClient]:
    with Coordinator({"log.retention.hours": "2"}) as server, ConfigClient(server.bootstrap) as connected:
        yield connected


# --------------------------------------------------------------------------------------------------------- CreateTopics


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_new_topic_is_answered_with_all_its_configs(client, validate_only):
    result = client.create("t", validate_only=validate_only, retention_ms="5000")
    assert result.error_code == ErrorCode.NONE
    assert len(result.configs) == 33
    values = {config.name: (config.value, config.config_source) for config in result.configs}
    assert values["retention.ms"] == ("5000", TOPIC_SOURCE)
    assert values["segment.ms"] == ("604800000", DEFAULT)
    assert list(values) == sorted(values)


@pytest.mark.parametrize("validate_only", [False, True])
@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"nope": "1"}, "Unknown topic config name: nope"),
        ({"retention_ms": None}, "Null value not supported for topic configs: retention.ms"),
        ({"retention_ms": "x"}, "Invalid value x for configuration retention.ms: Not a number of type LONG"),
    ],
)
def test_a_topic_with_an_invalid_config_is_not_created(client, validate_only, configs, message):
    result = client.create("t", validate_only=validate_only, **configs)
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_CONFIG, message)
    assert client.describe(TOPIC, "t").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_name_of_a_topic_counts_before_its_configs(client):
    client.create("t")
    assert client.create("t", nope="1").error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert client.create("t t", nope="1").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


# -------------------------------------------------------------------------------------------------------- what they do


def test_the_size_of_a_batch_is_limited_per_topic(client):
    client.create("t", max_message_bytes="100")
    client.create("u")
    records = build_batch([(None, bytes(100), ())])
    assert client.produce("t", records).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert client.produce("u", records).error_code == ErrorCode.NONE
    client.alter(TOPIC, "t", ("max.message.bytes", SET, "1000"))
    assert client.produce("t", records).error_code == ErrorCode.NONE


def test_timestamps_are_limited_per_topic(client):
    client.create("t", message_timestamp_before_max_ms="1000")
    records = build_batch([(None, b"v", ())], timestamp_ms=1)
    assert client.produce("t", records).error_code == ErrorCode.INVALID_TIMESTAMP
    client.alter(TOPIC, "t", ("message.timestamp.before.max.ms", DELETE, None))
    assert client.produce("t", records).error_code == ErrorCode.NONE
    late = build_batch([(None, b"v", ())], timestamp_ms=1 << 50)
    assert client.produce("t", late).error_code == ErrorCode.INVALID_TIMESTAMP
    client.alter(TOPIC, "t", ("message.timestamp.after.max.ms", SET, str(1 << 51)))
    assert client.produce("t", late).error_code == ErrorCode.NONE


def test_the_type_of_timestamps_is_that_of_the_topic(client):
    client.create("t", message_timestamp_type="LogAppendTime")
    records = build_batch([(None, b"v", ())], timestamp_ms=1)
    assert client.produce("t", records).log_append_time_ms > 1_000_000
    client.alter(TOPIC, "t", ("message.timestamp.type", DELETE, None))
    assert client.produce("t", records).log_append_time_ms == -1


def test_records_of_a_compacted_topic_need_a_key(client):
    client.create("t", cleanup_policy="compact")
    assert client.produce("t", build_batch([(b"k", b"v", ())])).error_code == ErrorCode.NONE
    rejected = client.produce("t", build_batch([(b"k", b"v", ()), (None, b"v", ()), (b"", b"v", ())]))
    assert rejected.error_code == ErrorCode.INVALID_RECORD
    assert [record_error.batch_index for record_error in rejected.record_errors] == [1]


# ------------------------------------------------------------------------------------------------------------ describe


def test_a_config_is_described_with_its_origins(client):
    client.create("t", retention_ms="1000")
    result = client.describe(TOPIC, "t", "retention.ms", "nope")
    assert (result.error_code, result.error_message) == (ErrorCode.NONE, "")
    (config,) = result.configs
    assert (config.name, config.value, config.config_source, config.config_type) == (
        "retention.ms",
        "1000",
        TOPIC_SOURCE,
        LONG,
    )
    assert not config.read_only
    assert [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms] == [
        ("retention.ms", "1000", TOPIC_SOURCE),
        ("log.retention.hours", "2", STATIC),
    ]
    assert config.documentation


@pytest.mark.parametrize("version", range(5))
def test_every_version_describes(client, version):
    client.create("t", retention_ms="1000")
    by_name = {config.name: config for config in client.describe(TOPIC, "t", version=version).configs}
    assert len(by_name) == 33
    assert by_name["retention.ms"].value == "1000"
    if version == 0:
        assert not by_name["retention.ms"].is_default
        assert by_name["segment.ms"].is_default
    assert bool(by_name["retention.ms"].documentation) is (version >= 3)


def test_a_broker_is_described(client):
    (config,) = client.describe(BROKER, "1", "log.retention.hours").configs
    assert (config.value, config.read_only, config.config_source) == ("2", True, STATIC)
    assert client.describe(BROKER, "").configs == []


def test_a_broker_has_all_configs_of_kafka_and_its_own_settings(client):
    configs = {config.name: config for config in client.describe(BROKER, "1").configs}
    assert configs.keys() == kafka_broker_configs().keys() | {key.name for key in SETTINGS}
    unused = configs["num.io.threads"]
    assert (unused.value, unused.config_source, unused.config_type) == ("8", DEFAULT, INT)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in unused.synonyms] == [
        ("num.io.threads", "8", DEFAULT)
    ]
    assert "Not used by this server" in unused.documentation
    assert configs["broker.id"].value == configs["node.id"].value == "1"


@pytest.mark.parametrize("name", ["log.retention.ms", "log.retention.minutes", "log.roll.ms", "metadata.log.dir"])
def test_a_setting_that_is_not_set_has_no_value_where_another_one_decides(client, name):
    (config,) = client.describe(BROKER, "1", name).configs
    assert (config.value, config.synonyms, config.config_source) == (None, [], DEFAULT)


@pytest.mark.parametrize(
    "name, config_type",
    [("log.dirs", 7), ("log.segment.bytes", INT), ("log.retention.bytes", LONG), ("max.groups.per.ip", LONG)],
)
def test_the_types_are_those_of_kafka(client, name, config_type):
    (config,) = client.describe(BROKER, "1", name).configs
    assert config.config_type == config_type


def test_a_password_is_sensitive(client):
    (config,) = client.describe(BROKER, "1", "ssl.key.password").configs
    assert (config.value, config.is_sensitive, config.config_type) == (None, True, 9)


def test_the_default_of_a_topic_is_that_of_the_broker_where_the_broker_has_one(client):
    client.create("t")
    synonyms = {
        config.name: [(one.name, one.value, one.source) for one in config.synonyms]
        for config in client.describe(TOPIC, "t").configs
    }
    assert synonyms["cleanup.policy"] == [("log.cleanup.policy", "delete", DEFAULT)]
    assert synonyms["compression.type"] == [("compression.type", "producer", DEFAULT)]
    assert synonyms["flush.ms"] == synonyms["remote.storage.enable"] == []


@pytest.mark.parametrize(
    ("kind", "name", "error", "message"),
    [
        (TOPIC, "missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION, "topic name '' is not allowed"),
        (BROKER, "2", ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: x"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "Group name must not be empty"),
        (METRICS, "", ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"),
        (LOGGER, "1", ErrorCode.NONE, ""),
    ],
)
def test_what_has_no_configs_is_answered_as_by_kafka(client, kind, name, error, message):
    result = client.describe(kind, name)
    assert (result.error_code, result.error_message, result.configs) == (error, message, [])


def test_an_unknown_type_of_resource_is_an_invalid_request(client):
    assert client.describe(99, "x").error_code == ErrorCode.INVALID_REQUEST


def test_a_resource_is_described_as_often_as_it_is_named_up_to_a_limit(client):
    resource = DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=["node.id"])
    resources = [resource] * (REPEATED_RESOURCES_MAX + 2)
    *described, last = client.request(DescribeConfigsRequest(resources=resources), 4).results
    assert all(len(each.configs) == 1 and each.error_code == ErrorCode.NONE for each in described)
    assert (last.error_code, last.configs) == (ErrorCode.INVALID_REQUEST, [])


# -------------------------------------------------------------------------------------------------------------- change


def test_single_configs_are_changed(client):
    client.create("t", segment_ms="9")
    assert client.alter(TOPIC, "t", ("retention.ms", SET, "5"), ("cleanup.policy", APPEND, "compact")) == (0, None)
    assert client.own("t") == {"segment.ms": "9", "retention.ms": "5", "cleanup.policy": "delete,compact"}
    assert client.alter(TOPIC, "t", ("retention.ms", DELETE, None), ("cleanup.policy", SUBTRACT, "delete")) == (0, None)
    assert client.own("t") == {"segment.ms": "9", "cleanup.policy": "compact"}


def test_all_configs_are_replaced(client):
    client.create("t", segment_ms="9")
    assert client.replace(TOPIC, "t", retention_ms="5") == (ErrorCode.NONE, None)
    assert client.own("t") == {"retention.ms": "5"}
    assert client.replace(TOPIC, "t") == (ErrorCode.NONE, None)
    assert client.own("t") == {}


@pytest.mark.parametrize(
    ("kind", "name", "operations", "error", "message"),
    [
        (TOPIC, "t", [("nope", SET, "x")], ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
        (TOPIC, "missing", [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'missing' does not exist."),
        (TOPIC, "", [], ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed."),
        (
            BROKER,
            "1",
            [("node.id", SET, "5")],
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: [node.id]",
        ),
        (
            BROKER,
            "",
            [("log.retention.hours", SET, "5")],
            ErrorCode.INVALID_REQUEST,
            "Cannot update these configs dynamically: [log.retention.hours]",
        ),
        (BROKER, "2", [], ErrorCode.INVALID_REQUEST, "Unexpected broker id, expected 1, but received 2"),
        (BROKER, "x", [], ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: x"),
        (LOGGER, "1", [("x", SET, "INFO")], ErrorCode.INVALID_CONFIG, "Logger x does not exist!"),
        (GROUP, "g", [("nope", SET, "1")], ErrorCode.INVALID_CONFIG, "Unknown group config name: nope"),
        (99, "x", [], ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
        (LOGGER, "", [], ErrorCode.INVALID_REQUEST, "Node id must be an integer, but it is: "),
        (METRICS, "", [], ErrorCode.INVALID_REQUEST, "Subscription name can't be empty"),
        (METRICS, "m", [("x", SET, "1")], ErrorCode.INVALID_CONFIG, "Unknown client metrics configuration: x"),
        (METRICS, "m", [("match", SET, "1")], ErrorCode.INVALID_CONFIG, NO_CLIENT_METRICS),
    ],
)
def test_what_cannot_change_is_refused(client, kind, name, operations, error, message):
    client.create("t", retention_ms="5")
    assert client.alter(kind, name, *operations) == (error, message)
    assert client.own("t") == {"retention.ms": "5"}


def test_loggers_are_not_replaced(client):
    resource = alter_configs.AlterConfigsResource(resource_type=LOGGER, resource_name="1", configs=[])
    (answer,) = client.request(alter_configs.AlterConfigsRequest(resources=[resource]), 2).responses
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, "Unknown resource type 8")


def test_a_resource_whose_change_is_partly_invalid_stays_as_it_is(client):
    client.create("t")
    error, _ = client.alter(TOPIC, "t", ("retention.ms", SET, "7"), ("nope", SET, "1"))
    assert error == ErrorCode.INVALID_CONFIG
    assert client.own("t") == {}


def test_a_change_can_be_only_validated(client):
    client.create("t")
    assert client.alter(TOPIC, "t", ("retention.ms", SET, "7"), validate_only=True) == (ErrorCode.NONE, None)
    error, _ = client.alter(TOPIC, "t", ("retention.ms", SET, "x"), validate_only=True)
    assert error == ErrorCode.INVALID_CONFIG
    assert client.own("t") == {}


def test_a_resource_that_is_named_twice_is_changed_by_none(client):
    client.create("t")
    entry = incremental_alter_configs.AlterableConfig(name="retention.ms", config_operation=SET, value="1")
    resource = incremental_alter_configs.AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[entry])
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=[resource, resource])
    responses = client.request(request, 1).responses
    assert [(response.error_code, response.error_message) for response in responses] == [
        (ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
    ] * 2
    assert client.own("t") == {}


def test_configs_survive_a_kill():
    with Coordinator() as server:
        with ConfigClient(server.bootstrap) as client:
            client.create("t", retention_ms="5")
            client.alter(TOPIC, "t", ("max.message.bytes", SET, "100"))
        server.restart()
        with ConfigClient(server.bootstrap) as client:
            assert client.own("t") == {"retention.ms": "5", "max.message.bytes": "100"}
            assert client.produce("t", build_batch([(None, bytes(100), ())])).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_config_of_an_internal_topic_that_would_make_commits_fail_is_refused(client):
    for change in (
        client.alter(TOPIC, "__consumer_offsets", ("max.message.bytes", SET, "1")),
        client.replace(TOPIC, "__consumer_offsets", max_message_bytes="1"),
    ):
        error, message = change
        assert error == ErrorCode.INVALID_CONFIG
        assert "must be at least 1048588 for the internal topic __consumer_offsets" in message
    assert client.own("__consumer_offsets") == {"cleanup.policy": "compact", "compression.type": "producer"}
    assert client.alter(TOPIC, "__consumer_offsets", ("max.message.bytes", SET, "2000000"))[0] == ErrorCode.NONE
    assert client.own("__consumer_offsets")["max.message.bytes"] == "2000000"
