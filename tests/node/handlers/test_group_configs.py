"""Configs of groups, as a client sees them; what they answer was recorded from Kafka 4.3.1."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.list_config_resources import ListConfigResourcesRequest
from tests.node.handlers.test_configs import APPEND, DEFAULT, DELETE, GROUP, INT, SET, STATIC, ConfigClient
from tests.servers import RunningServer

SESSION: Final = "consumer.session.timeout.ms"
HEARTBEAT: Final = "consumer.heartbeat.interval.ms"
GROUP_SOURCE: Final = 8
BOUNDS: Final = {
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("group-configs"), BOUNDS) as running:
        yield running


@pytest.fixture
def client(server: RunningServer) -> Iterator[ConfigClient]:
    with ConfigClient(server.bootstrap) as connected:
        yield connected


def own(client: ConfigClient, group_id: str) -> dict[str, str]:
    configs = client.describe(GROUP, group_id).configs
    return {config.name: config.value for config in configs if config.config_source == GROUP_SOURCE}


def listed(client: ConfigClient, *types: int) -> list[tuple[int, str]]:
    response = client.request(ListConfigResourcesRequest(resource_types=list(types)), 1)
    assert response.error_code == ErrorCode.NONE
    return [
        (config_resource.resource_type, config_resource.resource_name) for config_resource in response.config_resources
    ]


def test_a_group_that_does_not_exist_has_the_configs_of_the_broker(client):
    result = client.describe(GROUP, "nobody")
    assert (result.error_code, result.error_message, len(result.configs)) == (ErrorCode.NONE, "", 17)
    configs = {config.name: config for config in result.configs}
    heartbeat, session = configs[HEARTBEAT], configs[SESSION]
    assert (heartbeat.value, heartbeat.config_source, heartbeat.config_type) == ("500", STATIC, INT)
    assert (session.value, session.config_source) == ("45000", DEFAULT)
    assert not any(config.read_only or config.is_sensitive for config in result.configs)
    assert synonyms(heartbeat) == [
        ("group.consumer.heartbeat.interval.ms", "500", STATIC),
        ("group.consumer.heartbeat.interval.ms", "5000", DEFAULT),
    ]
    assert synonyms(configs["share.auto.offset.reset"]) == [("share.auto.offset.reset", "latest", DEFAULT)]


def synonyms(config: Any) -> list[tuple[str, str, int]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]


def test_only_the_configs_that_are_asked_for_are_described(client):
    assert [config.name for config in client.describe(GROUP, "g", "nope", HEARTBEAT).configs] == [HEARTBEAT]


def test_a_config_is_set_and_removed(client):
    assert client.alter(GROUP, "changed", (HEARTBEAT, SET, " 0700 ")) == (ErrorCode.NONE, None)
    (config,) = client.describe(GROUP, "changed", HEARTBEAT).configs
    assert (config.value, config.config_source) == ("700", GROUP_SOURCE)
    assert synonyms(config)[0] == (HEARTBEAT, "700", GROUP_SOURCE)
    assert (GROUP, "changed") in listed(client, GROUP)
    assert client.alter(GROUP, "changed", (HEARTBEAT, DELETE, None), ("nope", DELETE, None)) == (ErrorCode.NONE, None)
    assert own(client, "changed") == {}
    assert (GROUP, "changed") not in listed(client)


def test_all_configs_are_replaced(client):
    client.alter(GROUP, "replaced", (HEARTBEAT, SET, "700"))
    assert client.replace(GROUP, "replaced", consumer_session_timeout_ms="5000") == (ErrorCode.NONE, None)
    assert own(client, "replaced") == {SESSION: "5000"}
    assert client.replace(GROUP, "replaced") == (ErrorCode.NONE, None)
    assert own(client, "replaced") == {}


def test_a_change_can_be_only_validated(client):
    assert client.alter(GROUP, "validated", (HEARTBEAT, SET, "700"), validate_only=True) == (ErrorCode.NONE, None)
    assert own(client, "validated") == {}


def test_configs_survive_a_kill(server):
    with ConfigClient(server.bootstrap) as client:
        client.alter(GROUP, "kept \u00e9", (SESSION, SET, "700"))
    server.kill()
    server.start()
    with ConfigClient(server.bootstrap) as client:
        assert own(client, "kept \u00e9") == {SESSION: "700"}
        assert listed(client, GROUP) == [(GROUP, "kept \u00e9")]


@pytest.mark.parametrize(
    ("name", "operations", "error", "message"),
    [
        ("", [(HEARTBEAT, SET, "600")], ErrorCode.INVALID_REQUEST, "Default group resources are not allowed."),
        ("r", [(HEARTBEAT, SET, None)], ErrorCode.INVALID_REQUEST, f"Null value not supported for : {HEARTBEAT}"),
        ("r", [(HEARTBEAT, SET, "1"), (HEARTBEAT, SET, "2")], ErrorCode.INVALID_REQUEST,
         "Error due to duplicate config keys"),
        ("r", [("nope", SET, "1")], ErrorCode.INVALID_CONFIG, "Unknown group config name: nope"),
        ("r", [(HEARTBEAT, APPEND, "1")], ErrorCode.INVALID_CONFIG,
         f"Can't APPEND to key {HEARTBEAT} because its type is not LIST."),
        ("r", [("cleanup.policy", APPEND, "compact")], ErrorCode.INVALID_CONFIG,
         "Can't APPEND to key cleanup.policy because its type is not LIST."),
        ("r", [(SESSION, SET, "600"), (HEARTBEAT, SET, "650")], ErrorCode.INVALID_CONFIG,
         f"{SESSION} must be greater than {HEARTBEAT}"),
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_refused(client, name, operations, error, message):
    assert client.alter(GROUP, name, *operations) == (error, message)
    assert own(client, "r") == {}
