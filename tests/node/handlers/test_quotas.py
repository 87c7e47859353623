"""DescribeClientQuotas and AlterClientQuotas, as a client sees them; what they answer was recorded from Kafka 4.3.1."""

from collections.abc import Iterator

import pytest

from _wire.errors import ErrorCode
from _wire.messages.alter_client_quotas import AlterClientQuotasRequest
from coordinator.testing import Coordinator
from tests.front.quota_client import QuotaClient

EXACT, DEFAULT, SPECIFIED = range(3)


@pytest.fixture
def server() -> Iterator[Coordinator]:
    with Coordinator({"client.quotas.max": "3"}) as running:
        yield running


@pytest.fixture
def client(server: Coordinator) -> Iterator[QuotaClient]:
    with QuotaClient(server.bootstrap) as connected:
        yield connected


def test_there_are_no_quotas_at_first(client):
    response = client.describe()
    assert (response.error_code, response.error_message, response.entries) == (ErrorCode.NONE, "", [])


def test_what_was_set_is_told_until_it_is_removed(client):
    client.set("a", producer_byte_rate=5.0, request_percentage=0.5)
    client.set(None, producer_byte_rate=6.0)
    assert client.quotas() == {
        (("client-id", "a"),): {"producer_byte_rate": 5.0, "request_percentage": 0.5},
        (("client-id", None),): {"producer_byte_rate": 6.0},
    }
    client.set("a", producer_byte_rate=None)
    client.set(None, producer_byte_rate=None)
    assert client.quotas() == {(("client-id", "a"),): {"request_percentage": 0.5}}


@pytest.mark.parametrize("version", [0, 1])
def test_a_filter_finds_entities(client, version):
    client.set("a", producer_byte_rate=5.0)
    client.set("b", producer_byte_rate=6.0)
    (entry,) = client.describe(("client-id", EXACT, "a"), version=version).entries
    assert [(each.entity_type, each.entity_name) for each in entry.entity] == [("client-id", "a")]
    assert [(value.key, value.value) for value in entry.values] == [("producer_byte_rate", 5.0)]
    assert client.describe(strict=True, version=version).entries == []


def test_a_filter_that_cannot_be_is_answered_with_its_error(client):
    response = client.describe(("group", EXACT, "x"))
    assert (response.error_code, response.error_message, response.entries) == (
        ErrorCode.UNSUPPORTED_VERSION,
        "Unsupported entity type group",
        None,
    )


def test_what_is_only_validated_is_not_set(client):
    assert client.alter({"client-id": "a"}, validate_only=True, producer_byte_rate=5.0).error_code == ErrorCode.NONE
    assert client.alter({"client-id": "a"}, validate_only=True, nope=5.0).error_code == ErrorCode.INVALID_REQUEST
    assert client.quotas() == {}


def test_an_entity_with_an_error_is_answered_by_its_name(client):
    result = client.alter({"client-id": "a"}, nope=5.0)
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, "Invalid configuration key nope")
    assert [(each.entity_type, each.entity_name) for each in result.entity] == [("client-id", "a")]


def test_a_request_about_nothing_is_answered(client):
    assert client.request(AlterClientQuotasRequest(entries=[]), 1).entries == []


def test_no_more_entities_get_quotas_than_the_setting_says(client):
    for name in ("a", "b", "c"):
        client.set(name, producer_byte_rate=5.0)
    refused = client.alter({"client-id": "d"}, producer_byte_rate=5.0)
    assert refused.error_code == ErrorCode.POLICY_VIOLATION
    client.set("c", producer_byte_rate=6.0)
    client.set("c", producer_byte_rate=None)
    client.set("d", producer_byte_rate=5.0)


@pytest.mark.parametrize("clean", [True, False])
def test_quotas_are_kept_over_a_restart_and_hold_at_once(server, clean):
    with QuotaClient(server.bootstrap) as client:
        client.set("limited", request_percentage=0.00001)
    server.restart(clean=clean)
    with QuotaClient(server.bootstrap, "limited") as client:
        assert client.describe().throttle_time_ms > 0
