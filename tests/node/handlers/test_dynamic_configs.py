"""The configs of a broker are changed while it runs (KIP-226); what is answered was compared with Kafka 4.3.1."""

from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic

import pytest

from _wire.errors import ErrorCode
from _wire.messages import incremental_alter_configs
from _wire.records import build_batch
from coordinator.testing import Coordinator
from tests.node.handlers.test_configs import (
    APPEND,
    BROKER,
    DEFAULT,
    DELETE,
    SET,
    STATIC,
    TOPIC,
    TOPIC_SOURCE,
    ConfigClient,
)
from tests.waiting import wait_for

ALL, NODE = "", "1"
OF_BROKER, OF_ALL = 2, 3
RETENTION = "log.retention.ms"
HOURS = ("log.retention.hours", "168", DEFAULT)


@pytest.fixture
def server() -> Iterator[Coordinator]:
    with Coordinator({"message.max.bytes": "2000"}) as running:
        yield running


@pytest.fixture
def client(server: Coordinator) -> Iterator[ConfigClient]:
    with ConfigClient(server.bootstrap) as connected:
        yield connected


def synonyms(config):
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


def change(client, name, **configs):
    operations = [(key.replace("_", "."), SET, value) for key, value in configs.items()]
    assert client.alter(BROKER, name, *operations) == (ErrorCode.NONE, None)


