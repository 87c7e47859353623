"""Filters, with the answers of Kafka 4.3.1."""

from typing import Final

import pytest

from _wire.errors import ErrorCode
from coordinator.metadata.image import quota_entity
from coordinator.quotas.matching import Component, InvalidFilter, matcher

ENTITIES: Final = {
    "default client": quota_entity({"client-id": None}),
    "a": quota_entity({"client-id": "a"}),
    "default user": quota_entity({"user": None}),
    "u": quota_entity({"user": "u"}),
    "u with a": quota_entity({"user": "u", "client-id": "a"}),
    "u with default": quota_entity({"user": "u", "client-id": None}),
    "ip": quota_entity({"ip": "127.0.0.1"}),
}
EXACT, DEFAULT, SPECIFIED = range(3)


def found(components: list[Component], *, strict: bool) -> set[str]:
    matches = matcher(components, strict)
    return {name for name, entity in ENTITIES.items() if matches(entity)}


@pytest.mark.parametrize(
    ("components", "loosely", "strictly"),
    [
        ([], set(ENTITIES), set()),
        ([("client-id", EXACT, "a")], {"a", "u with a"}, {"a"}),
        ([("client-id", DEFAULT, None)], {"default client", "u with default"}, {"default client"}),
        (
            [("client-id", SPECIFIED, None)],
            {"a", "default client", "u with a", "u with default"},
            {"a", "default client"},
        ),
        ([("user", EXACT, "u"), ("client-id", DEFAULT, None)], {"u with default"}, {"u with default"}),
        ([("user", SPECIFIED, None)], {"default user", "u", "u with a", "u with default"}, {"default user", "u"}),
        ([("ip", SPECIFIED, None)], {"ip"}, {"ip"}),
        ([("client-id", EXACT, "")], set(), set()),
    ],
)
def test_a_filter_finds_what_has_all_its_components(components, loosely, strictly):
    wanted = [Component(*component) for component in components]
    assert found(wanted, strict=False) == loosely
    assert found(wanted, strict=True) == strictly


@pytest.mark.parametrize(
    ("components", "message", "error"),
    [
        ([("", EXACT, "x")], "Invalid empty entity type.", ErrorCode.INVALID_REQUEST),
        ([("group", EXACT, "x")], "Unsupported entity type group", ErrorCode.UNSUPPORTED_VERSION),
        (
            [("user", EXACT, None)],
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
            ErrorCode.INVALID_REQUEST,
        ),
        (
            [("user", DEFAULT, "x")],
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
            ErrorCode.INVALID_REQUEST,
        ),
        (
            [("user", SPECIFIED, "x")],
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
            ErrorCode.INVALID_REQUEST,
        ),
        ([("user", 5, None)], "Unknown match type 5", ErrorCode.INVALID_REQUEST),
        (
            [("user", EXACT, "u"), ("user", DEFAULT, None)],
            "Entity type user cannot appear more than once in the filter.",
            ErrorCode.INVALID_REQUEST,
        ),
        (
            [("ip", SPECIFIED, None), ("user", SPECIFIED, None)],
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component.",
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_a_filter_that_kafka_rejects_is_rejected_with_its_words(components, message, error):
    with pytest.raises(InvalidFilter) as caught:
        matcher([Component(*component) for component in components], strict=False)
    assert (str(caught.value), caught.value.error) == (message, error)
