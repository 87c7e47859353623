"""What may be set, with the messages of Kafka 4.3.1."""

import math
from typing import Final

import pytest

from _wire.errors import ErrorCode
from coordinator.metadata.image import QuotaEntity, quota_entity
from coordinator.metadata.records import QuotaRecord
from coordinator.quotas.alteration import Alteration, Changes, Operation

A: Final[dict[str, str | None]] = {"client-id": "a"}
IP: Final[dict[str, str | None]] = {"ip": "127.0.0.1"}
RATE: Final = "producer_byte_rate"


def plan_changes(
    alterations: list[Alteration], quotas: dict[QuotaEntity, dict[str, float]], entities_max: int = 100
) -> Changes:
    changes = Changes(quotas, entities_max)
    for alteration in alterations:
        changes.add(alteration)
    return changes


def problems_of(changes: Changes) -> list[str | None]:
    return [None if problem is None else str(problem) for problem in changes.problems.values()]


def problem_of(names: dict[str, str | None], key: str, value: float | None) -> str | None:
    changes = plan_changes([Alteration(names, [Operation(key, value)])], {})
    (problem,) = problems_of(changes)
    assert bool(changes.records) == (problem is None and value is not None)
    return problem


@pytest.mark.parametrize(
    ("names", "key", "value", "problem"),
    [
        ({}, RATE, 1.0, "Invalid empty client quota entity"),
        ({"group": "x"}, RATE, 1.0, "Unhandled client quota entity type: group"),
        ({"client-id": ""}, RATE, 1.0, "Empty client-id not supported"),
        (A, "nope", 1.0, "Invalid configuration key nope"),
        (A, "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        (IP, RATE, 1.0, "Invalid configuration key producer_byte_rate"),
        ({"ip": "nowhere."}, RATE, 1.0, "nowhere. is not a valid IP or resolvable host."),
        (
            {"user": "u", **IP},
            "connection_creation_rate",
            1.0,
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (IP, "connection_creation_rate", 1.5, "connection_creation_rate cannot be a fractional value."),
        (
            IP,
            "connection_creation_rate",
            3e9,
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
        (A, RATE, 0.0, "Quota producer_byte_rate must be greater than 0"),
        (A, RATE, -1.0, "Quota producer_byte_rate must be greater than 0"),
        (A, "request_percentage", math.nan, "Quota request_percentage must be greater than 0"),
        (A, RATE, 1.5, "producer_byte_rate cannot be a fractional value."),
        (A, RATE, 0.9999999, "producer_byte_rate cannot be a fractional value."),
        (A, RATE, math.inf, "Proposed value for producer_byte_rate is too large for a LONG."),
        (A, RATE, 9.3e18, "Proposed value for producer_byte_rate is too large for a LONG."),
    ],
)
def test_what_kafka_rejects_is_rejected_with_its_words(names, key, value, problem):
    assert problem_of(names, key, value) == problem


@pytest.mark.parametrize(
    ("names", "key", "value"),
    [
        (A, RATE, 1.0000001),
        (A, "request_percentage", 0.5),
        (A, "request_percentage", math.inf),
        (A, "nope", None),
        ({"user": None, "client-id": None}, "controller_mutation_rate", 0.1),
        ({"ip": None}, "connection_creation_rate", 5.0),
        ({"ip": "::1"}, "connection_creation_rate", 5.0),
    ],
)
def test_what_kafka_takes_is_taken(names, key, value):
    assert problem_of(names, key, value) is None


def test_only_what_changes_is_recorded():
    quotas = {quota_entity(A): {RATE: 5.0}}
    same, removed, absent = Operation(RATE, 5.0), Operation(RATE, None), Operation("consumer_byte_rate", None)
    assert plan_changes([Alteration(A, [same, absent])], quotas).records == []
    assert plan_changes([Alteration(A, [removed])], quotas).records == [QuotaRecord(A, RATE, None)]
    assert plan_changes([Alteration(A, [Operation(RATE, 6.0)])], quotas).records == [QuotaRecord(A, RATE, "6.0")]


def test_nothing_of_an_entity_is_recorded_when_one_of_its_quotas_is_wrong():
    wrong = Alteration(A, [Operation(RATE, 5.0), Operation("nope", 1.0)])
    right = Alteration({"client-id": "b"}, [Operation(RATE, 5.0)])
    changes = plan_changes([wrong, right], {})
    assert changes.records == [QuotaRecord({"client-id": "b"}, RATE, "5.0")]
    assert problems_of(changes) == ["Invalid configuration key nope", None]


def test_of_an_entity_that_comes_twice_the_first_is_made_and_an_error_answered():
    twice = [Alteration(A, [Operation(RATE, 1.0)]), Alteration(A, [Operation("consumer_byte_rate", 2.0)])]
    changes = plan_changes(twice, {})
    assert changes.records == [QuotaRecord(A, RATE, "1.0")]
    assert problems_of(changes) == ["Ignoring duplicate entity ClientQuotaEntity(entries={client-id=a})"]


def test_a_quota_that_comes_twice_is_not_set():
    changes = plan_changes([Alteration(A, [Operation(RATE, 1.0), Operation(RATE, 2.0)])], {})
    assert changes.records == []
    assert problems_of(changes) == ["Ignoring duplicate entity ClientQuotaEntity(entries={client-id=a})"]


def test_no_more_entities_get_quotas_than_are_allowed():
    wanted = [Alteration({"client-id": name}, [Operation(RATE, 1.0)]) for name in ("a", "b", "c")]
    changes = plan_changes(wanted, {quota_entity(A): {RATE: 5.0}}, entities_max=2)
    assert [record.entity for record in changes.records] == [{"client-id": "a"}, {"client-id": "b"}]
    (problem,) = (problem for problem in changes.problems.values() if problem is not None)
    assert problem.error == ErrorCode.POLICY_VIOLATION