def test_a_broker_has_the_values_of_all_sources(client):
    change(client, NODE, message_max_bytes="5000")
    change(client, ALL, message_max_bytes="4000", log_retention_ms="7")
    (config,) = client.describe(BROKER, NODE, "message.max.bytes").configs
    assert (config.value, config.config_source, config.read_only) == ("5000", OF_BROKER, False)
    assert synonyms(config) == [
        ("message.max.bytes", "5000", OF_BROKER),
        ("message.max.bytes", "4000", OF_ALL),
        ("message.max.bytes", "2000", STATIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]
    for_all = client.describe(BROKER, ALL).configs
    assert [(each.name, each.value, each.config_source, synonyms(each)) for each in for_all] == [
        (RETENTION, "7", OF_ALL, [(RETENTION, "7", OF_ALL)]),
        ("message.max.bytes", "4000", OF_ALL, [("message.max.bytes", "4000", OF_ALL)]),
    ]
    assert [each.name for each in client.describe(BROKER, ALL, RETENTION).configs] == [RETENTION]


def test_configs_that_decide_together_are_synonyms_from_the_own_name_on(client):
    change(client, NODE, log_retention_ms="5000", log_roll_ms="6000")
    change(client, ALL, log_retention_ms="7000")
    keys = (RETENTION, "log.retention.hours", "log.retention.minutes", "log.roll.ms", "log.flush.interval.ms")
    found = {config.name: synonyms(config) for config in client.describe(BROKER, NODE, *keys).configs}
    assert found == {
        RETENTION: [
            (RETENTION, "5000", OF_BROKER),
            (RETENTION, "7000", OF_ALL),
            ("log.retention.hours", "168", DEFAULT),
        ],
        "log.retention.hours": [("log.retention.hours", "168", DEFAULT)],
        "log.retention.minutes": [],
        "log.roll.ms": [("log.roll.ms", "6000", OF_BROKER), ("log.roll.hours", "168", DEFAULT)],
        "log.flush.interval.ms": [],
    }


def test_which_configs_are_read_only(client):
    configs = {config.name: config.read_only for config in client.describe(BROKER, NODE).configs}
    changeable = {name for name, is_read_only in configs.items() if not is_read_only}
    assert {RETENTION, "message.max.bytes", "num.io.threads", "max.connections"} < changeable
    assert not {"node.id", "log.dirs", "listeners", "audit.chain", "log.retention.hours"} & changeable


def test_what_no_kafka_has_is_stored_and_kept_secret(client):
    change(client, NODE, no_such_key="sesame")
    (config,) = client.describe(BROKER, NODE, "no.such.key").configs
    assert (config.value, config.is_sensitive, config.config_type, config.read_only) == (None, True, 0, True)
    assert synonyms(config) == [("no.such.key", None, OF_BROKER)]


def test_values_are_shown_as_kafka_writes_them(client):
    change(
        client, NODE, unclean_leader_election_enable="TRUE", log_cleanup_policy="compact, delete", num_io_threads=" 9 "
    )
    values = {config.name: config.value for config in client.describe(BROKER, NODE).configs}
    assert values["unclean.leader.election.enable"] == "true"
    assert values["log.cleanup.policy"] == "compact,delete"
    assert values["num.io.threads"] == "9"


def test_a_limit_of_one_listener_shows_that_of_all(client):
    name = "listener.name.external.max.connections"
    assert client.alter(BROKER, NODE, (name, SET, "70")) == (ErrorCode.NONE, None)
    (config,) = client.describe(BROKER, NODE, name).configs
    assert synonyms(config) == [(name, "70", OF_BROKER), ("max.connections", "2147483647", DEFAULT)]


@pytest.mark.parametrize("is_clean", [True, False])
def test_what_is_set_survives_a_restart(server, is_clean):
    with ConfigClient(server.bootstrap) as client:
        change(client, NODE, message_max_bytes="5000", num_io_threads="9")
        change(client, ALL, log_retention_ms="7")
    server.restart(clean=is_clean)
    with ConfigClient(server.bootstrap) as client:
        values = {config.name: (config.value, config.config_source) for config in client.describe(BROKER, NODE).configs}
        assert values["message.max.bytes"] == ("5000", OF_BROKER)
        assert values["num.io.threads"] == ("9", OF_BROKER)
        assert values[RETENTION] == ("7", OF_ALL)
        client.create("t")
        assert client.produce("t", build_batch([(None, bytes(3000), ())])).error_code == ErrorCode.NONE


def test_nothing_changes_if_it_is_only_validated_or_partly_invalid(client):
    assert client.alter(BROKER, NODE, (RETENTION, SET, "5"), validate_only=True) == (ErrorCode.NONE, None)
    error, _ = client.alter(BROKER, NODE, (RETENTION, SET, "5"), ("node.id", SET, "5"))
    assert error == ErrorCode.INVALID_REQUEST
    (config,) = client.describe(BROKER, NODE, RETENTION).configs
    assert config.config_source == DEFAULT


def test_all_configs_of_a_broker_are_replaced(client):
    change(client, NODE, log_retention_ms="5", num_io_threads="9")
    assert client.replace(BROKER, NODE, message_max_bytes="6000") == (ErrorCode.NONE, None)
    configs = client.describe(BROKER, NODE).configs
    assert [config.name for config in configs if config.config_source == OF_BROKER] == ["message.max.bytes"]
    assert client.replace(BROKER, NODE) == (ErrorCode.NONE, None)
    assert not any(config.config_source == OF_BROKER for config in client.describe(BROKER, NODE).configs)


def test_both_names_can_be_in_one_request(client):
    entry = incremental_alter_configs.AlterableConfig(name=RETENTION, config_operation=SET, value="5")
    resources = [
        incremental_alter_configs.AlterConfigsResource(resource_type=BROKER, resource_name=name, configs=[entry])
        for name in (ALL, NODE, "7")
    ]
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(resources=resources)
    results = client.request(request, 1).responses
    assert [result.error_code for result in results] == [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    (config,) = client.describe(BROKER, NODE, RETENTION).configs
    assert synonyms(config) == [(RETENTION, "5", OF_BROKER), (RETENTION, "5", OF_ALL), HOURS]


def test_a_list_grows_from_its_default(client):
    assert client.alter(BROKER, ALL, ("log.cleanup.policy", APPEND, "compact")) == (ErrorCode.NONE, None)
    (config,) = client.describe(BROKER, ALL).configs
    assert config.value == "delete,compact"


# -------------------------------------------------------------------------------------------------------- what they do


def test_a_topic_has_the_new_value_at_once(client):
    client.create("open")
    client.create("own", max_message_bytes="9000")
    large = build_batch([(None, bytes(3000), ())])
    assert client.produce("open", large).error_code == ErrorCode.MESSAGE_TOO_LARGE
    change(client, ALL, message_max_bytes="4000")
    wait_for(lambda: client.produce("open", large).error_code == ErrorCode.NONE, 5, "the new limit")
    change(client, NODE, message_max_bytes="1000")
    wait_for(lambda: client.produce("open", large).error_code == ErrorCode.MESSAGE_TOO_LARGE, 5, "the new limit")
    assert client.produce("own", large).error_code == ErrorCode.NONE
    (config,) = client.describe(TOPIC, "own", "max.message.bytes").configs
    assert synonyms(config) == [
        ("max.message.bytes", "9000", TOPIC_SOURCE),
        ("message.max.bytes", "1000", OF_BROKER),
        ("message.max.bytes", "4000", OF_ALL),
        ("message.max.bytes", "2000", STATIC),
        ("message.max.bytes", "1048588", DEFAULT),
    ]
    assert client.alter(BROKER, NODE, ("message.max.bytes", DELETE, None)) == (ErrorCode.NONE, None)
    wait_for(lambda: client.produce("open", large).error_code == ErrorCode.NONE, 5, "the limit of all")


def test_connections_have_the_new_limit_at_once(server, client):
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(ConfigClient(server.bootstrap)).describe(BROKER, NODE, RETENTION)
        change(client, NODE, max_connections_per_ip="3")
        with ConfigClient(server.bootstrap) as fourth:
            assert fourth.is_closed_by_peer()
        change(client, NODE, max_connections_per_ip_overrides="127.0.0.1:4")
        with ConfigClient(server.bootstrap) as fourth:
            assert fourth.describe(BROKER, NODE, RETENTION).error_code == ErrorCode.NONE


def test_consumer_groups_have_the_new_assignment_interval(client):
    name = "group.consumer.assignment.interval.ms"
    change(client, ALL, group_consumer_assignment_interval_ms="2000")
    (config,) = client.describe(32, "g", "consumer.assignment.interval.ms").configs
    assert (config.value, config.config_source) == ("2000", OF_ALL)
    assert synonyms(config)[0] == (name, "2000", OF_ALL)


@pytest.mark.realtime
def test_connections_come_at_the_new_rate(server, client):
    change(client, NODE, max_connection_creation_rate="1")
    begin = monotonic()
    for _ in range(3):
        with ConfigClient(server.bootstrap) as other:
            other.describe(BROKER, NODE, RETENTION)
    assert monotonic() - begin > 0.9, "three of one a second, of which the first ones may come at once"


def test_moves_between_directories_have_the_new_pace(client):
    name = "replica.alter.log.dirs.io.max.bytes.per.second"
    assert client.alter(BROKER, NODE, (name, SET, "5000")) == (ErrorCode.NONE, None)
    (config,) = client.describe(BROKER, NODE, name).configs
    assert (config.value, config.config_source, config.read_only) == ("5000", OF_BROKER, False)
